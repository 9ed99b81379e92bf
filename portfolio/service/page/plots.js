// Charts of many rows: bars with an upper bound, and numbers with their ranges and intervals.

import { el, short, svg } from "./dom.js";
import { say } from "./words.js";

const LINE = 40, TOP = 6, AXIS = 36, SIDE = 10, LETTER = 7.4; // pixels
const MOST_SPOKEN = 12; // numbers in the text alternative; the table beside a chart has all

// Returns bars below their names. bars: [[name, number], ...]; bound: line across all bars, null for none
export function barChart(bars, { unit, width, bound = null }) {
  const axis = axisOf(width, [bound ?? 0, ...bars.map(([, value]) => value)]);
  const parts = bars.flatMap(([name, value], at) => {
    const y = TOP + at * LINE;
    return [title(name, y, width),
      svg("rect", { class: "bar", x: axis.x(0), y: y + 16, width: Math.max(1, axis.x(value) - axis.x(0)), height: 14 }),
      svg("text", { x: axis.x(value) + 5, y: y + 28 }, short(value))];
  });
  const height = TOP + bars.length * LINE;
  const line = bound === null ? null : svg("path", { class: "lower", d: `M${axis.x(bound)} ${TOP}V${height}` });
  return chart([...parts, line], height, axis, unit, bars.map(([name, value]) => `${name}: ${short(value)}`));
}

// Returns numbers with a line from one end to the other, thick for ranges of what is not proved.
// lines: [[name, {low, high, ci_low, ci_high} or null, words, mark], ...]; null ends are open
export function rangeChart(lines, { unit, width }) {
  const ends = lines.flatMap(([, number]) => (number ? [number.low, number.high, number.ci_low, number.ci_high] : []));
  const axis = axisOf(width, ends.filter((end) => end !== null));
  const clipped = (value, open) => axis.x(value ?? open);
  const parts = lines.flatMap(([name, number, words, mark = "dot"], at) => {
    const y = TOP + at * LINE + 24;
    if (!number) return [title(`${name}: ${words}`, y - 24, width)];
    const { low, high, ci_low: first, ci_high: last } = number;
    const interval = first === null && last === null ? null
      : svg("path", { class: mark === "dot" ? "interval" : "interval second", d: `M${clipped(first, 0)} ${y}H${clipped(last, axis.most)}` });
    return [title(`${name}: ${words}`, y - 24, width), interval, low === high && low !== null ? marked(mark, axis.x(low), y)
      : svg("path", { class: "open-range", d: `M${clipped(low, 0)} ${y}H${clipped(high, axis.most)}` })];
  });
  return chart(parts, TOP + lines.length * LINE, axis, unit,
    lines.map(([name, , words]) => `${name}: ${words}`));
}

function marked(mark, x, y) {
  return mark === "dot" ? svg("circle", { class: "dot", cx: x, cy: y, r: 5 })
    : svg("path", { class: "diamond", d: `M${x - 6} ${y}l6 -6l6 6l-6 6z` });
}

function chart(parts, height, axis, unit, spoken) {
  const more = spoken.length > MOST_SPOKEN ? "; …" : "";
  return svg("svg", { class: "plot", viewBox: `0 0 ${axis.width} ${height + AXIS}`, role: "img",
    "aria-label": `${unit}. ${spoken.slice(0, MOST_SPOKEN).join("; ")}${more}` },
  axis.ticks.flatMap((value) => [
    svg("path", { class: "grid", d: `M${axis.x(value)} ${TOP}V${height}` }),
    svg("text", { x: axis.x(value), y: height + 14, "text-anchor": "middle" }, short(value))]),
  svg("path", { class: "axis", d: `M${axis.x(0)} ${TOP}V${height}H${axis.width - SIDE}` }), parts,
  svg("text", { x: axis.width / 2, y: height + 31, "text-anchor": "middle" }, unit));
}

// Returns a name above its bar, cut to the width of the chart; pointing at it shows the whole.
function title(name, y, width) {
  const most = Math.floor((width - 2 * SIDE) / LETTER);
  return svg("text", { class: "name", x: SIDE, y: y + 11 },
    name.length > most ? `${name.slice(0, most - 1)}…` : name, svg("title", {}, name));
}

// Returns the scale of an axis that begins at 0, or at the least number if that is negative.
function axisOf(width, numbers) {
  const most = Math.max(0, ...numbers) * 1.12 || 1, least = Math.min(0, ...numbers) * 1.12;
  const span = most - least;
  const step = [1, 2, 5, 10].map((m) => m * 10 ** Math.floor(Math.log10(span / 3))).find((each) => span / each <= 5);
  const first = Math.ceil(least / step);
  return { width, most, ticks: Array.from({ length: Math.floor(most / step) - first + 1 }, (_, k) =>
    Number(((first + k) * step).toPrecision(6))), x: (value) => SIDE + (value - least) / span * (width - 2 * SIDE - 30) };
}

// Returns the name of a group in words: bands have names such as "19 to 27".
export function groupName(name) {
  const [, least, most] = /^(\S+) to (\S+)$/.exec(name) ?? [];
  if (least !== undefined && Number.isFinite(Number(least)) && Number.isFinite(Number(most))) return say("plot.range", { least: Number(least), most: Number(most) });
  return name === "missing" ? say("missing") : short(name);
}

// Returns a chart with its caption.
export function figure(drawn, caption) {
  return el("figure", {}, drawn, el("figcaption", {}, caption));
}
