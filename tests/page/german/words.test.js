// Texts of the page for German readers.

import assert from "node:assert/strict";
import { language, worded } from "../../../portfolio/service/page/words.js";

describe("a problem of the server", () => {
  it("has German words if the catalogue has its code", () => {
    assert.equal(language, "de");
    assert.match(worded({ detail: "Old.", code: "closing" }), /^Der Server wird beendet\./);
    assert.equal(worded({ detail: "Plain." }), "Plain.");
    assert.equal(worded({ detail: "New.", code: "unheard-of", arguments: { name: "a" } }), "New.");
  });
});
