// A result as a table of changes, scores, and the runs of backends.

import { el, short, svg } from "./dom.js";

const HEADLINES = {
  optimal: ["proved", "Proved: no smaller change is enough."],
  infeasible: ["proved", "Proved: no allowed change is enough."],
  feasible: ["open", "Change found. A smaller one may exist: this is not proved to be the smallest."],
  unknown: ["open", "No change was found, and it is not proved that none exists."],
};

// Returns [class, sentence] for the status line.
export function headline(result) {
  const [look, words] = HEADLINES[result.status];
  const already = result.counterfactual && result.changes.length === 0;
  const cost = result.distance === null || already ? "" : ` Cost ${short(result.distance)}` +
    (result.status === "feasible" ? `, none below ${short(result.lower_bound)}.` : ".");
  const first = already ? "The row already has this prediction: nothing needs to change." : words;
  return [look, [first + cost, result.message].filter(Boolean).join(" ")];
}

// diagram(decision, alt): returns the image of the decision diagram with the path taken
export function answerParts(result, attempts, diagram) {
  return [
    changesTable(result), scores(result), rounded(result), howItCame(result, attempts, diagram),
  ].filter((part) => part !== null);
}

// Returns the table of changes, with a bar for the cost of each.
export function changesTable(result, caption = "Changes and their costs") {
  if (!result.counterfactual || result.changes.length === 0) return null;
  const most = Math.max(...result.changes.map((change) => change.cost), 1e-12);
  const rows = result.changes.map((change) => el("tr", {},
    el("th", { scope: "row" }, change.feature),
    el("td", { title: String(change.from) }, short(change.from)),
    el("td", { title: String(change.to) }, direction(change), short(change.to)),
    el("td", { class: "number", title: String(change.cost) }, bar(change.cost / most), short(change.cost))));
  const heads = ["Feature", "Before", "After"].map((word) => el("th", { scope: "col" }, word));
  return el("table", { class: "changes" }, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads, el("th", { scope: "col", class: "number" }, "Cost"))),
    el("tbody", {}, rows));
}

function direction({ from, to }) {
  if (typeof from !== "number" || typeof to !== "number") return "";
  return to > from ? "↑ " : "↓ ";
}

function bar(share) {
  return svg("svg", { viewBox: "0 0 100 6", "aria-hidden": "true", preserveAspectRatio: "none", height: 6 },
    svg("rect", { class: "bar-ground", x: 0, y: 0, width: 100, height: 6 }),
    svg("rect", { class: "bar", x: 0, y: 0, width: Math.max(1, 100 * share), height: 6 }));
}

function scores(result) {
  if (result.score === null || result.score_before === null) return null;
  const probability = [result.score, result.score_before].every((s) => s >= 0 && s <= 1);
  const line = (words, score) => el("tr", {}, el("th", { scope: "row" }, words),
    el("td", {}, probability ? bar(score) : null),
    el("td", { class: "number", title: String(score) }, short(score)));
  return el("table", {}, el("caption", {}, `Score of the model for ${result.target}`),
    el("tbody", {}, line("before", result.score_before), line("after", result.score)));
}

function rounded(result) {
  if (!result.rounded) return null;
  const part = changesTable({ ...result.rounded, counterfactual: true }, "Rounded values");
  return el("details", {}, el("summary", {},
    result.rounded.dearer
      ? `Rounded values, cost higher by ${short(100 * result.rounded.dearer)} %`
      : "Rounded values, at the same cost"), part);
}

function howItCame(result, attempts, diagram) {
  const told = [
    ["Proved by", result.backend],
    ["Time", `${short(1000 * result.timings.total)} ms`],
    ["Options and leaves that remain after presolve", result.left.join(" and ")],
  ];
  const decision = result.decision || (attempts.length
    ? "The decision diagram was not used for this request."
    : "Presolve alone proved it; the decision diagram was not used.");
  return el("details", { open: attempts.length > 0 },
    el("summary", {}, "How the answer was found"),
    el("table", {}, el("tbody", {}, told.map(([name, value]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))))),
    attempts.length ? race(attempts) : null,
    el("h3", {}, "Decision diagram"), el("p", {}, decision),
    diagram(result.decision, `Decision diagram. Path taken: ${decision}`));
}

function race(attempts) {
  const heads = ["Backend", "Start (s)", "End (s)", "Better answer", "Lower bound", "Stop reason"];
  const caption = "Runs of backends, which started from the best answer of presolve";
  return el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads.map((word) => el("th", { scope: "col" }, word)))),
    el("tbody", {}, attempts.map((a) => el("tr", {}, el("th", { scope: "row" }, a.backend),
      [a.began_s, a.ended_s].map((s) => el("td", { class: "number" }, short(Number(s.toFixed(3))))),
      el("td", { class: "number" }, a.upper === null ? "none" : short(a.upper)),
      el("td", { class: "number" }, a.lower === null ? "none" : short(a.lower)),
      el("td", {}, a.stop_reason.replaceAll("_", " "))))));
}
