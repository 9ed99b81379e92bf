// What the answer is to be decided as: a class, or for models of numbers a goal.

import { byId, el, replace } from "./dom.js";

export class Target {
  // classes: labels; none for a model that predicts a number
  constructor(classes) {
    this.numbers = classes.length === 0;
    this.choice = el("select", { id: "target", "aria-label": "Decided as" }, this.numbers
      ? [["AtLeast", "at least"], ["AtMost", "at most"]].map(([value, words]) =>
        el("option", { value }, words))
      : [el("option", { value: "" }, "any other class"), ...classes.map((label) =>
        el("option", { value: JSON.stringify(label) }, String(label)))]);
    this.goal = el("input", { id: "goal", type: "number", step: "any", required: true,
      "aria-label": "Number to reach" });
    replace(byId("target-part"), "Decided as ", this.choice, this.numbers ? this.goal : null);
  }

  // The member of a question.
  asked() {
    if (this.numbers) return { target: { [this.choice.value]: [Number(this.goal.value)] } };
    return this.choice.value ? { target: JSON.parse(this.choice.value) } : {};
  }
}
