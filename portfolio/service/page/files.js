// The file of many rows: what was recognised in it, which can be changed, and its content for the server.

import { converted, decode, ENCODINGS, recognise, SEPARATORS, writeLines } from "./csv.js";
import { byId, el, replace, table } from "./dom.js";
import { footerOf } from "./parquet.js";
import { counted, say } from "./words.js";

const CSV = "text/csv", PARQUET = "application/vnd.apache.parquet";
const PREVIEWED = 3, NAMED = 8; // rows of the preview, and columns that a sentence lists
const SAMPLE = 500; // training rows
const INDEX = "__index_level_"; // of columns in which pandas stores an index
const FORMATS = { PAR1: "parquet", ARRO: "Arrow", FEA1: "Feather", "PK\u0003\u0004": "Excel", "SQLi": "SQLite" }; // by their first bytes

export class ManyFile {
  // find(parameters): requests training rows; notify(text, failed)
  // heard(names): hears the further columns of a file, which the model does not have
  constructor({ find, heard, notify }) {
    Object.assign(this, { find, heard });
    this.features = [];
    this.read = null; // of the file that is chosen
    byId("many-file").addEventListener("change", () => this.open());
    byId("many-file").addEventListener("click", (event) => {
      event.target.value = ""; // so that the same file can be chosen again
    });
    byId("many").addEventListener("dragover", (event) => event.preventDefault());
    byId("many").addEventListener("drop", (event) => {
      event.preventDefault();
      byId("many-file").files = event.dataTransfer.files;
      this.open();
    });
    byId("many-sample").firstElementChild.addEventListener("click", async (event) => {
      event.target.disabled = true;
      await this.sample().catch((error) => notify(error.message, true));
      event.target.disabled = false;
    });
  }

  // Takes training rows, all of them or a random part.
  async sample() {
    const { features } = this, seed = Math.floor(Math.random() * 2 ** 32), found = [];
    let total = SAMPLE;
    while (found.length < Math.min(total, SAMPLE)) {
      const page = await this.find({ order: "random", seed, offset: found.length });
      if (!page.rows.length) break;
      ({ total } = page);
      found.push(...page.rows.map(({ row }) => row));
    }
    if (features !== this.features) return; // another model was chosen meanwhile
    const names = Object.keys(found[0] ?? {}), rows = found.slice(0, SAMPLE);
    const cell = (value) => (value === null ? "" : String(value));
    byId("many-file").value = "";
    this.read = { present: names, training: say("file.training", { rows: counted(rows.length, "row"), total }),
      content: new Blob([writeLines([names, ...rows.map((row) => names.map((name) => cell(row[name])))])], { type: CSV }) };
    this.draw();
  }

  // Reads the file again as one for a model.
  describe({ features, rows }) {
    this.features = features;
    byId("many-sample").hidden = !rows;
    if (this.read?.training) this.read = null; // of another model
    return this.draw();
  }

  async open() {
    const [file] = byId("many-file").files;
    this.read = null;
    if (file) {
      const first = String.fromCharCode(...new Uint8Array(await file.slice(0, 4).arrayBuffer())), format = FORMATS[first] ?? null;
      const footer = format === "parquet" ? await footerOf(file).catch(() => null) : null;
      this.read = { file, format, footer, bytes: format ? null : new Uint8Array(await file.arrayBuffer()), chosen: {}, content: null };
    }
    this.draw();
  }

  // Returns the rows as a Blob; throws an Error if the file cannot be used as it is read.
  content() {
    if (this.read?.content) return this.read.content;
    throw new Error(this.read?.problem ?? say("file.none"));
  }

  // Returns the names of columns that the file lacks, as far as that is known.
  lacking(names) {
    return names.filter((name) => this.read?.present && !this.read.present.includes(name));
  }

  draw() {
    const { read } = this, part = byId("file-read");
    if (!read) {
      this.heard([]);
      return replace(part);
    }
    if (read.training) {
      this.heard([]);
      return replace(part, el("p", { role: "status" }, read.training));
    }
    if (read.format) return replace(part, read.footer ? this.parquet(read) : this.unreadable(read));
    const focused = document.activeElement?.id;
    replace(part, this.parts());
    if (focused) document.getElementById(focused)?.focus();
    return undefined;
  }

