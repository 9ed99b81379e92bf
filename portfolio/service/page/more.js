// Further questions about the same row: other answers, trade-off, why not, reasons.

import { changesTable } from "./answer.js";
import { counted, el, replace, short, svg } from "./dom.js";
import { regionTable } from "./region.js";

// body: members of the request that result answers.
// ask(question, members): requests the answer to a question.
export function furtherQuestions(part, body, result, ask, downloads) {
  const out = el("div", { "aria-live": "polite" });
  const { x, target, time_limit_s } = body;
  const goal = target && typeof target === "object" ? { target } : {};
  const row = { x, time_limit_s, ...goal };
  const offer = (label, question, members, show) => el("button", { type: "button",
    onclick: async (event) => {
      event.target.disabled = true;
      replace(out, el("p", {}, "Searching …"));
      try {
        replace(out, show(await ask(question, members)));
      } catch (error) {
        replace(out, el("p", { role: "alert" }, error.message));
      }
      event.target.disabled = false;
    } }, label);
  const offers = result.status === "infeasible"
    ? [offer("Why is there no answer?", "why-not", body, sentences)]
    : [
      offer("Other answers", "several", { ...body, k: 3 }, otherAnswers),
      offer("Cost by number of changes", "front", { ...body, by: "changes" },
        (response) => front(response, Math.max(280, part.clientWidth))),
      ...(result.counterfactual
        ? [offer("Which values also work?", "region", { ...row, x: result.counterfactual },
          (response) => regionTable(response, x))]
        : []),
    ];
  const decisive = offer("Which features determine the prediction?", "reasons", row, sentences);
  replace(part, el("h3", {}, "More questions"), el("p", { class: "buttons" }, offers, decisive),
    out, el("h3", {}, "Download"), el("p", { class: "buttons" }, downloads));
}

export function download(label, name, make) {
  return el("button", { type: "button", onclick: async (event) => {
    event.target.disabled = true;
    try {
      const file = URL.createObjectURL(await make());
      el("a", { href: file, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(file), 1000);
    } catch (error) {
      event.target.after(el("span", { role: "alert" }, ` ${error.message}`));
    }
    event.target.disabled = false;
  } }, label);
}

function sentences({ text }) {
  const [first, ...lines] = text.split("\n");
  return [el("p", {}, first),
    lines.length ? el("ul", {}, lines.map((line) => el("li", {}, line.replace(/^- /, "")))) : null];
}

function otherAnswers({ answer: { answers, status } }) {
  const parts = answers.map((answer, k) => changesTable(answer,
    `Answer ${k + 1}: cost ${short(answer.distance)}, ${answer.status === "optimal" ? "proved" : "not proved"}`));
  const proof = status === "optimal" ? "proved optimal" : "not all proved optimal";
  return [el("p", {}, `${counted(answers.length, "answer")}, ${proof}.`), ...parts];
}

function front({ answer: { points } }, width) {
  const known = points.filter((point) => point.distance !== null);
  if (known.length === 0) return [el("p", {}, "No answer was found for any number of changes.")];
  const most = Math.max(...known.map((point) => point.distance), 1e-12);
  const height = 180, left = 58, bottom = 34;
  const step = (width - left) / known.length;
  const y = (v) => (height - bottom - 10) * (1 - v / (1.08 * most)) + 10;
  const bars = known.map((point, k) => [
    svg("rect", { class: point.status === "optimal" ? "bar" : "bar-ground", x: left + (k + 0.2) * step,
      y: y(point.distance), width: 0.6 * step, height: height - bottom - y(point.distance) }),
    svg("text", { x: left + (k + 0.5) * step, y: y(point.distance) - 4, "text-anchor": "middle" }, short(point.distance)),
    svg("text", { x: left + (k + 0.5) * step, y: height - bottom + 16, "text-anchor": "middle" }, short(point.level)),
  ]).flat();
  const words = known.map((point) => `at most ${point.level}: ${short(point.distance)}`).join("; ");
  return [el("figure", {}, svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Cost by number of changes. ${words}` },
    svg("path", { class: "axis", d: `M${left} 10V${height - bottom}H${width}` }), bars),
  el("figcaption", {}, "Lowest cost with at most this number of changes. Hollow bars are not proved optimal."))];
}
