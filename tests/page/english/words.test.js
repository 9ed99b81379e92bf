// The catalogue of texts: both languages have every text, and the page uses no other.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import de from "../../../portfolio/service/page/words-de.js";
import en from "../../../portfolio/service/page/words-en.js";
import { visible } from "../../../portfolio/service/page/dom.js";
import { counted, say, worded } from "../../../portfolio/service/page/words.js";
import { html, scripts } from "../document.js";

const PROBLEM = /^problem\./;
const places = (text) => (text.match(/\{\w+\}/g) ?? []).sort();

describe("the catalogue", () => {
  it("has every text in both languages, with the same places", () => {
    const own = (texts) => Object.keys(texts).filter((name) => !PROBLEM.test(name)).sort();
    assert.deepEqual(own(en), own(de)); // problems of the server have English words of their own
    for (const [name, text] of Object.entries(en)) {
      assert(text && de[name], name);
      assert.deepEqual(places(text), places(de[name]), name);
    }
  });

  it("has the texts of the document", () => {
    const written = [...html.matchAll(/data-say="([^"]+)">([^<]*)</g)];
    assert(written.length > 40);
    for (const [, name, text] of written) assert.equal(text.replace(/\s+/g, " ").trim(), en[name]);
  });

  it("has the texts that scripts name", async () => {
    const named = (await scripts()).flatMap(([, text]) => [...text.matchAll(/say\("([^"]+)"/g)].map(([, name]) => name));
    assert(named.length > 100);
    for (const name of named) assert(name in en, name);
  });
});

describe("a script", () => {
  it("is a module of JavaScript", async () => {
    for (const [name, input] of await scripts()) {
      if (name !== "main.js") await import(`../../../portfolio/service/page/${name}`);
      else { // which starts the page
        const run = spawnSync(process.execPath, ["--input-type=module", "--check"], { input, encoding: "utf8" });
        assert.equal(run.status, 0, run.stderr);
      }
    }
  });
});

describe("a text", () => {
  it("isolates names of the other direction, and shows marks that a name contains", () => {
    const name = "עיר";
    const [isolated, plain, shown, damaged] = [name, "plain", "\u202eevil\u2069", `\ufdd1${name}`]
      .map((names) => visible(say("locked", { names })));
    assert.equal(isolated, `Locked: \u2068${name}\u2069.`);
    assert.equal(plain, "Locked: plain.");
    assert.equal(shown, "Locked: \\u202eevil\\u2069.");
    for (const text of [isolated, plain, shown, damaged]) {
      assert.equal(text.split("\u2068").length, text.split("\u2069").length);
      assert.doesNotMatch(text, /[\u202a-\u202e\u2066\u2067\ufdd0\ufdd1]/);
    }
  });

  it("counts one and several", () => {
    assert.deepEqual([counted(1, "row"), counted(2, "row")], ["1 row", "2 rows"]);
  });

  it("of a value that a feature cannot have says what to enter", () => {
    const detail = "Set 'allow_off_levels'.", known = { name: "home", value: 2, values: "rent, own" };
    assert.equal(worded({ detail, code: "not-a-value", arguments: known }), "2 is not a value of home. Enter one of these: rent, own.");
    const whole = { name: "age", value: 33.5, low: 18, high: 69 };
    assert.equal(worded({ detail, code: "no-whole-number", arguments: whole }), "33.5 is not a value of age. Enter a whole number from 18 to 69.");
  });

  it("of a problem without words is that of the server", () => {
    assert.equal(worded({ detail: "New.", code: "unheard-of", arguments: { name: "a" } }), "New.");
    assert.equal(worded({ detail: "Plain." }), "Plain.");
  });
});
