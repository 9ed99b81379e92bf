// Client of the HTTP interface: JSON, problem documents, and server-sent events.

import { say, worded } from "./words.js";

export class Api {
  key = "";

  async get(path) {
    return (await this.send("GET", path)).json();
  }

  async post(path, body, signal) {
    return (await this.send("POST", path, body, signal)).json();
  }

  // Calls onEvent(name, data) for every event until the stream ends.
  async stream(path, body, signal, onEvent) {
    const answer = await this.send("POST", path, body, signal, "text/event-stream");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let waiting = "";
    for (;;) {
      const { value, done } = await reader.read().catch((error) => {
        if (error.name === "AbortError") throw error;
        throw new Error(say("closed"));
      });
      if (done) return;
      const blocks = (waiting + value.replaceAll("\r\n", "\n")).split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) {
        const field = (name) => block.split("\n").filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trimStart()).join("\n");
        if (field("data")) onEvent(field("event") || "message", JSON.parse(field("data")));
      }
    }
  }

  // Sends a file as it is.
  async upload(path, file, type) {
    return (await this.send("POST", path, new Blob([file], { type }))).json();
  }

  async send(method, path, body, signal, accept = "application/json") {
    const headers = { Accept: accept }, file = body instanceof Blob;
    if (body !== undefined) headers["Content-Type"] = file ? body.type : "application/json";
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    let answer;
    try {
      const sent = body === undefined || file ? body : JSON.stringify(body);
      answer = await fetch(path, { method, headers, body: sent, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error(say("unreachable"));
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

async function refusal(answer) {
  const problem = await answer.json().catch(() => ({}));
  const unknown = say("status", { status: answer.status });
  const error = new Error(problem.detail ? worded(problem) : problem.title || unknown);
  error.status = answer.status;
  return error;
}
