// The target: a class, or for regressors a goal.

import { byId, el, replace } from "./dom.js";

export class Target {
  // classes: labels; empty for a regressor
  constructor(classes) {
    this.numbers = classes.length === 0;
    this.choice = el("select", { id: "target", "aria-label": "Desired prediction" }, this.numbers
      ? [["AtLeast", "at least"], ["AtMost", "at most"]].map(([value, label]) =>
        el("option", { value }, label))
      : [el("option", { value: "" }, "any other class"), ...classes.map((label) =>
        el("option", { value: JSON.stringify(label) }, String(label)))]);
    this.goal = el("input", { id: "goal", type: "number", step: "any", required: true,
      "aria-label": "Limit of the prediction" });
    replace(byId("target-part"), "Desired prediction ", this.choice, this.numbers ? this.goal : null);
  }

  // Returns the member of a request with the target.
  member() {
    if (this.numbers) return { target: { [this.choice.value]: [Number(this.goal.value)] } };
    return this.choice.value ? { target: JSON.parse(this.choice.value) } : {};
  }
}
