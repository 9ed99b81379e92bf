// The columns of a Parquet file and the number of its rows, from its footer: a struct of Thrift's compact protocol.

const MAGIC = "PAR1", TAIL = 8; // bytes after the footer: its length, and the magic number
const SCHEMA = 2, ROWS = 3, NAME = 4, CHILDREN = 5; // fields of the file's metadata, and of an element of the schema

// Returns {names, rows} of a Blob; throws a RangeError if it is no valid Parquet file.
export async function footerOf(file) {
  const tail = new DataView(await file.slice(Math.max(0, file.size - TAIL)).arrayBuffer());
  if (tail.byteLength < TAIL || letters(new Uint8Array(tail.buffer, 4)) !== MAGIC) throw new RangeError("no Parquet file");
  const start = file.size - TAIL - tail.getUint32(0, true);
  if (start < MAGIC.length) throw new RangeError("the footer is too long");
  const { [SCHEMA]: schema, [ROWS]: rows } = new Footer(new Uint8Array(await file.slice(start, file.size - TAIL).arrayBuffer())).struct(ROWS);
  if (!Array.isArray(schema) || typeof rows !== "number") throw new RangeError("the footer has no schema");
  return { names: topLevel(schema), rows };
}

const letters = (bytes) => String.fromCharCode(...bytes);

// Returns the names of the columns of a schema, whose elements are listed depth first.
function topLevel([root, ...elements]) {
  const names = [];
  let at = 0;
  for (let k = 0; k < root[CHILDREN]; k += 1) {
    names.push(new TextDecoder().decode(elements[at][NAME]));
    for (let open = 1; open > 0; at += 1) open += (elements[at][CHILDREN] ?? 0) - 1;
  }
  return names;
}

class Footer {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  take(count) {
    if (!(count <= this.bytes.length - this.at)) throw new RangeError("the footer ends early");
    this.at += count;
    return this.bytes.subarray(this.at - count, this.at);
  }

  unsigned() {
    for (let value = 0, factor = 1; ; factor *= 128) {
      const [byte] = this.take(1);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  signed() {
    const value = this.unsigned();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  // Returns the values of a struct by the numbers of its fields, up to a field.
  struct(last = Infinity) {
    const values = {};
    for (let field = 0; field < last;) {
      const [head] = this.take(1);
      if (head === 0) break;
      field = head >> 4 ? field + (head >> 4) : this.signed();
      values[field] = this.value(head & 15);
    }
    return values;
  }

  list() {
    const [head] = this.take(1), count = head >> 4 === 15 ? this.unsigned() : head >> 4, values = [];
    while (values.length < count) values.push(this.value(head & 15));
    return values;
  }

  value(type) {
    if (type === 1 || type === 2) return type === 1; // of a field
    if (type === 3) return this.take(1)[0];
    if (type >= 4 && type <= 6) return this.signed();
    if (type === 7) return this.take(8);
    if (type === 8) return this.take(this.unsigned());
    if (type === 9 || type === 10) return this.list();
    if (type === 12) return this.struct();
    throw new RangeError("the footer has a value of unknown type");
  }
}
