// A result as a sentence, a table of changes, and scores.

import { bar } from "./decision.js";
import { distinct, el, isolated, line, short, table, withUnit } from "./dom.js";
import { scoreWords } from "./sentences.js";
import { counted, numeral, say } from "./words.js";

const LOOKS = { optimal: "proved", infeasible: "proved", feasible: "open", unknown: "open" };
const LITTLE = 0.1; // percent

// Returns [class, sentence] for the status line.
export function headline(result) {
  const already = result.counterfactual && result.changes.length === 0;
  const first = say(already ? "headline.already" : `headline.${result.status}`);
  const second = result.distance === null || already ? "" : costs(result);
  return [LOOKS[result.status], [first, second, result.message].filter(Boolean).join(" ")];
}

function costs({ status, changes, distance, lower_bound }) {
  // Bounds of a proved answer may differ in the last digit.
  const [lower, cost] = status === "feasible" ? distinct(lower_bound, distance) : ["", short(distance)];
  const sentence = say("headline.cost", { changes: counted(changes.length, "change"), cost });
  return status === "feasible" ? `${sentence} ${say("headline.bound", { bound: lower })}` : sentence;
}

// Returns the parts of an answer. target: of the request; unit: how costs are measured; units: of the features, by name
export function answerParts(result, target, unit, units) {
  return [changesTable(result, say("changes", { unit }), units), scores(result, target), rounded(result, units)]
    .filter((part) => part !== null);
}

// Returns the table of changes, with a bar for the cost of each.
function changesTable(result, caption, units) {
  if (!result.counterfactual || result.changes.length === 0) return null;
  const most = Math.max(...result.changes.map((change) => change.cost), 1e-12);
  const rows = result.changes.map((change) => {
    const [from, to] = distinct(change.from, change.to), unit = units.get(change.feature);
    const number = (value) => (typeof value === "number" ? "number" : null);
    const told = (text, value) => isolated(number(value) ? withUnit(text, unit) : text);
    return line(change.feature, el("td", { class: number(change.from), title: numeral(change.from) }, told(from, change.from)),
      el("td", { class: number(change.to), title: numeral(change.to) }, direction(change), el("strong", {}, told(to, change.to))),
      el("td", { class: "number", title: numeral(change.cost) }, short(change.cost), bar(change.cost / most)));
  });
  const look = result.changes.every(({ from, to }) => typeof from === "number" && typeof to === "number") ? "number" : null;
  const heads = [say("feature"), [say("before"), look], [say("after"), look], [say("cost"), "number"]];
  return table(caption, heads, rows, { class: "changes" });
}

function direction({ from, to }) {
  if (typeof from !== "number" || typeof to !== "number") return "";
  return to > from ? "↑\u00a0" : "↓\u00a0";
}

function scores(result, target) {
  if (result.score === null || result.score_before === null) return null;
  const probability = [result.score, result.score_before].every((s) => s >= 0 && s <= 1);
  const [before, after] = distinct(result.score_before, result.score);
  const score = (label, text, value) => line(label, el("td", {}, probability ? bar(value) : null),
    el("td", { class: "number", title: numeral(value) }, text));
  return table(scoreWords(target, result.target), null,
    [score(say("before"), before, result.score_before), score(say("after"), after, result.score)]);
}

function rounded(result, units) {
  if (!result.rounded) return null;
  const part = changesTable({ ...result.rounded, counterfactual: true }, say("rounded"), units);
  return el("details", {}, el("summary", {}, roundedWords(100 * result.rounded.extra_cost)), part);
}

function roundedWords(percent) {
  if (percent === 0) return say("rounded.same");
  return percent < LITTLE ? say("rounded.little", { share: LITTLE }) : say("rounded.more", { share: short(percent, 2) });
}
