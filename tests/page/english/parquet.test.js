// The footer of Parquet files, which pyarrow has written.

import assert from "node:assert/strict";
import { footerOf } from "../../../portfolio/service/page/parquet.js";
import { draws, python } from "../python.js";

// Writes tables of several types and versions; nested columns and those of other types have one name each.
const WRITE = `
import base64, io, json
import pandas as pd, pyarrow as pa, pyarrow.parquet as pq
tables = [
    pa.table({"age": [1, 2], "עיר": ["a", None], "w" * 300: [0.5, 1.5], "": [True, False]}),
    pa.table({"nested": [{"a": {"b": 1}, "c": [1, 2]}], "list": [["x"]], "map": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8()))
        , "last": pa.array([1], pa.timestamp("us", "UTC")), "price": pa.array([1], pa.decimal128(9, 2)), "kind": pa.array(["a"]).dictionary_encode()}),
    pa.Table.from_pandas(pd.DataFrame({"a": range(5)}, index=list("abcde"))),
    pa.table({f"column {k}": range(30) for k in range(40)}),
    pa.table({"a": pa.array([], pa.int64())}),
]
written = []
for table in tables:
    for options in ({}, {"version": "1.0", "compression": "none"}, {"row_group_size": 7, "data_page_version": "2.0"}):
        file = io.BytesIO()
        pq.write_table(table, file, **options)
        written.append([base64.b64encode(file.getvalue()).decode(), table.column_names, table.num_rows])
print(json.dumps(written))
`;

describe("the footer of a Parquet file", () => {
  let files = [];
  before(() => {
    files = python(WRITE).map(([content, names, rows]) => ({ bytes: Buffer.from(content, "base64"), names, rows }));
  });

  it("has the names of the columns and the number of rows", async () => {
    for (const { bytes, names, rows } of files) assert.deepEqual(await footerOf(new Blob([bytes])), { names, rows });
  });

  it("is refused if the file is damaged", async () => {
    const draw = draws(0), refused = async (bytes) => footerOf(new Blob([bytes])).then(() => 0, (error) => {
      assert(error instanceof RangeError || error instanceof TypeError, error.stack);
      return 1;
    });
    const [{ bytes }] = files;
    for (const part of [bytes.subarray(0, 0), bytes.subarray(0, 5), bytes.subarray(0, -1), Buffer.from("PAR1\0\0\0\0PAR1"),
      Buffer.from("PAR1\xff\xff\xff\xffPAR1", "latin1")]) assert.equal(await refused(part), 1, part.length);
    let count = 0;
    for (let round = 0; round < 300; round += 1) {
      const damaged = Buffer.from(bytes), at = bytes.length - 8 - Math.floor(300 * draw());
      damaged[at] = Math.floor(256 * draw());
      count += await refused(damaged);
    }
    assert(count > 0); // and none of them hangs
  });
});
