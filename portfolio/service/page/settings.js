// Settings of the question: the target, how costs are measured, and limits.

import { byId, el, replace } from "./dom.js";
import { say } from "./words.js";

const LIMITS = { // of a number, as the interface writes them
  AtLeast: { words: "target.least", count: 1, write: (low) => [low] },
  AtMost: { words: "target.most", count: 1, write: (high) => [high] },
  Score: { words: "target.range", count: 2, write: (low, high) => ({ low, high }) },
};
const NORMS = ["1", "0", "2", "inf"], SCALES = ["range", "std", "mad", "none"];

export class Settings {
  // described: the model, as in /v1/models/{name}
  constructor(described) {
    const { classes, outputs, probabilities, plausible, strategies, limits } = described;
    this.several = Object.keys(outputs).length > 0;
    this.targets = this.several
      ? Object.entries(outputs).map(([name, labels]) => new Target(labels, name, () => this.check()))
      : [new Target(classes, "", () => this.check())];
    replace(byId("target-part"), `${say("target")} `, ...this.targets.map((target) => target.parts));
    this.plausible = plausible;
    byId("plausible").hidden = !plausible;
    this.probable = probabilities && !this.several;
    byId("probability-part").hidden = !this.probable;
    byId("margin-part").hidden = classes.length === 0 || this.several;
    const options = (values, prefix) => values.map((value) => el("option", { value }, say(`${prefix}.${value}`)));
    replace(byId("norm"), options(NORMS, "norm"));
    replace(byId("scale"), options(SCALES, "scale"));
    replace(byId("backend"), strategies.map((name) => el("option", { value: name }, name)));
    byId("limit").max = limits.time_limit_s;
    byId("limit").value = limits.usual_s;
    for (const name of ["most", "probability", "margin"]) byId(name).value = "";
    byId("probability").oninput = () => this.check();
    this.check();
  }

  // Reports a target that lacks: of the class that has a probability, or of all outputs.
  check() {
    const [{ select }] = this.targets, chosen = this.targets.some((target) => target.select.value);
    const lacking = this.several ? "target.lacking" : byId("probability").value && "probability.class";
    select.setCustomValidity(!chosen && lacking ? say(lacking) : "");
  }

  // Returns the members of a request, without row, constraints and weights.
  members() {
    const norm = byId("norm").value, scale = byId("scale").value, margin = byId("margin").value;
    return {
      ...this.target(), strategy: byId("backend").value, time_limit_s: Number(byId("limit").value),
      ...(norm !== "1" && { norm: norm === "inf" ? norm : Number(norm) }),
      ...(scale !== "range" && { scale }), ...(margin && { margin: Number(margin) }),
    };
  }

  target() {
    const chosen = this.targets.filter((target) => target.select.value);
    if (!chosen.length) return {};
    if (this.several) return { target: Object.fromEntries(chosen.map((each) => [each.output, each.target()])) };
    const target = chosen[0].target(), share = byId("probability").value;
    return { target: this.probable && share ? { Probability: [target, Number(share)] } : target };
  }

  // Returns the limit on the number of changes as a list of constraints.
  constraints() {
    return byId("most").value ? [{ MaxChanges: [Number(byId("most").value)] }] : [];
  }

  // Returns how costs are measured, in words.
  unit() {
    const norm = byId("norm").value;
    return say(norm === "1" ? `unit.1.${byId("scale").value}` : `unit.${norm}`);
  }

  // Returns the values of all controls, for a link.
  state() {
    const fields = ["norm", "scale", "most", "probability", "margin", "limit", "backend"];
    return { targets: this.targets.map(({ select, ends }) => [select.value, ...ends.map((end) => end.value)]),
      ...Object.fromEntries(fields.map((name) => [name, byId(name).value])) };
  }

  restore({ targets = [], ...fields }) {
    targets.slice(0, this.targets.length).forEach(([value, ...ends], k) => this.targets[k].restore(value, ends));
    for (const [name, value] of Object.entries(fields)) {
      if (["norm", "scale", "most", "probability", "margin", "limit", "backend"].includes(name)) byId(name).value = value;
    }
    this.check();
    for (const name of ["norm", "scale", "backend"]) if (byId(name).selectedIndex < 0) byId(name).selectedIndex = 0;
  }
}

// The target of the whole model, or of one output, which may have none.
class Target {
  // onChoice(): called after another target was chosen
  constructor(labels, output, onChoice) {
    this.output = output;
    this.numbers = labels.length === 0;
    const options = this.numbers ? Object.entries(LIMITS).map(([value, { words }]) => [value, say(words)])
      : labels.map((label) => [JSON.stringify(label), String(label)]);
    if (output) options.unshift(["", say("target.any")]);
    else if (!this.numbers) options.unshift(["", say("target.other")]);
    const named = (words) => (output ? say(`${words}.of`, { output }) : say(words));
    this.ends = ["target.limit", "target.end"].map((words, k) => el("input", { id: output ? null : ["goal", "goal-end"][k],
      type: "number", step: "any", "aria-label": named(words), oninput: () => this.compare() }));
    this.select = el("select", { id: output ? null : "target", "aria-label": named("target"), onchange: () => {
      this.require();
      onChoice();
    } },
      options.map(([value, label]) => el("option", { value }, label)));
    this.parts = [output ? el("span", {}, ` ${output}: `) : null, this.select, ...(this.numbers ? this.ends : [])];
    this.require();
  }

  // Shows the limits of the chosen target, which must be filled in.
  require() {
    const { count = 0 } = (this.numbers && LIMITS[this.select.value]) || {};
    this.ends.forEach((end, k) => {
      end.required = k < count;
      end.hidden = end.disabled = k > 0 && k >= count;
    });
    this.compare();
  }

  compare() {
    const [low, high] = this.ends, reversed = !high.disabled && high.value !== "" && Number(low.value) > Number(high.value);
    high.setCustomValidity(reversed ? say("form.reversed") : "");
  }

  restore(value, ends) {
    this.select.value = value;
    if (this.select.selectedIndex < 0) this.select.selectedIndex = 0;
    this.ends.forEach((end, k) => { end.value = ends[k] ?? ""; });
    this.require();
  }

  target() {
    if (!this.numbers) return JSON.parse(this.select.value);
    return { [this.select.value]: LIMITS[this.select.value].write(...this.ends.map((end) => Number(end.value))) };
  }
}
