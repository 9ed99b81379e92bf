// Tables and their numbers, compared with Python's csv module.

import assert from "node:assert/strict";
import { converted, decode, parseLines, parseTable, plainNumber, recognise, writeLines } from "../../../portfolio/service/page/csv.js";
import { python } from "../python.js";

const TABLES = `
import csv, io, json, random
NAMES = ["a", 'quoted "b"', "c,d", "line\\nbreak", "ünï", "__proto__", " spaced "]
CELLS = ["", "1", "-2.5e3", "x y", 'say "hi"', "a,b;c\\td", "two\\nlines", "Ω", "  ", "True"]
found = []
for separator in ",;\\t":
    for end in ("\\n", "\\r\\n"):
        drawn = random.Random(separator + end)
        for _ in range(20):
            names = ["id", *drawn.sample(NAMES, 3)]
            rows = [["7", *drawn.choices(CELLS, k=3)] for _ in range(drawn.randint(1, 5))]
            text = io.StringIO()
            csv.writer(text, delimiter=separator, lineterminator=end).writerows([names, *rows])
            read = list(csv.reader(io.StringIO(text.getvalue(), newline=""), delimiter=separator))
            found.append([text.getvalue(), [[c.replace("\\r", "") for c in line] for line in read]])
print(json.dumps(found))
`;
const NUMBERS = `
import csv, io, json, random
found = []
for separator in ",;\\t|":
    for decimal in ".,":
        drawn, other = random.Random(separator + decimal), "," if decimal == "." else "."
        for _ in range(10):
            numbers = [round(drawn.uniform(-2000, 2000), drawn.randint(1, 4)) for _ in range(12)]
            numbers.append(0.5)  # so that the decimal separator can be recognised
            texts = [f"{n:,}".replace(",", "t").replace(".", decimal) for n in numbers]
            texts = [text.replace("t", drawn.choice(["", other, " "])) for text in texts]
            text = io.StringIO()
            csv.writer(text, delimiter=separator).writerows([["a", "b"], *([t, "x"] for t in texts)])
            found.append([text.getvalue(), separator, decimal, numbers])
print(json.dumps(found))
`;
const READ = `
import csv, io, json, sys
print(json.dumps(list(csv.reader(io.StringIO(json.load(sys.stdin), newline="")))))
`;

describe("tables", () => {
  it("are read as Python reads them", () => {
    const tables = python(TABLES);
    assert.equal(tables.length, 120);
    for (const [text, lines] of tables) assert.deepEqual(parseLines(text), lines);
  });

  it("are written so that Python reads them", () => {
    const lines = [["a", 'b "c"'], ["1,5", "two\nlines"], ["", "x"]];
    assert.deepEqual(python(READ, writeLines(lines)), lines);
  });

  it("are refused in a sentence if they are damaged", () => {
    for (const [text, words] of [["", "no row"], ["a,b\n", "no row"], ["a,b\n1\n", "line 2 has 1 values"],
      ["a\n1\n2,3\n", "line 3 has 2 values"]]) {
      assert.throws(() => parseTable(text), (error) => error.message.includes(words), text);
    }
  });
});

describe("numbers of tables", () => {
  it("keep their values", () => {
    const tables = python(NUMBERS);
    assert.equal(tables.length, 80);
    for (const [text, separator, decimal, numbers] of tables) {
      const table = recognise(text);
      assert.deepEqual([table.separator, table.decimal], [separator, decimal]);
      const { lines, wrong } = converted(table);
      assert.equal(wrong, null);
      assert.deepEqual(lines.slice(1).map(([first]) => Number(first)), numbers);
    }
  });

  for (const [text, decimal, doubtful] of [
    ["a;b\n1,234;x\n", null, "1,234"],
    ["a;b\n1.234;x\n", null, "1.234"],
    ["a,b\n1.234,x\n", ".", undefined],
    ['a,b\n"1,234",x\n', null, "1,234"],
    ["a;b\n1,5;2.5\n", null, "1,5"],
    ["a;b\n1.234.567;x\n", ",", undefined],
    ["a;b\n0,234;x\n", ",", undefined],
    ["a;b\nx,y;1\n", ".", undefined],
  ]) {
    it(`are not guessed if they have two meanings: ${JSON.stringify(text)}`, () => {
      const table = recognise(text);
      assert.deepEqual([table.decimal, table.doubtful], [decimal, doubtful]);
      if (decimal === null) assert.throws(() => parseTable(text), /two meanings/);
    });
  }

  it("are kept and named if they are none", () => {
    const names = { names: ["a", "b"], numbers: ["a"] };
    const table = recognise("a;b;c\n1,5;2,5;7,0\n1.5;1,5;NA\nNA;;\n", names);
    assert.deepEqual([table.separator, table.decimal], [";", null]);
    const { lines, wrong } = converted({ ...table, decimal: "," });
    assert.deepEqual(wrong, { row: 2, name: "a", value: "1.5" });
    assert.deepEqual(lines.slice(1), [["1.5", "2,5", "7.0"], ["1.5", "1,5", "NA"], ["NA", "", ""]]);
    for (const [text, decimal, plain] of [
      ["1.5", ",", null], ["1,5", ".", null], ["1,50", ".", null], ["1,500", ".", "1500"],
      ["-1e-3", ",", "-1e-3"], ["e5", ".", null], [".5", ".", ".5"], ["1'000,5", ",", "1000.5"],
      ["12,34,567", ".", null], ["0,123", ".", null], ["", ".", null],
    ]) assert.equal(plainNumber(text, decimal), plain, text);
  });
});

describe("encodings", () => {
  const text = "name;größe\r\nÄ;1,5\r\n"; // Node.js 20 reads quotes of windows-1252 as control characters; a browser test has them
  for (const [encoding, found] of [["utf-8", "utf-8"], ["utf-8-sig", "utf-8"], ["utf-16", "utf-16le"], ["utf-16-be", "utf-16be"],
    ["cp1252", "windows-1252"]]) {
    it(`are recognised: ${encoding}`, () => {
      const program = `import json, sys; print(json.dumps(list(json.load(sys.stdin).encode("${encoding}"))))`;
      const mark = encoding === "utf-16-be" ? [0xfe, 0xff] : [];
      assert.deepEqual(decode(new Uint8Array([...mark, ...python(program, text)])), { text, encoding: found });
    });
  }
});
