// Up to four answers side by side, with the row that they change.

import { button, byId, el, isolated, line, replace, short, table } from "./dom.js";
import { say } from "./words.js";

const MOST = 4;

export class Comparison {
  // take(row): fills an answer into the form
  constructor(take) {
    this.take = take;
    this.clear();
  }

  // Forgets all answers.
  clear() {
    Object.assign(this, { of: null, row: {}, units: new Map(), conditions: [], entries: [], count: 0, message: "" });
    this.draw();
  }

  // Begins a question, and keeps the answers if they are about the same row.
  // row: values by column; units: of the features, by name; conditions: of the question, in words
  begin(row, units, conditions) {
    const of = JSON.stringify(row);
    if (of !== this.of) this.clear();
    Object.assign(this, { of, row, units, conditions, message: "" });
    this.draw();
  }

  // Adds an answer to the question, of another model if that is named; returns whether it was added.
  // label: null for a number
  add(label, answer, model = "") {
    if (!answer.counterfactual) return false;
    const present = this.entries.some((entry) =>
      entry.model === model && same(entry.answer.counterfactual, answer.counterfactual));
    this.message = present ? say("compare.present") : this.entries.length === MOST ? say("compare.full") : "";
    if (!this.message) {
      this.entries.push({ label: label ?? say("compare.answer", { at: this.count += 1 }), answer, model, conditions: this.conditions });
    }
    this.draw();
    return !this.message;
  }

  remove(entry) {
    this.entries = this.entries.filter((each) => each !== entry);
    this.message = "";
    this.draw();
  }

  draw() {
    const part = byId("comparison");
    part.hidden = this.entries.length === 0;
    if (part.hidden) return replace(part);
    const changed = (entry, feature) => entry.answer.changes.find((change) => change.feature === feature);
    const features = [...new Set(this.entries.flatMap(({ answer }) => answer.changes.map((change) => change.feature)))];
    const cost = (text) => el("td", { class: "number" }, text);
    const kind = (each, different) => [different ? "different" : "", typeof each === "number" ? "number" : ""].join(" ").trim();
    const rows = features.map((feature) => {
      const changes = this.entries.map((entry) => changed(entry, feature));
      const before = changes.find((change) => change).from, unit = this.units.get(feature);
      const cell = (each, different) => el("td", { class: kind(each, different) || null }, isolated(short(each)));
      return line([feature, unit ? el("span", { class: "unit" }, ` ${unit}`) : null], cell(before), changes.map((change) => (change ? cell(change.to, true) : cell(before))));
    });
    const scores = this.entries.map(({ answer }) => answer.score_before);
    const common = scores.every((each) => each === scores[0]); // two models give a row two scores
    const number = (each) => (each === null ? "" : short(each));
    const score = ({ score_before: before, score: after }) =>
      cost(common ? number(after) : `${number(before)} → ${number(after)}`);
    const asked = new Set(this.entries.map(({ conditions }) => JSON.stringify(conditions)));
    const look = this.entries.every(({ answer }) => answer.changes.every(({ to }) => typeof to === "number")) ? "number" : null;
    const heads = [say("feature"), ...[say("compare.row"), ...this.entries.map(({ label }) => label)].map((head) => [head, look])];
    replace(part, table(say("compare"), heads, [
      line(say("compare.cost"), cost(short(0)), this.entries.map(({ answer }) => cost(short(answer.distance)))),
      line(say("compare.proof"), el("td"), this.entries.map(({ answer }) =>
        el("td", { class: look }, say(answer.status === "optimal" ? "compare.proved" : "compare.open")))),
      line(say("compare.score"), cost(common ? number(scores[0]) : ""), this.entries.map(({ answer }) => score(answer))),
      asked.size > 1 ? line(say("compare.conditions"), el("td"), this.entries.map(({ conditions }) =>
        el("td", {}, el("ul", { class: "plain" }, conditions.map((each) => el("li", {}, each)))))) : null,
      ...rows,
      el("tr", {}, el("td"), el("td"), this.entries.map((entry) => el("td", {},
        button(say("use"), () => this.take(entry.answer.counterfactual)),
        button(say("compare.remove"), () => this.remove(entry))))),
    ]), this.message ? el("p", { role: "alert" }, this.message) : null);
  }
}

// Returns whether two rows by column are equal.
function same(first, second) {
  return Object.keys(first).every((name) => first[name] === second[name]);
}
