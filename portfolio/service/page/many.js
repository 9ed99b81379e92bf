// Questions about the rows of a file, which run as jobs of the server.

import { burdenPart, goal } from "./burden.js";
import { button, byId, el, replace, short, table } from "./dom.js";
import { ManyFile, listed } from "./files.js";
import { auditParts, groupParts } from "./groups.js";
import { JobList, questionOf } from "./jobs.js";
import { download } from "./more.js";
import { say } from "./words.js";

const MOST_SHOWN = 500, BANDS = 4; // answers in the table, and bands of numbers
const SHOWN = ["id", "status", "distance", "changed", "score_before", "score", "message"]; // in this order
const STATUSES = ["optimal", "feasible", "infeasible", "unknown"]; // jobs of other clients may have further ones
const FILES = { csv: "text/csv", parquet: "application/vnd.apache.parquet" };

export class ManyRows {
  // api: of the server; paths(): [path(question), ...] of the model and of the one it is compared with
  // settings(): members of the question; notify(text, failed)
  constructor(api, paths, settings, notify) {
    Object.assign(this, { api, paths, settings, notify, key: null, shown: null, features: [] });
    this.jobs = new JobList(api, { notify, show: (job) => this.show(job), removed: (job) => this.hide(job) });
    this.file = new ManyFile({ notify, heard: (names) => this.offerGroups(names),
      find: (members) => this.api.get(`${this.paths()[0]("rows")}?${new URLSearchParams(members)}`) });
    byId("many-question").addEventListener("change", () => this.choose());
    for (const kind of ["input", "change"]) byId("question").addEventListener(kind, () => this.drawTarget());
    byId("many-form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (!byId("question").reportValidity()) return;
      this.start().catch((error) => notify(error.message, true));
    });
    this.choose();
  }

  // Offers jobs if the server has them.
  async describe(described) {
    const { features, jobs } = described;
    byId("many").hidden = byId("to-many").hidden = !jobs;
    Object.assign(this, { features, described });
    this.file.describe(described);
    this.drawTarget();
    if (this.key !== this.api.key) this.hide(); // of another key
    this.key = this.api.key;
    if (jobs) await this.jobs.list();
  }

  // Says which prediction is desired, as that is chosen in another part of the page.
  drawTarget() {
    byId("many-target").textContent = goal(this.settings());
  }

  // Shows the fields of the chosen question.
  choose() {
    const question = byId("many-question").value;
    for (const part of document.querySelectorAll("#many-form [data-of]")) {
      part.hidden = part.control.disabled = part.dataset.of !== question; // hidden fields are not validated
    }
  }

  // Offers the features and further columns of the file to form groups by.
  offerGroups(more) {
    const chosen = byId("by").value, names = [...this.features.map(({ name }) => name), ...more];
    replace(byId("by"), names.map((name) => el("option", { value: name }, name)));
    if (names.includes(chosen)) byId("by").value = chosen;
  }

  // Starts a job for the model, and one for the model that it is compared with.
  async start() {
    const content = this.file.content(), question = byId("many-question").value, members = this.members(question);
    const parameters = new URLSearchParams({ settings: JSON.stringify(members) });
    const paths = this.paths();
    if (paths.length > 1) await this.checkOther(paths[1]);
    for (const path of paths) await this.api.upload(`${path(question)}?${parameters}`, content, content.type);
    const open = members.target === undefined ? ` ${say("many.any")}` : "";
    this.notify(say(paths.length > 1 ? "many.started.both" : "many.started") + open);
    await this.jobs.list();
    byId("jobs").scrollIntoView({ block: "nearest" });
  }

  // Throws an Error if the model that is compared with cannot answer the same question about the file.
  async checkOther(path) {
    const { name, classes, outputs, features } = await this.api.get(path("").slice(0, -1));
    const lacking = this.file.lacking(features.flatMap(({ columns }) => columns));
    if (lacking.length) throw new Error(say("many.other-columns", { name, names: listed(lacking) }));
    const labels = (described) => JSON.stringify([...described.classes].sort()) + JSON.stringify(described.outputs);
    if (labels({ classes, outputs }) !== labels(this.described)) {
      throw new Error(say("many.other-classes", { name, model: this.described.name }));
    }
  }

  // Returns the members of the request; throws an Error if one lacks.
  members(question) {
    const { strategy, ...members } = this.settings();
    if (question === "explain_group") {
      const budget = byId("budget").value;
      return { ...members, actions: Number(byId("group-actions").value), ...(budget && { budget: Number(budget) }) };
    }
    if (question === "audit") {
      if (members.target === undefined) throw new Error(say("many.target"));
      return { ...members, strategy, by: byId("by").value, bands: BANDS };
    }
    return { ...members, strategy, ...(byId("many-records").checked && { record: true }) };
  }

  // Removes the answers that are shown; only those of a job if one is given.
  hide(job = null) {
    if (job !== null && this.shown !== job.id) return;
    this.shown = null;
    replace(byId("job-answers"));
  }

  async show(job) {
    const path = `v1/jobs/${job.id}`, width = Math.max(280, byId("job-answers").clientWidth);
    const { rows } = await this.api.get(`${path}/results?limit=${MOST_SHOWN}`);
    const done = job.state === "done", one = { explain_group: groupParts, audit: auditParts }[job.question];
    const parts = one && done ? one((await this.api.get(`${path}/result`)).answer,
      job.question === "audit" ? Math.min(width, 560) : width, new Map(this.features.map(({ name, unit }) => [name, unit]))) : [];
    const [burden, draw] = done && job.question === "explain" ? await this.burden(job).catch((error) =>
      [el("p", { role: "alert" }, error.message), () => {}]) : [[], () => {}]; // the answers are shown without it
    this.shown = job.id;
    replace(byId("job-answers"), el("h3", { id: "job-title" }, say("many.title", { question: questionOf(job),
      model: job.model.name })), this.downloads(job, rows), parts, burden, rows.length ? this.answers(job, rows) : null);
    byId("job-answers").focus();
    await draw();
  }

  // Returns the burden of a job by segment, and the function that draws it.
  burden(job) {
    const find = (id, by) => this.api.get(`v1/jobs/${id}/segments?${new URLSearchParams({ bands: BANDS, ...(by !== null && { by }) })}`);
    const others = this.jobs.jobs.filter((other) => other.id !== job.id && other.state === "done" && other.question === "explain");
    const chosen = others.find((other) => other.model.name !== job.model.name && other.rows === job.rows) ?? null;
    return burdenPart(job, find, others, chosen);
  }

  downloads(job, rows) {
    const save = (name, path, accept) => download(say(`many.save.${name}`), `${job.id}.${name}`, async () =>
      (await this.api.send("GET", `v1/jobs/${job.id}/${path}`, undefined, undefined, accept)).blob());
    return el("p", { class: "buttons" }, rows.length ? Object.entries(FILES).map(([name, type]) => save(name, "results", type)) : null,
      rows.some((row) => row.why_no_proof !== undefined) ? save("jsonl", "records", "application/jsonl") : null);
  }

  // Returns the answers as a table that a heading sorts.
  answers(job, rows) {
    const names = SHOWN.filter((name) => rows.some((row) => row[name] !== undefined && row[name] !== null && row[name] !== ""));
    const words = names.length > 1; // otherwise these are rows of features
    const columns = words ? names : Object.keys(rows[0]);
    const caption = say(job.question === "explain_group" ? "group.after" : "many.answers", { shown: rows.length, total: job.question === "explain" ? job.rows : rows.length });
    let sorted = rows, order = null;
    const part = el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": caption });
    const title = (name) => (words ? say(`column.${name}`) : name);
    const head = (name) => {
      const sort = order?.name === name ? (order.falling ? "descending" : "ascending") : null;
      const kind = rows.some((row) => typeof row[name] === "number") ? "number" : null;
      return el("th", { scope: "col", class: kind, "aria-sort": sort }, button(`${title(name)}${sort ? { ascending: " ▲", descending: " ▼" }[sort] : ""}`, () => {
        order = { name, falling: order?.name === name && !order.falling };
        sorted = [...rows].sort((a, b) => compare(a[name], b[name]) * (order.falling ? -1 : 1));
        draw();
        part.querySelectorAll("th button")[columns.indexOf(name)].focus();
      }));
    };
    const draw = () => {
      const lines = table(caption, [], sorted.map((row) => el("tr", {}, columns.map((name) =>
        el("td", { class: typeof row[name] === "number" ? "number" : null }, written(row[name], words && name))))));
      replace(lines.tHead.rows[0], columns.map(head));
      replace(part, lines);
    };
    draw();
    return part;
  }
}

function written(value, name = "") {
  if (name === "status" && STATUSES.includes(value)) return say(`column.status.${value}`);
  if (value === null || value === undefined || value === "") return "";
  return Array.isArray(value) ? value.join(", ") : short(value);
}

// Orders numbers by size, everything else as text; missing values come first.
function compare(first, second) {
  if (typeof first === "number" && typeof second === "number") return first - second;
  return written(first).localeCompare(written(second));
}
