// Texts of the page for German readers.

import assert from "node:assert/strict";
import { headline } from "../../../portfolio/service/page/answer.js";
import { goal } from "../../../portfolio/service/page/burden.js";
import { distinct, short } from "../../../portfolio/service/page/dom.js";
import { language, say, worded } from "../../../portfolio/service/page/words.js";

describe("a problem of the server", () => {
  it("has German words if the catalogue has its code", () => {
    assert.equal(language, "de");
    assert.match(worded({ detail: "Old.", code: "closing" }), /^Der Server wird beendet\./);
    assert.equal(worded({ detail: "Plain." }), "Plain.");
    assert.equal(worded({ detail: "New.", code: "unheard-of", arguments: { name: "a" } }), "New.");
  });
});

describe("a value that a feature cannot have", () => {
  it("has no English words", () => {
    const whole = { name: "age", value: 33.5, low: 18, high: 69 };
    assert.equal(worded({ detail: "English.", code: "no-whole-number", arguments: whole }),
      "33,5 ist kein Wert von age. Verwenden Sie eine ganze Zahl von 18 bis 69.");
  });
});

describe("a number", () => {
  it("has a decimal comma, in tables and in sentences", () => {
    assert.equal(short(0.0452974), "0,0453");
    assert.deepEqual(distinct(0.50001, 0.50002), ["0,50001", "0,50002"]);
    assert.equal(say("demand.margin", { margin: 0.25 }), "die Klasse muss vor jeder anderen um 0,25 führen");
    const answer = { status: "optimal", changes: [{}], counterfactual: {}, message: "" };
    assert.match(headline({ ...answer, distance: 0.1854, lower_bound: 0.1854 })[1], / 1 Änderung, Kosten 0,185\.$/);
  });

  it("that names something keeps its text", () => {
    assert.equal(short("1.5"), "1.5");
  });
});

describe("the desired prediction of many rows", () => {
  it("is in words", () => {
    assert.equal(goal({ target: { AtLeast: [2.5] } }), "Gewünschte Vorhersage: eine Vorhersage von mindestens 2,5.");
    assert.equal(goal({ target: { Probability: ["ja", 0.8] } }),
      "Gewünschte Vorhersage: eine Wahrscheinlichkeit von ja von mindestens 0,8.");
    assert.match(goal({}), /^Keine gewünschte Vorhersage/);
  });
});
