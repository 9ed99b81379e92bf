// Links that restore a question, and the question as a Python program, which Python parses.

import assert from "node:assert/strict";
import { asPython, fromFragment, toFragment } from "../../../portfolio/service/page/keep.js";
import { draws, python } from "../python.js";

const SIGNS = [...'aß"\\/+=&#%\n\u202e\u{1f600}\u0000'];
// Returns the row, the arguments of the call and the imported names of a program.
const PARSE = `
import ast, json, sys
tree = ast.parse(json.load(sys.stdin))
names = [name.name for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)) for name in node.names]
row = next(n.value for n in ast.walk(tree) if isinstance(n, ast.Assign) and n.targets[0].id == "row")
calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call)]
call = lambda end: next(c for c in calls if ast.unparse(c.func).endswith(end))
words = lambda each: {k.arg: ast.unparse(k.value) for k in each.keywords}
print(json.dumps({"row": ast.literal_eval(row), "settings": words(call("explain")), "client": words(call("Client")), "imported": sorted(names)}))
`;

describe("a link", () => {
  it("keeps every text", () => {
    const draw = draws(0);
    for (let round = 0; round < 30; round += 1) {
      const text = Array.from({ length: Math.floor(40 * draw()) }, () => SIGNS[Math.floor(SIGNS.length * draw())]).join("");
      const state = { model: text, features: { [`f${text}`]: { way: "fixed" } }, x: { a: null, [`g${text}`]: 1.5 } };
      const fragment = toFragment(state);
      assert.match(fragment, /^#q=[\w-]+$/);
      assert.deepEqual(fromFragment(fragment), state);
    }
  });

  it("is refused if it is damaged", () => {
    assert.equal(fromFragment(""), null);
    for (const damaged of ["#q=", "#q=%", "#q=e30", "#q=bnVsbA", "#q=eyJtb2RlbCI6MX0"]) {
      assert.throws(() => fromFragment(damaged), /damaged/, damaged);
    }
  });
});

describe("a program", () => {
  it("is Python with the same values", () => {
    const x = { "in'come": -1.5e-7, 'a"b': null, "ü\n": true, d: "x\\", e: 10 };
    const members = { time_limit_s: 5, target: { Probability: ["granted", 0.8] }, weights: { e: 2 } };
    const constraints = [{ Fixed: ["d"] }, { Range: { feature: "e", lower: 1 } }, { Allowed: ["d", ["x"]] }];
    const read = python(PARSE, asPython("http://localhost:1", "credit", { x, constraints, ...members }));
    assert.deepEqual(read.row, x);
    assert.deepEqual(read.settings, {
      time_limit_s: "5",
      target: "Probability('granted', 0.8)",
      weights: "{'e': 2}",
      constraints: "[Fixed('d'), Range(feature='e', lower=1), Allowed('d', ['x'])]",
    });
    assert.deepEqual(read.imported, ["Allowed", "Client", "Fixed", "Probability", "Range"]);
  });

  it("of several outputs imports their goals and reads its key", () => {
    const body = { x: { a: 1 }, constraints: [], target: { Price: { AtLeast: [3] } } };
    const read = python(PARSE, asPython("http://localhost:1", "two", body, true));
    assert.deepEqual(read.imported, ["AtLeast", "Client", "os"]);
    assert.deepEqual(read.client, { key: "os.environ['COUNTERFOLIO_KEY']" });
    assert.deepEqual(read.settings, { target: "{'Price': AtLeast(3)}" });
  });
});
