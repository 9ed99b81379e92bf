// A range of a feature: two sliders below its distribution, on the same scale, beside typed limits.

import { el, replace } from "./dom.js";
import { spread } from "./spread.js";
import { say } from "./words.js";

const STEPS = 200; // about so many positions of a slider

export class RangeSlider {
  // ends: inputs of the lower and the upper limit; empty without a limit
  // quantity(number): returns a number with its unit; onSet(): called after a slider was moved
  constructor(feature, ends, quantity, onSet) {
    this.feature = feature;
    this.ends = ends;
    this.quantity = quantity;
    this.scale = scaleOf(feature);
    this.marks = [];
    this.picture = el("div", { class: "picture" });
    this.sliders = !this.scale ? [] : ["least", "most"].map((name, k) => el("input", { type: "range",
      min: this.scale.least, max: this.scale.most, step: this.scale.unit,
      "aria-label": say(`slider.${name}`, { name: feature.name }),
      oninput: () => this.moved(k, onSet) }));
    for (const end of ends) end.addEventListener("input", () => this.draw());
    this.part = el("div", { class: "slider", hidden: !this.scale }, this.picture,
      el("div", { class: "track" }, this.sliders));
  }

  // Writes the limit of a slider that was moved, which does not pass the other.
  moved(k, onSet) {
    const { least, most, decimals } = this.scale;
    const others = Number(this.sliders[1 - k].value);
    const value = k === 0 ? Math.min(Number(this.sliders[0].value), others) : Math.max(Number(this.sliders[1].value), others);
    this.ends[k].value = value === (k === 0 ? least : most) ? "" : String(Number(value.toFixed(decimals)));
    this.draw();
    onSet();
  }

  // Draws the limits, and the marks of the row and of its answer.
  draw(marks = this.marks) {
    this.marks = marks;
    if (!this.scale) return;
    const { least, most } = this.scale, ends = [least, most];
    const limits = this.ends.map((end, k) => (end.value === "" || !end.validity.valid ? ends[k] : Number(end.value)));
    this.sliders.forEach((slider, k) => {
      slider.value = limits[k];
      slider.setAttribute("aria-valuetext", this.ends[k].value === "" ? say("slider.none") : this.quantity(limits[k]));
    });
    // Where both are at one place, the one that can still be moved is above.
    this.sliders[0].classList.toggle("front", limits[0] > (least + most) / 2);
    replace(this.picture, spread(this.feature, this.marks, this.scale, limits));
  }
}

// Returns the ends of a feature's scale and the unit of its sliders; null without a range.
export function scaleOf({ lower, upper, step, kind, values, distribution }) {
  const known = [lower, upper, ...(distribution?.quartiles ?? [])].filter(Number.isFinite);
  const low = Math.min(...known), high = Math.max(...known);
  if (!(high > low) || !Number.isFinite(high - low)) return null;
  const usual = nice((high - low) / STEPS);
  const whole = kind === "ordinal" && values.every(Number.isInteger);
  const unit = step ? step * Math.max(1, Math.round(usual / step)) : whole ? Math.max(1, usual) : usual;
  const smallest = step || unit;
  let decimals = 0;
  while (decimals < 20 && Math.abs(Number(smallest.toFixed(decimals)) - smallest) > 1e-9 * smallest) decimals += 1;
  const tidy = (value) => Number(value.toFixed(decimals));
  return { least: tidy(Math.floor(low / unit) * unit), most: tidy(Math.ceil(high / unit) * unit), unit: tidy(unit), decimals };
}

// Returns the least of 1, 2 and 5 times a power of ten that is not below a number.
function nice(number) {
  const power = 10 ** Math.floor(Math.log10(number));
  return [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= number * (1 - 1e-9));
}
