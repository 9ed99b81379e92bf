// How an answer was found: bounds over time, runs of solvers, and the decision diagram.

import { duration, el, line, short, table } from "./dom.js";
import { counted, numeral, say } from "./words.js";

const SLOW_S = 1; // an answer that took longer shows this part unfolded

// figure: of the bounds; diagram(decision, alt): returns the image of the diagram with the path taken
export function howFound(result, attempts, figure, diagram) {
  const [options, leaves] = result.remaining;
  const size = say("how.size.value", { options: counted(options, "value"), leaves: counted(leaves, "leaf") });
  const facts = [[say("how.backend"), result.backend], [say("how.time"), duration(result.timings.total)],
    [say("how.size"), size]];
  const decision = result.decision || say("how.no-diagram");
  return el("details", { id: "how", open: result.timings.total > SLOW_S }, el("summary", {}, say("how")),
    figure, table(null, null, facts.map(([name, value]) => line(name, el("td", {}, value)))),
    attempts.length ? runs(attempts) : null,
    el("h3", {}, say("how.diagram")), el("p", {}, decision),
    diagram(result.decision, say("how.path", { decision })));
}

function runs(attempts) {
  const heads = [say("how.backend"), ...["start", "end", "cost", "bound"].map((head) => [say(`runs.${head}`), "number"]),
    say("runs.stop")];
  const number = (text) => el("td", { class: "number" }, text);
  return table(say("runs"), heads, attempts.map((run) => line(run.backend,
    ...[run.began_s, run.ended_s].map((seconds) => number(numeral(seconds.toFixed(3)))),
    ...[run.upper, run.lower].map((bound) => number(bound === null ? say("none") : short(bound))),
    el("td", {}, say(`stop.${run.stop_reason}`)))));
}
