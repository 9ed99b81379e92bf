// Small pictures of where a value lies among the values of a feature in the training data.

import { amount, el, short, svg } from "./dom.js";
import { say } from "./words.js";

const WIDTH = 160, HEIGHT = 22, FLOOR = 16;

// Returns the least and the largest value of the training data below its picture, null without numbers.
// The text alternative of the picture contains both.
export function endsOf({ distribution }) {
  const { quartiles } = distribution ?? {};
  if (!quartiles?.length || !(quartiles[4] > quartiles[0])) return null;
  return el("div", { class: "ends", "aria-hidden": "true" }, [quartiles[0], quartiles[4]].map((each) => el("span", {}, short(each))));
}

// Returns the picture of a feature, or null without a distribution and a scale.
// marks: [class, value] pairs, values as the form has them
// scale: numbers at both ends, else those of the data; limits: [lower, upper] to mark on it
export function spread(feature, marks, scale = null, limits = null) {
  const { quartiles = [], shares = [] } = feature.distribution ?? {};
  if (!shares.length && !scale) return null;
  const { least, most } = scale ?? { least: quartiles?.[0], most: quartiles?.[4] };
  const x = (value) => WIDTH * (value - least) / (most - least);
  const [left, right] = scale && quartiles?.length ? [x(quartiles[0]), x(quartiles[4])] : [0, WIDTH];
  const highest = Math.max(...shares, 1e-12), step = (right - left) / shares.length;
  const bars = shares.map((share, k) => {
    const height = (FLOOR - 1) * share / highest;
    return svg("rect", { class: "share", x: left + k * step + 0.1 * step, y: FLOOR - height, width: Math.max(0.8 * step, 0.5), height });
  });
  const places = marks.map(([look, value]) => [look, placeOf(feature, value, x)])
    .filter(([, at]) => at !== null);
  return svg("svg", { class: limits ? "scale" : "spread", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, ...(limits ? { "aria-hidden": "true" }
    : { role: "img", "aria-label": inWords(feature, marks) }) },
  limits ? null : svg("title", {}, inWords(feature, marks)),
  limits ? chosen(limits.map(x)) : null,
  svg("path", { class: "axis", d: `M0 ${FLOOR}H${WIDTH}` }), bars, middle(quartiles, x),
  places.map(([look, at]) => svg("path", { class: look, d: `M${at} ${FLOOR}l-4 6h8z` })));
}

function chosen(ends) {
  const [from, to] = ends.map((at) => Math.min(Math.max(at, 0), WIDTH));
  return svg("rect", { class: "between", x: from, y: 0, width: Math.max(to - from, 0), height: FLOOR });
}

function middle(quartiles, x) {
  if (!quartiles?.length) return null;
  const [least, first, , third, most] = quartiles;
  if (!(most > least)) return null;
  return svg("rect", { class: "middle", x: x(first), y: FLOOR - 1, width: x(third) - x(first), height: 2 });
}

function placeOf({ kind, distribution, labels, values, truth }, value, x) {
  if (value === null || value === undefined) return null;
  const { shares = [] } = distribution ?? {};
  if (["numeric", "ordinal"].includes(kind)) {
    const at = x(value);
    return Number.isFinite(at) ? Math.min(Math.max(at, 4), WIDTH - 4) : WIDTH / 2;
  }
  const choices = labels.length ? labels : values;
  let at = choices.findIndex((choice) => choice === value);
  if (at < 0) at = values.indexOf(truth ? Number(value) : value);
  return at < 0 ? null : WIDTH * (at + 0.5) / shares.length;
}

function inWords({ distribution: { quartiles, shares }, labels, values, unit }, marks) {
  const value = amount(marks[0]?.[1], unit);
  if (quartiles?.length) {
    const [least, first, middle, third, most] = quartiles.map((each) => amount(each, unit));
    return say("spread", { value, least, first, middle, third, most });
  }
  const choices = labels.length ? labels : values.map(String);
  const parts = choices.slice(0, 12).map((choice, k) => `${choice} ${short(100 * shares[k], 2)}\u00a0%`);
  return say("shares", { value, parts: parts.join(", ") });
}
