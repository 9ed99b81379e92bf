// The jobs of the API key: listed with their progress, cancelled, resumed and deleted.

import { started } from "./burden.js";
import { button, byId, el, replace, table } from "./dom.js";
import { say, worded } from "./words.js";

const POLL_MS = 700, PAGE = 20;
const OPEN = ["queued", "running"], QUESTIONS = ["explain", "explain_group", "audit"];

// Returns the question of a job in words; jobs of other clients may have further questions.
export function questionOf({ question }) {
  return QUESTIONS.includes(question) ? say(`many.question.${question}`) : question;
}

// Returns the state of a job in words.
function stateOf({ state, message, code, arguments: values, resumable }) {
  return say(`many.state.${state}`, { message: resumable ? say("many.no-room") : worded({ detail: message, code, arguments: values }) });
}

export class JobList {
  // api: of the server; show(job): shows the answers of a job; removed(job): hears that it was deleted
  // notify(text, failed)
  constructor(api, { show, removed, notify }) {
    Object.assign(this, { api, show, removed, notify, timer: null, most: PAGE, jobs: [], total: 0, drawn: "", requests: 0 });
  }

  // Lists the jobs, the newest first, and again while one of them runs.
  async list() {
    clearTimeout(this.timer);
    const request = ++this.requests;
    const { total } = await this.api.get("v1/jobs?limit=1");
    const offset = Math.max(0, total - this.most);
    const listed = await this.api.get(`v1/jobs?offset=${offset}&limit=${this.most}`);
    if (request !== this.requests) return; // a later request lists them
    const jobs = listed.jobs.reverse();
    this.announce(jobs);
    Object.assign(this, { jobs, total: listed.total });
    if (jobs.some(({ state }) => OPEN.includes(state))) this.timer = setTimeout(() => this.again(), POLL_MS);
    this.draw();
  }

  again() {
    this.list().catch((error) => this.notify(error.message, true));
  }

  // Says which jobs ended since the jobs were listed last.
  announce(jobs) {
    const before = new Map(this.jobs.map((job) => [job.id, job.state]));
    const ended = jobs.filter(({ id, state }) => OPEN.includes(before.get(id)) && ["done", "failed"].includes(state));
    for (const job of ended) {
      this.notify(say("many.ended", { model: job.model.name, question: questionOf(job),
        state: stateOf(job) }), job.state === "failed");
    }
  }

  draw() {
    const state = JSON.stringify([this.jobs, this.total]);
    if (state === this.drawn) return;
    this.drawn = state;
    const focused = document.activeElement?.dataset.act; // the keyboard stays where it is
    const older = this.total > this.jobs.length ? button(say("many.older"), () => {
      this.most = Math.min(this.most + PAGE, 1000);
      this.again();
    }) : null;
    replace(byId("jobs"), this.jobs.length ? this.table() : null, older);
    if (!focused) return;
    const [, id] = focused.split(" "); // a job that ended has other buttons
    (document.querySelector(`#jobs [data-act="${focused}"]`) ?? document.querySelector(`#jobs [data-act$=" ${id}"]`))?.focus();
  }

  table() {
    const heads = ["job", "model", "question", "state", "progress", "actions"].map((name) => say(`many.${name}`));
    return table(say("many.jobs"), heads, this.jobs.map((job) => el("tr", {},
      el("th", { scope: "row", title: job.id }, started(job)),
      ...[job.model.name, questionOf(job), stateOf(job)].map((text) => el("td", {}, text)),
      el("td", {}, say("many.progress.value", { answered: job.answered, rows: job.rows ?? "?" }), OPEN.includes(job.state) && job.rows
        ? el("progress", { max: job.rows, value: job.answered, "aria-label": say("many.progress") }) : null),
      el("td", {}, el("div", { class: "buttons" }, this.actions(job))))));
  }

  actions(job) {
    const failed = (error) => {
      this.notify(error.status === 404 ? say("many.gone") : error.message, true);
      if (error.status === 404) this.again(); // it was deleted elsewhere
    };
    const act = (name, work) => button(say(`many.${name}`), () => work().catch(failed),
      { "data-act": `${name} ${job.id}`, "aria-label": say("many.act", { act: say(`many.${name}`), time: started(job) }) });
    const send = (method, path, then = () => {}) => async () => {
      await this.api.send(method, path);
      then(job);
      await this.list();
    };
    const path = `v1/jobs/${job.id}`;
    if (OPEN.includes(job.state)) return [act("cancel", send("DELETE", path))];
    const answered = job.state === "done" || job.answered > 0; // nothing else can be shown
    return [...(answered ? [act("show", () => this.show(job))] : []), act("delete", send("DELETE", path, this.removed)),
      ...(job.resumable ? [act("resume", send("POST", `${path}/resume`))] : [])];
  }
}
