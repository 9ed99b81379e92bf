// A region as a table: for each feature, the values that keep the prediction.

import { el, svg } from "./dom.js";
import { say } from "./words.js";

const WIDTH = 200, HEIGHT = 14;

// before: the original row, by column
export function regionTable({ answer, text }, before) {
  const rows = answer.spans.map((span) => el("tr", {}, el("th", { scope: "row" }, span.feature),
    el("td", {}, span.whole ? say("target.any") : span.words), el("td", {}, interval(span, before))));
  return [el("p", {}, text.split("\n")[0]),
    el("table", { class: "intervals" },
      el("caption", {}, say("region.caption")),
      el("thead", {}, el("tr", {}, [say("feature"), say("region.values"), say("region.place")].map((head) =>
        el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows))];
}

function interval(span, before) {
  const { lower, upper, least, most, own } = span;
  if (typeof lower !== "number" || typeof upper !== "number" || !(most > least)) return null;
  const x = (value) => 6 + ((WIDTH - 12) * (Math.min(Math.max(value, least), most) - least)) / (most - least);
  const known = ["number", "boolean"].includes(typeof before[span.feature]); // it may be missing
  const was = known ? Number(before[span.feature]) : NaN;
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, "aria-hidden": "true" },
    svg("path", { class: "axis", d: `M6 7H${WIDTH - 6}` }),
    svg("rect", { class: "held", x: x(lower), y: 4, width: Math.max(1.5, x(upper) - x(lower)), height: 6 }),
    Number.isFinite(was) ? svg("circle", { class: "before", cx: x(was), cy: 7, r: 4.5 }) : null,
    typeof own === "number" ? svg("circle", { class: "after", cx: x(own), cy: 7, r: 3 }) : null);
}
