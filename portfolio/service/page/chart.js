// Chart of the bounds over time: the upper bound falls and the lower bound rises until they meet.

import { duration, el, replace, short, svg } from "./dom.js";
import { say } from "./words.js";

const HEIGHT = 220, LEFT = 58, RIGHT = 8, TOP = 10, BOTTOM = 34;

// points: [[seconds, upper or null, lower], ...]; seconds: minimum end of the time axis.
export function drawBounds(figure, points, seconds) {
  const known = points.flatMap(([, upper, lower]) => [upper, lower]).filter(Number.isFinite);
  figure.hidden = known.length === 0;
  if (figure.hidden) return;
  const width = Math.max(280, figure.parentElement.clientWidth); // so that text keeps its size
  const end = Math.max(seconds, ...points.map(([t]) => t), 1e-3);
  const top = Math.max(...known) * 1.08 || 1;
  const x = (t) => LEFT + (t / end) * (width - LEFT - RIGHT);
  const y = (v) => HEIGHT - BOTTOM - (v / top) * (HEIGHT - TOP - BOTTOM);
  const upper = stairs(points.map(([t, u]) => [t, u]), end);
  const lower = stairs(points.map(([t, , l]) => [t, l]), end);
  const path = (stair) => "M" + stair.map(([t, v]) => `${x(t).toFixed(1)} ${y(v).toFixed(1)}`).join("L");
  const from = upper.length ? upper[0][0] : end;
  const under = lower.map(([t, v]) => [Math.max(t, from), v]).reverse();
  const now = points[points.length - 1];
  const words = Number.isFinite(now[1])
    ? say("bounds.now", { time: duration(now[0]), cost: short(now[1]), bound: short(now[2]) })
    : say("bounds.none", { time: duration(now[0]), bound: short(now[2]) });
  replace(figure,
    svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": words },
      svg("path", { class: "axis", d: `M${LEFT} ${TOP}V${HEIGHT - BOTTOM}H${width - RIGHT}` }),
      ticks(top, (v) => svg("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, short(v))),
      ticks(end, (t) => svg("text", { x: x(t), y: HEIGHT - BOTTOM + 16, "text-anchor": "middle" },
        `${short(t)} s`)),
      upper.length ? svg("path", { class: "between", d: path([...upper, ...under]) + "Z" }) : null,
      upper.length ? svg("path", { class: "upper", d: path(upper) }) : null,
      lower.length ? svg("path", { class: "lower", d: path(lower) }) : null),
    el("figcaption", {}, words, ` ${say("bounds.caption")}`));
}

function stairs(points, end) {
  const known = points.filter(([, v]) => Number.isFinite(v));
  const steps = known.flatMap(([t, v], k) => (k ? [[t, known[k - 1][1]], [t, v]] : [[t, v]]));
  return known.length ? [...steps, [end, known[known.length - 1][1]]] : [];
}

function ticks(most, draw) {
  const step = [1, 2, 5, 10].map((m) => m * 10 ** Math.floor(Math.log10(most / 3)))
    .find((each) => most / each <= 5);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, k) =>
    draw(Number((k * step).toPrecision(6))));
}
