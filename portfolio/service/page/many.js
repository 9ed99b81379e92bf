// Questions about the rows of a file, which run as jobs of the server.

import { writeTable } from "./csv.js";
import { button, byId, el, replace, short, table } from "./dom.js";
import { download } from "./more.js";
import { say } from "./words.js";

const TYPES = { csv: "text/csv", parquet: "application/vnd.apache.parquet" };
const POLL_MS = 700, PAGE = 1000, MOST_SHOWN = 500, OPEN = ["queued", "running"];
const SHOWN = ["id", "status", "distance", "changed", "score_before", "score", "message"];

export class ManyRows {
  // api: of the server; path(name): of the model; settings(): members of the question; notify(text, failed)
  constructor(api, path, settings, notify) {
    Object.assign(this, { api, path, settings, notify, timer: null });
    byId("many-question").addEventListener("change", () => {
      byId("by-part").hidden = byId("many-question").value !== "audit";
    });
    byId("many-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!byId("question").reportValidity()) return;
      this.start().catch((error) => notify(error.message, true));
    });
  }

  // Offers jobs if the server has them.
  async describe({ features, jobs }) {
    byId("many").hidden = !jobs;
    replace(byId("by"), features.map(({ name }) => el("option", { value: name }, name)));
    if (jobs) await this.list();
  }

  async start() {
    const [file] = byId("many-file").files, question = byId("many-question").value;
    const type = TYPES[file.name.split(".").pop().toLowerCase()] ?? "text/csv";
    const members = { ...this.settings(), ...(question === "audit" && { by: byId("by").value }) };
    await this.api.upload(`${this.path(question)}?${new URLSearchParams({ settings: JSON.stringify(members) })}`, file, type);
    this.notify(say("many.started"));
    await this.list();
  }

  // Lists the jobs, the newest first, and again while one of them runs.
  async list() {
    clearTimeout(this.timer);
    const { total } = await this.api.get("v1/jobs?limit=1");
    const listed = await this.api.get(`v1/jobs?offset=${Math.max(0, total - 20)}&limit=20`);
    if (listed.jobs.some(({ state }) => OPEN.includes(state))) this.timer = setTimeout(() => this.list().catch((error) => this.notify(error.message, true)), POLL_MS);
    const focused = document.activeElement?.dataset.act; // the keyboard stays where it is
    replace(byId("jobs"), listed.jobs.length ? this.table(listed.jobs.reverse()) : null);
    if (!focused) return;
    const [, id] = focused.split(" "); // a job that ended has other buttons
    (document.querySelector(`#jobs [data-act="${focused}"]`) ?? document.querySelector(`#jobs [data-act$=" ${id}"]`))?.focus();
  }

  table(jobs) {
    const heads = ["job", "model", "question", "state", "progress", "actions"].map((name) => say(`many.${name}`));
    return table(say("many.jobs"), heads, jobs.map((job) => el("tr", {},
      ...[job.id, job.model.name, job.question, say(`many.state.${job.state}`, job)].map((text) => el("td", {}, text)),
      el("td", {}, say("many.progress.value", { answered: job.answered, rows: job.rows ?? "?" }), job.rows
        ? el("progress", { max: job.rows, value: job.answered, "aria-label": say("many.progress") }) : null),
      el("td", { class: "buttons" }, this.actions(job)))));
  }

  actions(job) {
    const act = (name, work) => button(say(`many.${name}`), () => work().catch((error) => this.notify(error.message, true)),
      { "data-act": `${name} ${job.id}` });
    const send = (method, path) => async () => {
      await this.api.send(method, path);
      await this.list();
    };
    const path = `v1/jobs/${job.id}`;
    if (OPEN.includes(job.state)) return [act("cancel", send("DELETE", path))];
    return [act("show", () => this.show(job)), act("delete", send("DELETE", path)),
      ...(job.resumable ? [act("resume", send("POST", `${path}/resume`))] : [])];
  }

  async show(job) {
    const path = `v1/jobs/${job.id}`;
    const { rows } = await this.api.get(`${path}/results?limit=${MOST_SHOWN}`);
    const single = job.question === "explain_group" || job.question === "audit";
    const text = single && job.state === "done" ? (await this.api.get(`${path}/result`)).text : null;
    replace(byId("job-answers"), text ? el("pre", { tabindex: 0 }, text) : null,
      rows.length ? this.answers(job, rows) : null,
      el("p", { class: "buttons" }, download(say("many.save"), `${job.id}.csv`, () => this.all(job))));
    byId("job-answers").focus();
  }

  // Returns the answers as a table that a heading sorts.
  answers(job, rows) {
    const names = SHOWN.filter((name) => rows.some((row) => row[name] !== undefined && row[name] !== null));
    const columns = names.length > 1 ? names : Object.keys(rows[0]);
    const caption = say("many.answers", { id: job.id, shown: rows.length, total: job.rows ?? rows.length });
    let sorted = rows, falling = null;
    const part = el("div", { class: "wide" });
    const draw = () => replace(part, table(caption, columns.map((name) => button(name, () => {
      falling = falling === name ? null : name;
      sorted = [...rows].sort((a, b) => compare(a[name], b[name]) * (falling ? -1 : 1));
      draw();
    })), sorted.map((row) => el("tr", {}, columns.map((name) => el("td", {}, written(row[name])))))));
    draw();
    return part;
  }

  // Returns all answers as a CSV file.
  async all(job) {
    const every = [];
    for (let offset = 0; ; offset += PAGE) {
      const { rows } = await this.api.get(`v1/jobs/${job.id}/results?offset=${offset}&limit=${PAGE}`);
      every.push(...rows);
      if (rows.length < PAGE) break;
    }
    const names = [...new Set(every.flatMap(Object.keys))];
    return new Blob([writeTable(names, every)], { type: "text/csv" });
  }
}

function written(value) {
  if (value === null || value === undefined || value === "") return "";
  return Array.isArray(value) ? value.join(", ") : short(value);
}

// Orders numbers by size, everything else as text; missing values come first.
function compare(first, second) {
  if (typeof first === "number" && typeof second === "number") return first - second;
  return written(first).localeCompare(written(second));
}
