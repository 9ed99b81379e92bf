// Form for the row and the allowed changes, made from the feature space.

import { parseLines, parseTable } from "./csv.js";
import { amount, byId, el, line, replace, short, withUnit } from "./dom.js";
import { RangeSlider } from "./slider.js";
import { endsOf, spread } from "./spread.js";
import { counted, say } from "./words.js";

const ORDERED = ["free", "fixed", "increase", "decrease", "range"], OTHERS = ["free", "fixed", "allowed"];
const DIFFICULTIES = [1, 0.5, 2, 5]; // factors of the costs of a feature
const UNCHANGEABLE = /(^|[^a-z])(age|sex|gender|race|ethnic\w*|nationality|native\w*|birth\w*)([^a-z]|$)/i;

export class RowForm {
  // features: of the model, as in /v1/models/{name}; example: values by column
  // onEdit(): called after every change of the row
  constructor(features, example, onEdit) {
    this.features = features;
    this.onEdit = onEdit;
    this.answer = null; // values by column that the pictures show as well
    this.fields = features.map((feature, k) => ({ feature, value: valueInput(feature, k),
      limits: new Limits(feature, k), picture: el("div", { class: "picture" }),
      mark: el("p", { class: "mark" }) }));
    this.units = new Map(features.map(({ name, unit }) => [name, unit])); // null without one
    this.places = new Map(features.map((feature, k) => [feature.name, k]));
    replace(byId("features").tBodies[0], this.fields.map(({ feature, value, limits, picture, mark }) => {
      const unit = feature.unit ? el("span", { class: "unit", id: `unit-${limits.place}` }, feature.unit) : null;
      const row = line(feature.name, el("td", {}, el("div", { class: "quantity" }, value, unit), picture),
        el("td", {}, limits.part, mark));
      row.firstChild.id = `name-${limits.place}`;
      value.addEventListener("input", () => this.edited());
      return row;
    }));
    if (example && Object.keys(example).length) this.fill(example);
    this.draw();
  }

  edited() {
    this.answer = null;
    this.draw();
    this.mark([], "");
    this.onEdit();
  }

  // Draws where the values lie, and those of an answer by column.
  draw(answer = this.answer) {
    this.answer = answer;
    for (const { feature, value, picture, limits } of this.fields) {
      const marks = [["now", value.validity.valid ? readValue(feature, value) : null]];
      const after = answer ? answeredValue(feature, answer) : undefined;
      if (after !== undefined && after !== marks[0][1]) marks.push(["then", after]);
      replace(picture, spread(feature, marks), endsOf(feature));
      limits.draw(marks);
    }
  }

  // Writes a text beside some features, until the row is edited.
  mark(names, words) {
    for (const { feature, mark } of this.fields) mark.textContent = names.includes(feature.name) ? words : "";
  }

  // Returns whether all values are filled in and valid.
  complete() {
    return this.fields.every(({ value }) => value.validity.valid);
  }

  // Returns the row by column, for a request.
  row() {
    const row = Object.create(null); // a column name may equal a member of every object
    for (const { feature, value } of this.fields) {
      const chosen = readValue(feature, value);
      if (feature.columns.length === 1) row[feature.columns[0]] = chosen;
      else feature.columns.forEach((column, k) => { row[column] = feature.labels[k] === chosen ? 1 : 0; });
    }
    return row;
  }

  // Changes a feature's number by a share of it, to the nearest value that the feature can have.
  // Returns the number before and after; throws an Error if it is missing.
  shift(name, share) {
    const { feature, value } = this.fields[this.places.get(name)];
    const before = value.validity.valid ? readValue(feature, value) : null;
    if (before === null) throw new Error(say("shift.missing", { name }));
    const after = nearest(feature, before + share * Math.abs(before));
    value.value = String(after);
    this.edited();
    return [before, after];
  }

  // Returns a text of a feature's number with its unit.
  quantity(name, text) {
    return withUnit(text, this.features[this.places.get(name)]?.unit);
  }

