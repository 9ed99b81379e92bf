// A region as a table: for each feature, the values that keep the prediction.

import { el, isolated, line, short, svg, toward, withUnit } from "./dom.js";
import { numeral, say } from "./words.js";

const WIDTH = 200, HEIGHT = 14;
const DIGITS = 4, LIMITS = /(at least|at most|above|below) (-?\d[\d.]*(?:e[+-]?\d+)?)/g;
const WORDS = /at least|at most|above|below|and|or|not|missing/g;

// before: the original row, by column; heading: element above the table; units: of the features, by name
export function regionTable({ answer }, before, heading, units) {
  const rows = answer.spans.map((span) => line(span.feature,
    el("td", {}, isolated(span.whole ? say("target.any") : spanWords(span, units.get(span.feature)))),
    el("td", {}, interval(span, before))));
  return [heading,
    el("table", { class: "intervals" },
      el("caption", {}, say("region.caption")),
      el("thead", {}, el("tr", {}, [say("feature"), say("region.values"), say("region.place")].map((head) =>
        el("th", { scope: "col" }, head)))),
      el("tbody", {}, rows))];
}

// Returns the values of a feature in words. Those of the server are English words and exact numbers.
export function spanWords({ labels, lower, words }, unit) {
  const known = labels.map((label) => short(label));
  if (known.length) return [known.slice(0, -1).join(", "), known.at(-1)].filter(Boolean).join(` ${say("span.or")} `);
  const worded = inward(words).replace(WORDS, (word) => say(`span.${word}`)).replace(/\d\.\d/g, numeral);
  return lower === null ? worded : worded.replace(/\d(?!.*\d)/, (last) => withUnit(last, unit)); // or it is missing
}

// Returns words with few digits in their limits, rounded so that no value is added, as long as some are left.
export function inward(words) {
  for (let digits = DIGITS; digits < 17; digits += 1) {
    const ends = [];
    const shorter = words.replace(LIMITS, (_, word, number) => {
      const from = word === "at least" || word === "above";
      ends.push([from, toward(Number(number), from, digits)]);
      return `${word} ${ends.at(-1)[1]}`;
    });
    if (ends.every(([from, end], k) => !from || k + 1 === ends.length || end < ends[k + 1][1])) return shorter;
  }
  return words;
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
