// The HTTP interface: JSON, errors as one sentence, and server-sent events.

export class Api {
  key = "";

  async get(path) {
    return (await this.send("GET", path)).json();
  }

  async post(path, body, signal) {
    return (await this.send("POST", path, body, signal)).json();
  }

  // Calls tell(event, data) for every event until the stream ends.
  async stream(path, body, signal, tell) {
    const answer = await this.send("POST", path, body, signal, "text/event-stream");
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let waiting = "";
    for (;;) {
      const { value, done } = await reader.read().catch((error) => {
        if (error.name === "AbortError") throw error;
        throw new Error("The server went before its answer was there.");
      });
      if (done) return;
      const blocks = (waiting + value.replaceAll("\r\n", "\n")).split("\n\n");
      waiting = blocks.pop();
      for (const block of blocks) {
        const field = (name) => block.split("\n").filter((line) => line.startsWith(`${name}:`))
          .map((line) => line.slice(name.length + 1).trimStart()).join("\n");
        if (field("data")) tell(field("event") || "message", JSON.parse(field("data")));
      }
    }
  }

  async send(method, path, body, signal, accept = "application/json") {
    const headers = { Accept: accept };
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (this.key) headers.Authorization = `Bearer ${this.key}`;
    let answer;
    try {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      answer = await fetch(path, { method, headers, body: sent, signal });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The server can't be reached.");
    }
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

async function refusal(answer) {
  const told = await answer.json().catch(() => ({}));
  const error = new Error(told.detail || told.title || `The server answered ${answer.status}.`);
  error.status = answer.status;
  return error;
}
