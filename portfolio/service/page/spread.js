// Small pictures of where a value lies among the values of a feature in the training data.

import { short, svg } from "./dom.js";
import { say } from "./words.js";

const WIDTH = 160, HEIGHT = 22, FLOOR = 16;

// Returns the picture of a feature, or null without a distribution.
// marks: [class, value] pairs, values as the form has them
export function spread(feature, marks) {
  const { distribution } = feature;
  if (!distribution || !distribution.shares.length) return null;
  const most = Math.max(...distribution.shares, 1e-12);
  const step = WIDTH / distribution.shares.length;
  const bars = distribution.shares.map((share, k) => {
    const height = (FLOOR - 1) * share / most;
    return svg("rect", { class: "share", x: k * step + 0.5, y: FLOOR - height,
      width: Math.max(step - 1, 0.5), height });
  });
  const places = marks.map(([look, value]) => [look, placeOf(feature, value)])
    .filter(([, x]) => x !== null);
  return svg("svg", { class: "spread", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img",
    "aria-label": inWords(feature, marks) },
  svg("path", { class: "axis", d: `M0 ${FLOOR}H${WIDTH}` }), bars, quartiles(distribution),
  places.map(([look, x]) => svg("path", { class: look, d: `M${x} ${FLOOR}l-4 6h8z` })));
}

function quartiles({ quartiles }) {
  if (!quartiles?.length) return null;
  const [least, first, , third, most] = quartiles;
  if (!(most > least)) return null;
  const x = (value) => WIDTH * (value - least) / (most - least);
  return svg("rect", { class: "middle", x: x(first), y: FLOOR - 1, width: x(third) - x(first), height: 2 });
}

function placeOf({ distribution: { quartiles, shares }, labels, values, truth }, value) {
  if (value === null || value === undefined) return null;
  if (quartiles) {
    const [least, most] = [quartiles[0], quartiles[4]];
    if (!(most > least)) return WIDTH / 2;
    return Math.min(Math.max(WIDTH * (value - least) / (most - least), 4), WIDTH - 4);
  }
  const choices = labels.length ? labels : values;
  let at = choices.findIndex((choice) => choice === value);
  if (at < 0) at = values.indexOf(truth ? Number(value) : value);
  return at < 0 ? null : WIDTH * (at + 0.5) / shares.length;
}

function inWords({ distribution: { quartiles, shares }, labels, values }, marks) {
  const value = short(marks[0]?.[1]);
  if (quartiles?.length) {
    const [least, first, middle, third, most] = quartiles.map((each) => short(each));
    return say("spread", { value, least, first, middle, third, most });
  }
  const choices = labels.length ? labels : values.map(String);
  const parts = choices.slice(0, 12).map((choice, k) => `${choice} ${short(100 * shares[k], 2)} %`);
  return say("shares", { value, parts: parts.join(", ") });
}