  // Returns a feature's value with few digits and its unit.
  written(name, value, digits = 4) {
    return amount(value, this.features[this.places.get(name)]?.unit, digits);
  }

  // Returns the value in the form of a feature.
  now(name, digits) {
    const field = this.fields[this.places.get(name)];
    if (!field) return "";
    const value = readValue(field.feature, field.value);
    const { labels, values } = field.feature;
    return this.written(name, field.feature.kind === "binary" && labels.length ? labels[values.indexOf(value)] ?? value : value, digits);
  }

  constraints() {
    return this.fields.flatMap(({ limits }) => limits.constraints());
  }

  // Returns the factors of costs by feature, without those that are 1.
  weights() {
    return Object.fromEntries(this.fields.map(({ feature, limits }) => [feature.name, limits.factor()])
      .filter(([, factor]) => factor !== 1));
  }

  // Returns the settings of allowed changes by feature, for a link.
  state() {
    return Object.fromEntries(this.fields.map(({ feature, limits }) => [feature.name, limits.state()])
      .filter(([, state]) => state !== null));
  }

  restore(states) {
    for (const { feature, limits } of this.fields) limits.restore(states[feature.name] ?? {});
  }

  // Locks features with names of what a person cannot change; returns their names.
  lockUnchangeable() {
    const found = this.fields.filter(({ feature }) => UNCHANGEABLE.test(feature.name));
    for (const { limits } of found) limits.restore({ way: "fixed" });
    return found.map(({ feature }) => feature.name);
  }

  // Fills in a row by column; columns that are missing keep their values.
  // Returns the names that are no columns; throws an Error, and fills in nothing, if a value is invalid.
  take(row) {
    const known = new Set(this.features.flatMap(({ name, columns }) => [name, ...columns]));
    const names = Object.keys(row ?? {}), ignored = names.filter((name) => !known.has(name));
    if (ignored.length === names.length) throw new Error(say("form.no-columns"));
    const before = this.fields.map(({ value }) => (value.options ? value.selectedIndex : value.value));
    try {
      this.fill(row);
    } catch (error) {
      this.fields.forEach(({ value }, k) => { value[value.options ? "selectedIndex" : "value"] = before[k]; });
      throw error;
    }
    this.edited();
    return ignored;
  }

  fill(row) {
    for (const { feature, value } of this.fields) {
      const chosen = valueOfRow(feature, row);
      if (chosen !== undefined) show(feature, value, chosen);
    }
  }

