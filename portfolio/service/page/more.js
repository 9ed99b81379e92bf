// Further questions about the same row: other answers, trade-off, why not, reasons.

import { button, byId, el, replace, short, svg } from "./dom.js";
import { isOrdered } from "./form.js";
import { regionTable } from "./region.js";
import { necessary, reasons, region, whyNot } from "./sentences.js";
import { counted, say } from "./words.js";

const NEARBY = 0.01; // share of a feature's range by which numbers may differ from a robust answer

// body: members of the request that result answers; comparison: of answers; form: of the row
// ask(question, members): requests the answer to a question
// plausible: whether isolation forests judge the answers
export function furtherQuestions(part, body, result, ask, comparison, form, plausible) {
  const out = el("div", { "aria-live": "polite" });
  const { x, target, time_limit_s } = body;
  const goal = target && typeof target === "object" ? { target } : {};
  const row = { x, time_limit_s, ...goal }, nearby = radii(form.features);
  const offer = (name, question, members, show) => button(say(`more.${name}`), async (event) => {
    event.target.disabled = true;
    replace(out, el("p", {}, say("searching")));
    try {
      const response = await ask(question, members);
      if (comparison.row === x) replace(out, show(response)); // or another question was asked meanwhile
    } catch (error) {
      replace(out, el("p", { role: "alert" }, error.message));
    }
    event.target.disabled = false;
  });
  const offers = result.status === "infeasible"
    ? [offer("why-not", "why-not", body, ({ answer }) => whyNot(answer, body, form))]
    : [
      offer("several", "several", { ...body, k: 3 }, (response) => otherAnswers(response, "several", comparison)),
      offer("diverse", "diverse", { ...body, k: 3 }, (response) => otherAnswers(response, "diverse", comparison)),
      ...(Object.keys(nearby).length ? [offer("robust", "robust", { ...body, against: { Around: [nearby] } },
        ({ answer }) => robust(answer, comparison))] : []),
      offer("front", "front", { ...body, by: "changes" },
        (response) => front(response, Math.max(280, part.clientWidth), comparison)),
      ...(plausible ? [offer("plausibility", "front", { ...body, by: "plausibility" },
        (response) => front(response, Math.max(280, part.clientWidth), comparison))] : []),
      ...(result.counterfactual ? [offer("region", "region", { ...row, x: result.counterfactual }, (response) =>
        regionTable(response, x, region(response.answer, row.target), form.units))] : []),
    ];
  const marked = (name, words) => ({ answer }) => {
    form.mark(answer.features, say(`more.${name}.mark`));
    return words(answer);
  };
  const admissible = { x, time_limit_s, constraints: body.constraints, ...(target !== undefined && { target }) };
  const about = [offer("necessary", "necessary", admissible, marked("necessary", necessary)),
    offer("reasons", "reasons", row, marked("reasons", (answer) => reasons(answer, row.target, form)))];
  replace(part, el("p", { class: "buttons" }, offers, about), out);
}

// Returns a button that downloads what make() returns.
export function download(label, name, make) {
  return button(label, async (event) => {
    event.target.disabled = true;
    try {
      const file = URL.createObjectURL(await make());
      el("a", { href: file, download: name }).click();
      setTimeout(() => URL.revokeObjectURL(file), 1000);
    } catch (error) {
      event.target.after(el("span", { role: "alert" }, ` ${error.message}`));
    }
    event.target.disabled = false;
  });
}

function otherAnswers({ answer: { answers, status } }, name, comparison) {
  const added = answers.filter((answer, k) => comparison.add(say(`more.${name}.label`, { at: k + 1 }), answer));
  return [el("p", {}, say("more.compared", { answers: counted(added.length, "answer"),
    proof: say(status === "optimal" ? "more.proved" : "more.not-proved") }))];
}

// Returns by how much the number of each feature may differ from a robust answer.
export function radii(features) {
  const known = features.filter((feature) => isOrdered(feature) && feature.upper > feature.lower);
  return Object.fromEntries(known.map(({ name, lower, upper }) => [name, NEARBY * (upper - lower)]));
}

function robust(answer, comparison) {
  if (!answer.counterfactual) return [el("p", {}, [say(`headline.${answer.status}`), answer.message].filter(Boolean).join(" "))];
  const added = comparison.add(say("more.robust.label"), answer);
  return [el("p", {}, say("more.compared", { answers: counted(Number(added), "answer"),
    proof: say(answer.status === "optimal" ? "more.proved" : "more.not-proved") }), " ", say("more.robust.about", { share: 100 * NEARBY }))];
}

function front({ answer: { by, points } }, width, comparison) {
  const rising = [...points].sort((a, b) => a.level - b.level);
  const text = by === "changes" ? "more.front" : "more.plausibility";
  const changes = ({ level }) => (by === "changes" ? counted(level, "change") : short(level));
  const failed = rising.filter((point) => point.distance === null).map((point) =>
    el("li", {}, say(`${text}.${point.status === "infeasible" ? "impossible" : "unknown"}`, { changes: changes(point) })));
  const known = rising.filter((point) => point.distance !== null);
  const list = failed.length ? el("ul", {}, failed) : null;
  if (known.length === 0) return [el("p", {}, say(`${text}.none`)), list];
  const most = Math.max(...known.map((point) => point.distance), 1e-12);
  const height = 180, left = 8, bottom = 34, step = (width - left) / known.length;
  const y = (v) => (height - bottom - 18) * (1 - v / most) + 18;
  const add = (point) => {
    comparison.add(say(`${text}.label`, { changes: changes(point) }), point);
    byId("comparison").scrollIntoView({ block: "nearest" });
  };
  const bars = known.map((point, k) => [
    svg("rect", { class: point.status === "optimal" ? "bar" : "bar-ground", x: left + (k + 0.2) * step,
      y: y(point.distance), width: 0.6 * step, height: height - bottom - y(point.distance), onclick: () => add(point) }),
    svg("text", { x: left + (k + 0.5) * step, y: y(point.distance) - 4, "text-anchor": "middle" }, short(point.distance)),
    svg("text", { x: left + (k + 0.5) * step, y: height - bottom + 16, "text-anchor": "middle" }, changes(point)),
  ]).flat();
  const words = known.map((point) => `${changes(point)}: ${short(point.distance)}`).join("; ");
  return [el("figure", {}, svg("svg", { class: "front", viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-label": `${say(text)}. ${words}` },
  svg("path", { class: "axis", d: `M${left} 10V${height - bottom}H${width}` }), bars),
  el("figcaption", {}, say(`${text}.caption`))),
  el("p", { class: "buttons" }, known.map((point) => button(say(`${text}.label`, { changes: changes(point) }), () => add(point)))),
  list];
}
