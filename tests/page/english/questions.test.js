// Questions in words, answers beside each other, and the values of a region.

import assert from "node:assert/strict";
import { Comparison } from "../../../portfolio/service/page/compare.js";
import { stepsOf } from "../../../portfolio/service/page/groups.js";
import { radii } from "../../../portfolio/service/page/more.js";
import { inward, spanWords } from "../../../portfolio/service/page/region.js";
import { conditions, goalWords, scoreWords } from "../../../portfolio/service/page/sentences.js";
import { draws } from "../python.js";

const RANGE = { Score: { low: 1, high: 2.5 } };

describe("a desired prediction", () => {
  it("may be a range of a number", () => {
    assert.equal(goalWords(RANGE, ""), "a prediction from 1 to 2.5");
    assert.equal(goalWords(RANGE, "", true), "a prediction outside of 1 to 2.5");
    assert.equal(goalWords({ Score: { AtLeast: [3] }, b: "yes" }), "Score: a prediction of at least 3, b: yes"); // an output's name
  });

  it("has a score of its own", () => {
    assert.equal(scoreWords({ AtLeast: [3] }, "AtLeast(value=3)"), "Prediction of the model");
    assert.equal(scoreWords(RANGE, "Score(low=1, high=2.5)"), "Prediction of the model");
    assert.equal(scoreWords({ Probability: ["yes", 0.8] }, "Probability('yes')"), "Score of the model for yes");
    assert.equal(scoreWords(undefined, "no"), "Score of the model for no");
    assert.equal(scoreWords({ a: 1, b: 0 }, ""), "Score of the model for a: 1, b: 0");
  });
});

describe("the conditions of a question", () => {
  it("are what it demands", () => {
    const form = { now: () => "47 years", written: (name, value) => String(value) };
    const body = { target: "yes", constraints: [{ Fixed: ["age"] }, { Range: { feature: "b", lower: 1 } }, { MaxChanges: [2] }],
      norm: 0, weights: { b: 2 } };
    assert.deepEqual(conditions(body, form), ["yes", "age must stay at 47 years", "b must be at least 1", "At most 2 changes",
      "number of changed features", "b: harder (costs twice)"]);
    assert.deepEqual(conditions({ constraints: [] }, form), []);
  });
});

describe("a comparison", () => {
  const answer = (to) => ({ status: "optimal", distance: to, counterfactual: { a: to }, score: 1, score_before: 0,
    changes: [{ feature: "a", from: 0, to, cost: to }] });
  const cells = (at) => [...document.querySelectorAll("#comparison tr")].map((row) => row.children[at].textContent);

  it("keeps the answers to other questions about the same row", () => {
    const comparison = new Comparison(() => {});
    comparison.begin({ a: 0 }, new Map(), []);
    assert(comparison.add(null, answer(1)));
    assert(!cells(0).includes("Conditions"));
    comparison.begin({ a: 0 }, new Map(), ["b must not change"]);
    assert(!comparison.add(null, answer(1))); // which is there
    assert(comparison.add(null, answer(2)));
    assert.deepEqual(cells(0).slice(0, 6), ["Feature", "Cost", "Proof", "Score", "Conditions", "a"]);
    assert.deepEqual([1, 2, 3].map((at) => cells(at)[0]), ["The row", "Answer 1", "Answer 2"]);
    assert.deepEqual([1, 2, 3].map((at) => cells(at)[4]), ["", "", "b must not change"]);
    comparison.remove(comparison.entries[0]);
    comparison.add(null, answer(3));
    assert.deepEqual([2, 3].map((at) => cells(at)[0]), ["Answer 2", "Answer 3"]);
    comparison.begin({ a: 1 }, new Map(), []);
    assert.deepEqual(comparison.entries, []);
  });
});

describe("the values of a region", () => {
  it("have few digits and gain no value", () => {
    const span = (words) => ({ labels: [], lower: 0, words });
    assert.equal(spanWords(span("at least 3625.975 and at most 3908.7901"), "euros"), "at least 3626 and at most 3908\u00a0euros");
    assert.equal(spanWords(span("at least 4009.2, or missing"), "euros"), "at least 4010\u00a0euros, or missing");
    assert.equal(spanWords(span("above 0.123456"), null), "above 0.1235");
    assert.equal(inward("at least 3.00001 and at most 3.00002"), "at least 3.00001 and at most 3.00002");
    const draw = draws(0);
    for (let round = 0; round < 200; round += 1) {
      const low = (draw() - 0.5) * 10 ** Math.floor(8 * draw()), high = low + draw() * 10 ** Math.floor(4 * draw() - 4);
      const [from, to] = inward(`at least ${low} and at most ${high}`).match(/-?\d[\d.e+-]*/g).map(Number);
      assert(low <= from && from < to && to <= high, `${low} ${high}: ${from} ${to}`);
    }
  });
});

describe("a step of an action", () => {
  it("has the unit of its feature, and is rounded so that it is enough", () => {
    const steps = [{ feature: "income", way: "at least", value: 3910.301 }, { feature: "debt", way: "at most", value: 12305.9 },
      { feature: "home", way: "becomes", value: "own" }];
    assert.deepEqual(stepsOf({ steps }, new Map([["income", "euros"]])),
      ["raise income to at least 3911\u00a0euros", "lower debt to at most 12305", "change home to own"]);
    assert.deepEqual(stepsOf({ steps: [] }, new Map()), ["change nothing"]);
  });
});

describe("a robust answer", () => {
  it("may differ by a share of the range of each number", () => {
    const features = [{ name: "income", kind: "numeric", lower: 100, upper: 300 }, { name: "one", kind: "ordinal", lower: 2, upper: 2 },
      { name: "home", kind: "categorical" }];
    assert.deepEqual(radii(features), { income: 2 });
  });
});