  // Returns the rows of a text: JSON, a table with names, or one line of values in the order of the form.
  rowsOf(text) {
    if (/^\s*[[{]/.test(text)) {
      const given = [JSON.parse(text)].flat();
      if (given.some((each) => each === null || typeof each !== "object")) return [this.byOrder(given)];
      return given.map((each) => (Array.isArray(each) ? this.byOrder(each) : each));
    }
    const lines = parseLines(text);
    return lines.length > 1 ? parseTable(text) : [this.byOrder((lines[0] ?? []).map((part) => part.trim()))];
  }

  byOrder(values) {
    const columns = this.features.flatMap((feature) => feature.columns);
    const names = values.length === columns.length ? columns : this.features.map((f) => f.name);
    if (values.length !== names.length) {
      throw new Error(say("form.count", { got: counted(values.length, "value"), names: counted(names.length, "feature") }));
    }
    return Object.fromEntries(names.map((name, k) => [name, values[k]]));
  }
}

// Returns the value of a feature with ordered values that is nearest to a number.
export function nearest({ kind, values, step }, number) {
  const tidy = (value) => Number(value.toPrecision(12)); // without the last digits of binary fractions
  if (values.length) return values.reduce((best, each) => (Math.abs(each - number) < Math.abs(best - number) ? each : best));
  if (kind === "ordinal") return Math.round(number);
  return tidy(step ? Math.round(number / step) * step : number);
}

// Returns a feature's value in a row by column; undefined if the row has none of its columns.
function valueOfRow(feature, row) {
  const valueIn = (name) => (Object.hasOwn(row, name) ? row[name] : undefined);
  const values = feature.columns.map(valueIn);
  if (values.every((each) => each === undefined)) return valueIn(feature.name);
  if (values.length === 1) return values[0];
  const at = values.findIndex((each) => Number(each) === 1);
  if (at < 0 && feature.labels.length > values.length) return feature.labels[values.length];
  if (at < 0 && !values.every((each) => each === null)) {
    throw new Error(say("form.no-column", { name: feature.name }));
  }
  return at < 0 ? null : feature.labels[at];
}

// Returns a feature's value in an answer, in the form of the pictures.
function answeredValue(feature, answer) {
  const value = valueOfRow(feature, answer);
  if (feature.kind !== "binary" || !feature.labels.length) return value;
  return feature.labels.includes(value) ? feature.values[feature.labels.indexOf(value)] : value;
}

// Controls for the allowed changes of one feature: a choice, with two bounds or a list for some.
class Limits {
  constructor(feature, place) {
    this.feature = feature;
    this.place = place;
    const ordered = isOrdered(feature);
    this.way = el("select", { "aria-label": say("form.way", { name: feature.name }),
      onchange: () => this.open() },
    allowedWays(feature, ordered).map((value) => el("option", { value }, say(`way.${value}`))));
    this.usual = feature.action;
    const end = (word, value) => el("input", { type: "number", step: "any", oninput: () => this.check(),
      placeholder: `${say(word)} ${value ?? ""}`, "aria-label": `${feature.name}: ${say(word)}` });
    this.ends = [end("target.least", feature.lower), end("target.most", feature.upper)];
    this.slider = ordered ? new RangeSlider(feature, this.ends, (number) => amount(number, feature.unit), () => this.check())
      : null;
    this.boxes = ordered ? [] : choices(feature).map((label) =>
      el("label", {}, el("input", { type: "checkbox", value: label, checked: true, onchange: () => this.check() }), short(label)));
    this.detail = ordered ? el("div", { class: "range" }, this.slider.part, this.ends)
      : el("div", { class: "allowed", role: "group", "aria-label": `${feature.name}: ${say("way.allowed")}` }, this.boxes);
    this.difficulty = el("select", { class: "difficulty", "aria-label": say("form.difficulty", { name: feature.name }) },
      DIFFICULTIES.map((factor) => el("option", { value: factor }, say(`difficulty.${factor}`))));
    this.part = el("div", {}, this.way, this.detail, this.difficulty);
    this.restore({});
  }

  open() {
    this.detail.hidden = this.way.value !== "range" && this.way.value !== "allowed";
    this.difficulty.disabled = this.way.value === "fixed";
    this.check();
  }

  // Reports limits that leave no value where they are set.
  check() {
    const [low, high] = this.ends.map((end) => (end.value === "" ? null : Number(end.value)));
    const reversed = this.way.value === "range" && low !== null && high !== null && low > high;
    this.ends[0].setCustomValidity(reversed ? say("form.reversed") : "");
    const none = this.way.value === "allowed" && this.checked.length === 0;
    this.boxes[0]?.firstChild.setCustomValidity(none ? say("form.allowed") : "");
  }

  draw(marks) {
    if (this.slider) this.slider.draw(marks);
  }

  factor() {
    return this.way.value === "fixed" ? 1 : Number(this.difficulty.value);
  }

  get checked() {
    return this.boxes.map((box) => box.firstChild).filter((box) => box.checked).map((box) => box.value);
  }

  // Returns what differs from the settings at the start; null if nothing does.
  state() {
    const way = this.way.value, difficulty = Number(this.difficulty.value);
    const state = { ...(way !== this.usual && { way }), ...(difficulty !== 1 && { difficulty }),
      ...(way === "range" && { ends: this.ends.map((end) => end.value) }),
      ...(way === "allowed" && { allowed: this.checked }) };
    return Object.keys(state).length ? state : null;
  }

  restore({ way = this.usual, difficulty = 1, ends = ["", ""], allowed = null }) {
    this.way.value = way;
    if (this.way.selectedIndex < 0) this.way.value = this.usual;
    this.difficulty.value = DIFFICULTIES.includes(difficulty) ? difficulty : 1;
    this.ends.forEach((end, k) => { end.value = ends[k] ?? ""; });
    for (const box of this.boxes) box.firstChild.checked = allowed === null || allowed.includes(box.firstChild.value);
    this.draw();
    this.open();
  }

  constraints() {
    const { name, action } = this.feature;
    if (this.way.value === action) return []; // which the model has anyway
    if (this.way.value === "fixed") return [{ Fixed: [name] }];
    if (this.way.value === "increase") return [{ Increase: [name] }];
    if (this.way.value === "decrease") return [{ Decrease: [name] }];
    if (this.way.value === "range") {
      const [lower, upper] = this.ends.map((end) => (end.value === "" ? null : Number(end.value)));
      if (lower === null && upper === null) return [];
      return [{ Range: { feature: name, ...(lower !== null && { lower }), ...(upper !== null && { upper }) } }];
    }
    if (this.way.value === "allowed") {
      return [{ Allowed: [name, this.checked.map((label) => valueOf(this.feature, label))] }];
    }
    return [];
  }
}

export const isOrdered = ({ kind }) => kind === "numeric" || kind === "ordinal";

// Returns the ways to change a feature that its model allows.
function allowedWays({ action }, ordered) {
  if (action === "fixed") return [action];
  const ways = ordered ? ORDERED : OTHERS;
  return action === "free" ? ways : [action, ...ways.filter((way) => !["free", "increase", "decrease"].includes(way))];
}

function choices({ labels, values, truth }) {
  if (labels.length) return labels;
  return values.map((value) => (truth ? (value ? "True" : "False") : String(value)));
}

function valueInput(feature, place) {
  const named = { "aria-labelledby": `name-${place}${feature.unit ? ` unit-${place}` : ""}`, dir: "auto" };
  if (feature.kind === "categorical" || feature.kind === "binary") {
    const options = choices(feature).map((label) => el("option", { value: label }, short(label)));
    const missing = feature.missing ? [el("option", { value: "", "data-missing": true }, say("missing"))] : [];
    return el("select", named, options, missing);
  }
  return el("input", { ...named, type: "number", step: "any", required: !feature.missing,
    placeholder: feature.missing ? say("missing") : null, value: feature.typical ?? feature.lower });
}

// Returns the value for the row: a number, the name of a category, or null if missing.
function readValue(feature, input) {
  if (isMissing(input)) return null;
  if (feature.columns.length > 1) return input.value;
  return valueOf(feature, input.value);
}

function valueOf(feature, text) {
  if (feature.truth) return text === "True";
  if (feature.kind === "categorical") return text;
  if (feature.kind === "binary" && feature.labels.length) return feature.values[feature.labels.indexOf(text)];
  return Number(text);
}

// An empty text may be a category, so an attribute marks the option for a missing value.
function isMissing(input) {
  if (!input.selectedOptions) return input.value === "";
  return input.selectedIndex < 0 || input.selectedOptions[0].hasAttribute("data-missing");
}

function show(feature, input, value) {
  if (value === null || value === undefined) {
    if (input.options) input.selectedIndex = [...input.options].findIndex((o) => o.hasAttribute("data-missing"));
    else input.value = "";
    return;
  }
  input.value = written(feature, value);
  const valid = input.options ? input.selectedIndex >= 0 : input.value !== "";
  const remedy = say(input.options ? "form.list" : "form.number");
  if (!valid && String(value).trim() !== "") {
    throw new Error(say("form.no-value", { value, name: feature.name, remedy }));
  }
}

function written(feature, value) {
  if (feature.kind === "binary" && feature.labels.length) {
    const at = feature.values.indexOf(Number(value));
    return at >= 0 ? feature.labels[at] : String(value);
  }
  if (!feature.truth) return String(value);
  const truth = { true: "True", 1: "True", false: "False", 0: "False" };
  return truth[String(value).toLowerCase()] ?? String(value);
}
