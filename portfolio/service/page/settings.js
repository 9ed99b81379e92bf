// Settings of the question: the target, how costs are measured, and limits.

import { byId, el, replace } from "./dom.js";
import { say } from "./words.js";

const NORMS = ["1", "0", "2", "inf"], SCALES = ["range", "std", "mad", "none"];

export class Settings {
  // described: the model, as in /v1/models/{name}
  constructor(described) {
    const { classes, outputs, probabilities, plausible, strategies, limits } = described;
    this.several = Object.keys(outputs).length > 0;
    this.targets = this.several
      ? Object.entries(outputs).map(([name, labels]) => new Target(labels, name))
      : [new Target(classes)];
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
    byId("probability").oninput = () => this.targets[0].require();
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
    return { targets: this.targets.map(({ select, goal }) => [select.value, goal.value]),
      ...Object.fromEntries(fields.map((name) => [name, byId(name).value])) };
  }

  restore({ targets = [], ...fields }) {
    targets.slice(0, this.targets.length).forEach(([value, goal], k) => this.targets[k].restore(value, goal));
    for (const [name, value] of Object.entries(fields)) {
      if (["norm", "scale", "most", "probability", "margin", "limit", "backend"].includes(name)) byId(name).value = value;
    }
    this.targets[0].require();
    for (const name of ["norm", "scale", "backend"]) if (byId(name).selectedIndex < 0) byId(name).selectedIndex = 0;
  }
}

// The target of the whole model, or of one output, which may have none.
class Target {
  constructor(labels, output = "") {
    this.output = output;
    this.numbers = labels.length === 0;
    const options = this.numbers
      ? [["AtLeast", say("target.least")], ["AtMost", say("target.most")]]
      : labels.map((label) => [JSON.stringify(label), String(label)]);
    if (output) options.unshift(["", say("target.any")]);
    else if (!this.numbers) options.unshift(["", say("target.other")]);
    this.goal = el("input", { id: output ? null : "goal", type: "number", step: "any", required: this.numbers && !output,
      "aria-label": output ? say("target.limit.of", { output }) : say("target.limit") });
    this.select = el("select", { id: output ? null : "target",
      "aria-label": output ? say("target.of", { output }) : say("target"),
      onchange: () => this.require() }, options.map(([value, label]) => el("option", { value }, label)));
    this.parts = [output ? el("span", {}, ` ${output}: `) : null, this.select, this.numbers ? this.goal : null];
  }

  require() {
    this.goal.required = this.numbers && this.select.value !== "";
    // A probability is that of one class.
    const lacks = !this.numbers && !this.output && !this.select.value && byId("probability").value;
    this.select.setCustomValidity(lacks ? say("probability.class") : "");
  }

  restore(value, goal) {
    this.select.value = value;
    if (this.select.selectedIndex < 0) this.select.selectedIndex = 0;
    this.goal.value = goal;
    this.require();
  }

  target() {
    if (this.numbers) return { [this.select.value]: [Number(this.goal.value)] };
    return JSON.parse(this.select.value);
  }
}
