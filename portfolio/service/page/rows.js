// Rows to start from: training rows that the server shows, pasted text, and dropped files.

import { byId, el, isolated, replace, short } from "./dom.js";
import { decode, parseTable } from "./csv.js";
import { counted, say } from "./words.js";

const MOST_SHOWN = 4; // values in the description of a row
const MOST_OF_FILE = 200;

export class RowChooser {
  // find(parameters): requests training rows; take(row, words): fills the form
  constructor(find, take) {
    this.find = find;
    this.take = take;
    this.search = 0;
    this.classes = [];
    byId("choosing").addEventListener("submit", (event) => {
      event.preventDefault();
      this.seed = Math.floor(Math.random() * 2 ** 32);
      this.show(0);
    });
  }

  // Prepares the filters for a model.
  describe({ rows, classes, boundary, outputs }) {
    this.search += 1; // a response that is still to come is about another model
    this.classes = classes;
    byId("choosing-part").hidden = !rows;
    const filtered = classes.length > 0 && Object.keys(outputs).length === 0;
    byId("predicted-part").hidden = !filtered;
    replace(byId("predicted"), el("option", { value: "" }, say("target.any")),
      classes.map((label, k) => el("option", { value: k }, short(label))));
    for (const option of byId("order").options) option.hidden = option.value === "boundary" && !boundary;
    byId("order").value = "index";
    byId("at").value = "";
    replace(byId("rows-found"));
    replace(byId("file-rows"));
  }

  async show(offset) {
    const search = ++this.search;
    const members = { order: byId("order").value, offset, seed: this.seed ?? 0 };
    if (byId("predicted").value) members.predicted = String(this.classes[Number(byId("predicted").value)]);
    if (byId("at").value) members.index = byId("at").value;
    if (byId("containing").value) members.text = byId("containing").value;
    const out = byId("rows-found");
    try {
      const { total, rows } = await this.find(members);
      if (search !== this.search) return;
      const buttons = rows.map(({ index, row, prediction }) => this.choice(row,
        prediction === null ? say("rows.row", { index }) : say("rows.use", { index, prediction: short(prediction) }),
        say("rows.taken", { index })));
      const more = offset + rows.length < total
        ? el("button", { type: "button", onclick: () => this.show(offset + rows.length) }, say("rows.more")) : null;
      replace(out, el("p", {}, total ? say("rows.found", { count: counted(total, "row") }) : say("rows.none")),
        el("ul", { class: "choices" }, buttons), more);
    } catch (error) {
      if (search === this.search) replace(out, el("p", { role: "alert" }, error.message));
    }
  }

  // Returns a list item with a button that fills in a row.
  choice(row, title, taken) {
    const some = Object.entries(row).slice(0, MOST_SHOWN).map(([name, value]) => isolated(`${name} ${short(value)}`));
    const take = () => {
      this.take(row, taken);
      byId("decision").scrollIntoView({ block: "nearest" }); // a long list stands above it
    };
    return el("li", {}, el("button", { type: "button", onclick: take },
      el("strong", {}, title),
      el("span", { class: "quiet" }, some.flatMap((each, k) => (k ? [", ", each] : [each])))));
  }

  // Offers the rows of a file; rowsOf(text): returns those of JSON.
  async open(file, rowsOf) {
    const { text } = decode(new Uint8Array(await file.arrayBuffer()));
    this.offer(/\.json$/i.test(file.name) ? rowsOf(text) : parseTable(text));
  }

  // Offers rows; fills in the only one at once, and returns whether that was done.
  offer(rows) {
    replace(byId("file-rows"));
    if (rows.length === 0) throw new Error(say("csv.empty"));
    if (rows.length === 1) return this.take(rows[0], say("rows.filled"));
    const more = rows.length > MOST_OF_FILE ? ` ${say("rows.first", { count: MOST_OF_FILE })}` : "";
    replace(byId("file-rows"), el("p", {}, say("rows.dropped", { count: counted(rows.length, "row") }) + more),
      el("ul", { class: "choices" }, rows.slice(0, MOST_OF_FILE).map((row, at) =>
        this.choice(row, say("rows.line", { at: at + 1 }), say("rows.filled")))));
    return false;
  }
}
