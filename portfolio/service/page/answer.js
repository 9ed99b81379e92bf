// A result as a table of changes, scores, and the runs of backends.

import { counted, distinct, duration, el, short, svg } from "./dom.js";

const HEADLINES = {
  optimal: ["proved", "Proved: no smaller change reaches the desired prediction."],
  infeasible: ["proved", "Proved: no allowed change reaches the desired prediction."],
  feasible: ["open", "Not proved: a change was found, but a smaller one may exist."],
  unknown: ["open", "Not proved: no change was found, but one may exist."],
};

// The requests of the page have the default norm, scale and weights.
const COSTS = "Changes and their costs. The whole range of a feature costs 1, another category costs 1.";

// Returns [class, sentence] for the status line.
export function headline(result) {
  const [look, sentence] = HEADLINES[result.status];
  const already = result.counterfactual && result.changes.length === 0;
  const first = already ? "The row already has this prediction: nothing needs to change." : sentence;
  const second = result.distance === null || already ? "" : costs(result);
  return [look, [first, second, result.message].filter(Boolean).join(" ")];
}

function costs({ status, changes, distance, lower_bound }) {
  const [lower, cost] = distinct(lower_bound, distance);
  const bound = status === "feasible" ? ` Proved lower bound: ${lower}.` : "";
  return `${counted(changes.length, "change")}, cost ${cost}.${bound}`;
}

// diagram(decision, alt): returns the image of the decision diagram with the path taken
export function answerParts(result, attempts, diagram) {
  return [
    changesTable(result), scores(result), rounded(result), howFound(result, attempts, diagram),
  ].filter((part) => part !== null);
}

// Returns the table of changes, with a bar for the cost of each.
export function changesTable(result, caption = COSTS) {
  if (!result.counterfactual || result.changes.length === 0) return null;
  const most = Math.max(...result.changes.map((change) => change.cost), 1e-12);
  const rows = result.changes.map((change) => {
    const [from, to] = distinct(change.from, change.to);
    return el("tr", {},
      el("th", { scope: "row" }, change.feature),
      el("td", { title: String(change.from) }, from),
      el("td", { title: String(change.to) }, direction(change), to),
      el("td", { class: "number", title: String(change.cost) },
        bar(change.cost / most), short(change.cost)));
  });
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
  const line = (label, score) => el("tr", {}, el("th", { scope: "row" }, label),
    el("td", {}, probability ? bar(score) : null),
    el("td", { class: "number", title: String(score) }, short(score)));
  return el("table", {}, el("caption", {}, `Score of the model for ${targetWords(result.target)}`),
    el("tbody", {}, line("Before", result.score_before), line("After", result.score)));
}

// Returns a target in words; several outputs have one each, by name.
function targetWords(target) {
  if (target === null || typeof target !== "object") return String(target);
  return Object.entries(target).map(([name, value]) => `${name}: ${short(value)}`).join(", ");
}

function rounded(result) {
  if (!result.rounded) return null;
  const part = changesTable({ ...result.rounded, counterfactual: true }, "Rounded values");
  return el("details", {}, el("summary", {},
    result.rounded.extra_cost
      ? `Rounded values, which cost ${short(100 * result.rounded.extra_cost, 2)} % more`
      : "Rounded values, which cost the same"), part);
}

function howFound(result, attempts, diagram) {
  const [options, leaves] = result.remaining;
  const facts = [
    ["Backend", result.backend],
    ["Time", duration(result.timings.total)],
    ["Problem size after presolve", `${counted(options, "option")}, ${counted(leaves, "leaf", "leaves")}`],
  ];
  const decision = result.decision || "The decision diagram was not used for this request.";
  return el("details", { open: attempts.length > 0 },
    el("summary", {}, "How the answer was found"),
    el("table", {}, el("tbody", {}, facts.map(([name, value]) =>
      el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value))))),
    attempts.length ? race(attempts) : null,
    el("h3", {}, "Decision diagram"), el("p", {}, decision),
    diagram(result.decision, `Decision diagram. Path taken: ${decision}`));
}

function race(attempts) {
  const heads = ["Backend", "Start (s)", "End (s)", "Best cost", "Lower bound", "Stop reason"];
  const caption = "Runs of backends, which start from the best answer of presolve";
  return el("table", {}, el("caption", {}, caption),
    el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))),
    el("tbody", {}, attempts.map((a) => el("tr", {}, el("th", { scope: "row" }, a.backend),
      [a.began_s, a.ended_s].map((s) => el("td", { class: "number" }, s.toFixed(3))),
      el("td", { class: "number" }, a.upper === null ? "none" : short(a.upper)),
      el("td", { class: "number" }, a.lower === null ? "none" : short(a.lower)),
      el("td", {}, a.stop_reason.replaceAll("_", " "))))));
}
