// The model's own prediction for the row of the form, updated after every edit.

import { byId, distinct, el, isolated, line, replace, short, svg, table } from "./dom.js";
import { numeral, say } from "./words.js";

const PAUSE_MS = 120, MOST_CLASSES = 6;

export class Decision {
  // predict(row, signal): requests the prediction of a row
  // others(row, signal): requests those of other models, as pairs of name and prediction or Error
  constructor(predict, others) {
    this.predict = predict;
    this.others = others;
    this.shown = null;
    this.timer = null;
    this.running = null;
  }

  // Reserves the space of the prediction of a model, so that nothing moves when it arrives.
  prepare({ classes, outputs, probabilities }) {
    this.shown = null;
    const blank = (labels) => ({ prediction: "…",
      probabilities: labels.length && probabilities ? labels.map((label) => [label, 0]) : null });
    const named = Object.entries(outputs);
    replace(byId("decision"), ...(named.length
      ? named.flatMap(([name, labels]) => one(blank(labels), null, name)) : one(blank(classes), null, "")));
  }

  // Forgets a request that is still to be sent or answered.
  stop() {
    clearTimeout(this.timer);
    this.running?.abort();
  }

  // Requests the prediction of a row after a pause in typing.
  edited(form) {
    this.stop();
    if (!form.complete()) return replace(byId("decision"), el("p", {}, say("decision.incomplete")));
    this.timer = setTimeout(() => this.update(form.row()), PAUSE_MS);
  }

  async update(row) {
    this.running = new AbortController();
    try {
      const { signal } = this.running;
      const [decided, others] = await Promise.all([this.predict(row, signal), this.others(row, signal)]);
      replace(byId("decision"), ...parts(decided, this.shown),
        others.flatMap(([name, other]) => [el("p", { class: "quiet" }, say("decision.under", { name })),
          ...(other instanceof Error ? [el("p", { role: "alert" }, other.message)] : parts(other, null))]));
      this.shown = decided;
    } catch (error) {
      if (error.name !== "AbortError") replace(byId("decision"), el("p", { role: "alert" }, error.message));
    }
  }
}

// Returns a prediction, with that before the last edit, as elements.
function parts(decided, before) {
  if (byOutput(decided.prediction)) {
    return Object.keys(decided.prediction).flatMap((name) => one(
      of(decided, name), before && byOutput(before.prediction) ? of(before, name) : null, name));
  }
  return one(decided, before && !byOutput(before.prediction) ? before : null, "");
}

const byOutput = (prediction) => prediction !== null && typeof prediction === "object";
const of = (decided, name) => ({ prediction: decided.prediction[name], probabilities: decided.probabilities[name] });

function one({ prediction, probabilities }, before, output) {
  const name = output ? `${say("decision.now")} (${output})` : say("decision.now");
  const changed = before && before.prediction !== prediction;
  const [now, was] = changed ? distinct(prediction, before.prediction) : [short(prediction), ""];
  const same = before && !changed && JSON.stringify(probabilities) === JSON.stringify(before.probabilities);
  const edit = changed ? say("decision.was", { value: was }) : say("decision.same");
  const sentence = el("p", { class: "prediction" }, `${name}: `, el("strong", {}, isolated(now)),
    changed || same ? el("span", { class: "was" }, ` (${edit})`) : null);
  if (!probabilities) return [sentence];
  const sorted = [...probabilities].sort((a, b) => b[1] - a[1]).slice(0, MOST_CLASSES);
  const rows = sorted.map(([label, share]) => {
    const [, last] = before?.probabilities?.find(([each]) => each === label) ?? [];
    const different = last !== undefined && last !== share;
    const [first, second] = different ? distinct(share, last) : [short(share), ""];
    return line(String(label), el("td", {}, bar(share, last)),
      el("td", { class: "number", title: numeral(share) }, first,
        different ? el("span", { class: "was" }, ` (${second})`) : null));
  });
  return [sentence, table(null, null, rows, { class: "probabilities" })];
}

// Returns a bar from 0 to 1, with a mark at an earlier value.
export function bar(share, last) {
  return svg("svg", { class: "meter", viewBox: "0 0 100 6", "aria-hidden": "true", preserveAspectRatio: "none", height: 6 },
    svg("rect", { class: "bar-ground", x: 0, y: 0, width: 100, height: 6 }),
    svg("rect", { class: "bar", x: 0, y: 0, width: Math.max(1, 100 * share), height: 6 }),
    last === undefined ? null : svg("rect", { class: "last", x: 100 * last - 0.5, y: 0, width: 1, height: 6 }));
}
