// Up to four answers side by side, with the row that they change.

import { button, byId, el, line, replace, short, table } from "./dom.js";
import { say } from "./words.js";

const MOST = 4;

export class Comparison {
  // take(row): fills an answer into the form
  constructor(take) {
    this.take = take;
    this.clear();
  }

  // row: values by column that all answers change
  clear(row = {}) {
    this.row = row;
    this.entries = [];
    this.message = "";
    this.draw();
  }

  has(answer) {
    return this.entries.some((entry) => same(entry.answer.counterfactual, answer.counterfactual));
  }

  // Adds an answer once; returns whether there was room.
  add(label, answer) {
    if (!answer.counterfactual || this.has(answer)) return true;
    if (this.entries.length === MOST) {
      this.message = say("compare.full");
      this.draw();
      return false;
    }
    this.entries.push({ label, answer });
    this.message = "";
    this.draw();
    return true;
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
    const value = (text, different) => el("td", { class: different ? "different" : null }, text);
    const rows = features.map((feature) => {
      const changes = this.entries.map((entry) => changed(entry, feature));
      const before = changes.find((change) => change).from;
      return line(feature, value(short(before)), changes.map((change) =>
        (change ? value(short(change.to), true) : value(short(before)))));
    });
    const { answer: first } = this.entries[0];
    const score = (number) => value(number === null ? "" : short(number));
    const heads = [say("feature"), say("compare.row"), ...this.entries.map(({ label }) => label)];
    replace(part, table(say("compare"), heads, [
      line(say("compare.cost"), value(short(0)), this.entries.map(({ answer }) => value(short(answer.distance)))),
      line(say("compare.proof"), value(""), this.entries.map(({ answer }) =>
        value(say(answer.status === "optimal" ? "compare.proved" : "compare.open")))),
      line(say("compare.score"), score(first.score_before), this.entries.map(({ answer }) => score(answer.score))),
      ...rows,
      el("tr", {}, value(""), value(""), this.entries.map((entry) => el("td", {},
        button(say("use"), () => this.take(entry.answer.counterfactual)),
        button(say("compare.remove"), () => this.remove(entry))))),
    ]), this.message ? el("p", { role: "alert" }, this.message) : null);
  }
}

// Returns whether two rows by column are equal.
function same(first, second) {
  return Object.keys(first).every((name) => first[name] === second[name]);
}
