// The target: a class, for regressors a goal, and for several outputs one of these per output.

import { byId, el, replace } from "./dom.js";

export class Target {
  // classes: labels; empty for a regressor
  // outputs: labels of each output by name; empty for a model of one output
  constructor(classes, outputs) {
    this.several = Object.keys(outputs).length > 0;
    this.choices = this.several
      ? Object.entries(outputs).map(([name, labels]) => new Choice(labels, name))
      : [new Choice(classes)];
    replace(byId("target-part"), "Desired prediction ", ...this.choices.map((choice) => choice.parts));
  }

  // Returns the member of a request with the target.
  member() {
    const chosen = this.choices.filter((choice) => choice.select.value);
    if (!chosen.length) return {};
    if (!this.several) return { target: chosen[0].target() };
    return { target: Object.fromEntries(chosen.map((choice) => [choice.output, choice.target()])) };
  }
}

// The target of the whole model, or of one output, which may have none.
class Choice {
  constructor(labels, output = "") {
    this.output = output;
    this.numbers = labels.length === 0;
    const of = output ? ` of ${output}` : "";
    const none = output ? "any" : "any other class";
    const options = this.numbers
      ? [["AtLeast", "at least"], ["AtMost", "at most"]]
      : labels.map((label) => [JSON.stringify(label), String(label)]);
    if (output || !this.numbers) options.unshift(["", none]);
    this.goal = el("input", { id: output ? null : "goal", type: "number", step: "any",
      required: !output, "aria-label": `Limit of the prediction${of}` });
    this.select = el("select", { id: output ? null : "target",
      "aria-label": `Desired prediction${of}`,
      onchange: () => { this.goal.required = this.select.value !== ""; } },
    options.map(([value, label]) => el("option", { value }, label)));
    this.parts = [output ? el("span", {}, ` ${output}: `) : null, this.select, this.numbers ? this.goal : null];
  }

  target() {
    if (this.numbers) return { [this.select.value]: [Number(this.goal.value)] };
    return JSON.parse(this.select.value);
  }
}
