// A result as a before-and-after table, scores, and who did what.

import { el, short, svg } from "./dom.js";

const HEADLINES = {
  optimal: ["proved", "Proved: no smaller change is enough."],
  infeasible: ["proved", "Proved: no change that is allowed is enough."],
  feasible: ["open", "An answer. Whether a smaller change is enough is not proved."],
  unknown: ["open", "Neither an answer was found nor a proof that there is none."],
};

// [look, sentence] for the line of status.
export function headline(result) {
  const [look, words] = HEADLINES[result.status];
  const already = result.counterfactual && result.changes.length === 0;
  const cost = result.distance === null || already ? "" : ` Cost ${short(result.distance)}` +
    (result.status === "feasible" ? `, none below ${short(result.lower_bound)}.` : ".");
  const first = already ? "The row is decided so already: nothing needs to change." : words;
  return [look, [first + cost, result.message].filter(Boolean).join(" ")];
}

// diagram(decision, words): the picture of the decision diagram with the way taken
export function answerParts(result, attempts, diagram) {
  return [
    changesTable(result), scores(result), rounded(result), howItCame(result, attempts, diagram),
  ].filter((part) => part !== null);
}

// The changes of a result, dearest first as wide bars.
export function changesTable(result, caption = "What changes, and what each change costs") {
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
  return el("table", {}, el("caption", {}, `What the model gives for ${result.target}`),
    el("tbody", {}, line("before", result.score_before), line("after", result.score)));
}

function rounded(result) {
  if (!result.rounded) return null;
  const part = changesTable({ ...result.rounded, counterfactual: true }, "The same with fewer digits");
  return el("details", {}, el("summary", {},
    result.rounded.dearer
      ? `With fewer digits, for ${short(100 * result.rounded.dearer)} % more`
      : "With fewer digits, at the same distance"), part);
}

function howItCame(result, attempts, diagram) {
  const told = [
    ["Proved by", result.backend],
    ["Time", `${short(1000 * result.timings.total)} ms`],
    ["Options and leaves left after reduction", result.left.join(" and ")],
  ];
  const decision = result.decision || (attempts.length
    ? "This question did not ask the decision diagram."
    : "Reduction alone proved it; the decision diagram was not asked.");
  return el("details", { open: attempts.length > 0 },
    el("summary", {}, "How the answer came about"),
    el("table", {}, el("tbody", {}, told.map(([name, value]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))))),
    attempts.length ? race(attempts) : null,
    el("h3", {}, "Decision diagram"), el("p", {}, decision),
    diagram(result.decision, `Decision diagram. Way taken: ${decision}`));
}

function race(attempts) {
  const heads = ["Backend", "From s", "To s", "Better answer", "Bound", "Ended by"];
  const caption = "Each backend's part, after the cheapest answer that reduction knew";
  return el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads.map((word) => el("th", { scope: "col" }, word)))),
    el("tbody", {}, attempts.map((a) => el("tr", {}, el("th", { scope: "row" }, a.backend),
      [a.began_s, a.ended_s].map((s) => el("td", { class: "number" }, short(Number(s.toFixed(3))))),
      el("td", { class: "number" }, a.upper === null ? "none" : short(a.upper)),
      el("td", { class: "number" }, a.lower === null ? "none" : short(a.lower)),
      el("td", {}, a.stop_reason.replaceAll("_", " "))))));
}
