// Numbers as the page writes them, and the scales of sliders and charts.

import assert from "node:assert/strict";
import { headline } from "../../../portfolio/service/page/answer.js";
import { distinct, short, toward, visible } from "../../../portfolio/service/page/dom.js";
import { nearest } from "../../../portfolio/service/page/form.js";
import { barChart, rangeChart } from "../../../portfolio/service/page/plots.js";
import { goalWords } from "../../../portfolio/service/page/sentences.js";
import { scaleOf } from "../../../portfolio/service/page/slider.js";
import { draws } from "../python.js";

// Returns numbers of many sizes and both signs.
function numbers(seed) {
  const draw = draws(seed);
  return Array.from({ length: 50 }, () => (2 * draw() - 1) * 10 ** Math.floor(15 * draw() - 6));
}

describe("a number", () => {
  it("has as many digits as it needs", () => {
    assert.equal(short(1123.4), "1123");
    assert.equal(short(0.0452974), "0.0453");
    assert.equal(short(null), "missing");
    assert.deepEqual(distinct(0.50001, 0.50002), ["0.50001", "0.50002"]);
    assert.deepEqual(distinct(2, 2), ["2", "2"]);
    for (const value of numbers(1)) {
      assert(Math.abs(Number(short(value)) - value) <= Math.max(0.005 * Math.abs(value), Math.abs(value) < 100 ? 0 : 0.5));
    }
  });

  it("is rounded to a limit that still holds", () => {
    assert.equal(toward(26.2117, true, 4), 26.22);
    assert.equal(toward(26.2117, false, 4), 26.21);
    for (const value of numbers(2)) {
      for (const upper of [true, false]) {
        const near = toward(value, upper, 4);
        assert(upper ? near >= value : near <= value);
        assert(Math.abs(near - value) <= 0.001 * Math.abs(value));
      }
    }
  });

  it("is changed to a value that its feature can have", () => {
    assert.equal(nearest({ kind: "ordinal", values: [], step: null }, 36.3), 36);
    assert.equal(nearest({ kind: "ordinal", values: [1, 2, 5, 9], step: null }, 6.6), 5);
    assert.equal(nearest({ kind: "numeric", values: [], step: 0.25 }, 0.7), 0.75);
    assert.equal(nearest({ kind: "numeric", values: [], step: null }, 1.1 * 0.3), 0.33);
  });
});

describe("a text", () => {
  it("shows marks that change its direction", () => {
    assert.equal(visible("a\u202eevil\u0007"), "a\\u202eevil\\u0007");
  });

  it("of a proved answer has a short cost", () => {
    const answer = { status: "optimal", changes: [{}], counterfactual: {}, message: "" };
    const costs = { distance: 0.18540510335060903, lower_bound: 0.18540510335060897 };
    assert(headline({ ...answer, ...costs })[1].endsWith("1 change, cost 0.185."));
  });

  it("names rows that miss a limit", () => {
    assert.equal(goalWords({ AtLeast: [3] }, null, true), "a prediction below 3");
    assert.equal(goalWords({ AtMost: [3] }, null, true), "a prediction above 3");
    assert.equal(goalWords(null, "granted", true), "not granted");
  });
});

describe("the scale of a slider", () => {
  for (const [feature, least, most, unit] of [
    [{ lower: 18, upper: 79, kind: "ordinal" }, 18, 79, 1],
    [{ lower: 0, upper: 100_000, kind: "ordinal" }, 0, 100_000, 500],
    [{ lower: 6.981, upper: 28.11, kind: "numeric" }, 6.8, 28.2, 0.2],
    [{ lower: 0.05, upper: 0.1634, kind: "numeric" }, 0.05, 0.164, 0.001],
    [{ lower: -3, upper: 7, kind: "numeric", step: 0.25 }, -3, 7, 0.25],
    [{ lower: 2.5, upper: 2.5, kind: "numeric" }, null],
    [{ lower: null, upper: null, kind: "numeric" }, null],
  ]) {
    it(`contains the range in round steps: ${feature.lower} to ${feature.upper}`, () => {
      const scale = scaleOf({ step: null, values: [], distribution: null, ...feature });
      if (least === null) assert.equal(scale, null);
      else assert.deepEqual([scale.least, scale.most, scale.unit], [least, most, unit]);
    });
  }
});

describe("a chart", () => {
  const lengths = (part) => [...part.querySelectorAll("rect.bar")].map((bar) => Number(bar.getAttribute("width")));
  const labels = (part) => [...part.querySelectorAll(".plot > text:not(.name)")].map((text) => text.textContent);

  it("has bars in proportion to their numbers, and an axis from 0", () => {
    const part = document.createElement("figure");
    part.append(barChart([["a", 4], ["b", 8]], { unit: "rows", width: 500, bound: 10 }));
    const [first, second] = lengths(part);
    assert(Math.abs(second - 2 * first) < 1e-9);
    assert.deepEqual(labels(part).slice(0, 3), ["0", "5", "10"]);
    const [, bound] = part.querySelector("path.lower").getAttribute("d").match(/^M(\S+) /);
    assert(Math.abs(Number(bound) - 10 - 2.5 * first) < 1e-9); // the axis begins 10 pixels from the edge
    assert.equal(part.firstChild.getAttribute("aria-label"), "rows. a: 4; b: 8");
  });

  it("draws ranges within its width, open ones to its end, and names without a number", () => {
    const part = document.createElement("figure");
    const lines = [["a", { low: 1, high: 1, ci_low: 0.5, ci_high: 2 }, "1"], ["b", { low: 1, high: null, ci_low: null, ci_high: null }, "1 to any"],
      ["c", null, "none known"]];
    part.append(rangeChart(lines, { unit: "cost", width: 400 }));
    const [dot] = part.querySelectorAll("circle.dot");
    const [, from, to] = part.querySelector("path.interval").getAttribute("d").match(/^M(\S+) \S+H(\S+)$/).map(Number);
    assert(from < Number(dot.getAttribute("cx")) && Number(dot.getAttribute("cx")) < to);
    const [, , open] = part.querySelector("path.open-range").getAttribute("d").match(/^M(\S+) \S+H(\S+)$/).map(Number);
    assert(to < open && open <= 400);
    assert.deepEqual([...part.querySelectorAll("text.name")].map((text) => text.textContent.replace(/^(.*)\1$/, "$1")),
      ["a: 1", "b: 1 to any", "c: none known"]);
  });

  it("cuts long names, which are shown whole on pointing", () => {
    const part = document.createElement("figure"), name = "w".repeat(300);
    part.append(barChart([[name, 1]], { unit: "rows", width: 300 }));
    const [shown, whole] = part.querySelector("text.name").childNodes;
    assert(shown.textContent.length < 45 && whole.textContent === name);
  });
});
