// Form for the row and the allowed changes, made from the feature space.

import { byId, counted, el, replace } from "./dom.js";

const WAYS = [["free", "may change"], ["fixed", "must not change"], ["increase", "may only increase"],
  ["decrease", "may only decrease"], ["range", "within a range"]];

export class RowForm {
  // features: of the model, as in /v1/models/{name}; example: values by column
  constructor(features, example) {
    this.features = features;
    this.fields = features.map((feature, k) => ({
      feature, value: valueInput(feature, k), limits: new Limits(feature, k),
    }));
    replace(byId("features").tBodies[0], this.fields.map(({ feature, value, limits }) =>
      el("tr", {}, el("th", { scope: "row", id: `name-${limits.place}` }, feature.name),
        el("td", {}, value), el("td", {}, limits.part))));
    if (example) this.take(example);
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

  constraints() {
    return this.fields.flatMap(({ limits }) => limits.constraints());
  }

  // Fills in a row by column; columns that are missing keep their values.
  take(row) {
    for (const { feature, value } of this.fields) {
      const valueIn = (name) => (Object.hasOwn(row, name) ? row[name] : undefined);
      const values = feature.columns.map(valueIn);
      if (values.every((each) => each === undefined)) {
        if (valueIn(feature.name) !== undefined) show(feature, value, valueIn(feature.name));
      } else if (values.length === 1) show(feature, value, values[0]);
      else {
        const at = values.findIndex((each) => Number(each) === 1);
        if (at < 0 && !values.every((each) => each === null)) {
          throw new Error(`no column of ${feature.name} is 1. Set one of them to 1.`);
        }
        show(feature, value, at < 0 ? null : feature.labels[at]);
      }
    }
  }

  // Fills in JSON, or values in the order of the form; throws an Error if the text is invalid.
  paste(text) {
    if (text.trim().startsWith("{")) return this.take(JSON.parse(text));
    const parts = text.trim().split(text.includes("\t") ? "\t" : ",").map((part) => part.trim());
    const columns = this.features.flatMap((feature) => feature.columns);
    const names = parts.length === columns.length ? columns : this.features.map((f) => f.name);
    if (parts.length !== names.length) {
      throw new Error(`got ${counted(parts.length, "value")}, but the model has ${counted(names.length, "feature")}.`);
    }
    return this.take(Object.fromEntries(names.map((name, k) => [name, parts[k]])));
  }
}

// Controls for the allowed changes of one feature: a choice, with two bounds or a list for some.
class Limits {
  constructor(feature, place) {
    this.feature = feature;
    this.place = place;
    const ordered = feature.kind === "numeric" || feature.kind === "ordinal";
    const ways = ordered ? WAYS : [WAYS[0], WAYS[1], ["allowed", "one of these"]];
    this.way = el("select", { "aria-label": `allowed changes of ${feature.name}`,
      onchange: () => this.open() }, ways.map(([value, words]) => el("option", { value }, words)));
    this.way.value = feature.action === "fixed" || ordered ? feature.action : "free";
    const end = (word) => el("input", { type: "number", step: "any", placeholder: word,
      "aria-label": `${feature.name}: ${word}` });
    this.ends = [end("at least"), end("at most")];
    this.boxes = ordered ? [] : choices(feature).map((label) =>
      el("label", {}, el("input", { type: "checkbox", value: label, checked: true }), label));
    this.detail = ordered ? el("div", { class: "range" }, this.ends)
      : el("div", { class: "allowed", role: "group", "aria-label": `${feature.name}: one of` }, this.boxes);
    this.part = el("div", {}, this.way, this.detail);
    this.open();
  }

  open() {
    this.detail.hidden = this.way.value !== "range" && this.way.value !== "allowed";
  }

  constraints() {
    const { name } = this.feature;
    if (this.way.value === "fixed") return [{ Fixed: [name] }];
    if (this.way.value === "increase") return [{ Increase: [name] }];
    if (this.way.value === "decrease") return [{ Decrease: [name] }];
    if (this.way.value === "range") {
      const [lower, upper] = this.ends.map((end) => (end.value === "" ? null : Number(end.value)));
      return [{ Range: { feature: name, ...(lower !== null && { lower }), ...(upper !== null && { upper }) } }];
    }
    if (this.way.value === "allowed") {
      const kept = this.boxes.map((box) => box.firstChild).filter((box) => box.checked);
      return [{ Allowed: [name, kept.map((box) => valueOf(this.feature, box.value))] }];
    }
    return [];
  }
}

function choices({ labels, values, truth }) {
  if (labels.length) return labels;
  return values.map((value) => (truth ? (value ? "True" : "False") : String(value)));
}

function valueInput(feature, place) {
  const named = { "aria-labelledby": `name-${place}` };
  if (feature.kind === "categorical" || feature.kind === "binary") {
    const options = choices(feature).map((label) => el("option", { value: label }, label));
    const missing = feature.missing ? [el("option", { value: "", "data-missing": true }, "missing")] : [];
    return el("select", named, options, missing);
  }
  return el("input", { ...named, type: "number", step: "any", required: !feature.missing,
    placeholder: feature.missing ? "missing" : null, value: feature.typical ?? feature.lower });
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
  const remedy = input.options ? "Use a value from its list." : "Use a number.";
  if (!valid && String(value).trim() !== "") {
    throw new Error(`${value} is not a value of ${feature.name}. ${remedy}`);
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