  // Returns what was recognised, as elements.
  parts() {
    const { read, read: { chosen } } = this;
    const { text, encoding } = decode(read.bytes, chosen.encoding);
    Object.assign(read, { content: null, problem: null });
    const choices = (separator, decimal) => [
      this.choice("separator", SEPARATORS, separator, (each) => say(`separator.${SEPARATORS.indexOf(each)}`)),
      this.choice("decimal", [".", ","], decimal, (each) => say(`decimal.${each}`)),
      this.choice("encoding", ENCODINGS, encoding, (each) => each.toUpperCase())];
    try {
      const found = recognise(text, this.columns(), chosen);
      const { lines, separator, decimal } = found, [names] = lines;
      const seen = say("file.read", { name: read.file.name, rows: counted(lines.length - 1, "row"), columns: counted(names.length, "column"),
        separator: say(`separator.${SEPARATORS.indexOf(separator)}`),
        decimal: decimal === null ? say("decimal.unknown") : say(`decimal.${decimal}`), encoding: encoding.toUpperCase() });
      return [el("p", { role: "status" }, seen), el("div", { class: "fields" }, choices(separator, decimal)),
        decimal === null ? this.alert(say("file.ask", { value: found.doubtful })) : this.rows(converted(found), decimal)].flat();
    } catch (error) {
      return [this.alert(say("rows.unusable", { reason: error.message })),
        el("div", { class: "fields" }, choices(chosen.separator ?? null, chosen.decimal ?? "."))];
    }
  }

  // Returns what the footer of a Parquet file says.
  parquet({ file, footer: { names, rows } }) {
    const seen = say("file.parquet", { name: file.name, rows: counted(rows, "row"), columns: counted(names.length, "column") });
    return [el("p", { role: "status" }, seen), this.known(names, new Blob([file], { type: PARQUET }))].flat();
  }

  unreadable({ file, format }) {
    this.heard([]);
    return [this.alert(say(format === "parquet" ? "file.damaged" : "file.format", { name: file.name, format }))];
  }

  // Returns which columns lack and which are new; keeps the content if it can be used.
  known(present, content) {
    const { names } = this.columns(), more = present.filter((name) => !names.includes(name.trim()) && !name.startsWith(INDEX));
    const lacking = names.filter((name) => !present.includes(name));
    Object.assign(this.read, { present, content: lacking.length ? null : content });
    this.heard(more);
    return [lacking.length ? this.alert(say("file.lacking", { names: listed(lacking) })) : null,
      more.length ? el("p", { class: "quiet" }, say("file.more", { names: listed(more) })) : null];
  }

  // Returns the names of the model's columns, and of those with numbers.
  columns() {
    const numbers = this.features.filter(({ labels, truth, columns }) => columns.length > 1 || (!truth && !labels.length));
    return { names: this.features.flatMap(({ columns }) => columns), numbers: numbers.flatMap(({ columns }) => columns) };
  }

  // Returns the first rows, and what is wrong with the file; keeps its content if it can be used.
  rows({ lines, wrong }, decimal) {
    const [head, ...rows] = lines;
    return [
      ...this.known(head.map((name) => name.trim()), new Blob([writeLines(lines)], { type: CSV })),
      wrong ? el("p", { role: "alert" }, say("file.wrong", { ...wrong, decimal: say(`decimal.${decimal}`) })) : null,
      el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("file.preview") },
        table(say("file.preview"), head, rows.slice(0, PREVIEWED).map((line) =>
          el("tr", {}, line.map((value) => el("td", {}, value)))))),
    ];
  }

  // Returns the message of a file that cannot be used as it is read.
  alert(words) {
    this.read.problem = words;
    return el("p", { role: "alert", class: "failed" }, words);
  }

  choice(name, values, value, words) {
    const options = values.map((each) => el("option", { value: each, selected: each === value }, words(each)));
    if (value === null) options.unshift(el("option", { value: "", selected: true }, say("file.choose")));
    return el("label", {}, el("span", {}, say(`file.${name}`)), " ", el("select", { id: `file-${name}`,
      onchange: (event) => {
        this.read.chosen[name] = event.target.value || undefined;
        this.draw();
      } }, options));
  }
}

export function listed(names) {
  return names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ", …" : "");
}
