// Elements, created without HTML text so that untrusted names remain text, and printed numbers.

import { FROM, TO, numeral, say } from "./words.js";

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
const PAIRS = new RegExp(`${FROM}([^${FROM}${TO}]*)${TO}`, "g");
const SHOWN = ["title", "aria-label", "placeholder"];
const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

export function replace(parent, ...children) {
  parent.replaceChildren(...children.flat().filter((child) => child !== null));
}

// Returns a table. heads: texts, or [text, class] of numeric columns; rows: elements.
export function table(caption, heads, rows, attributes = {}) {
  const head = (each) => {
    const [text, kind] = Array.isArray(each) ? each : [each, null];
    return el("th", { scope: "col", class: kind }, isolated(text));
  };
  return el("table", attributes, caption ? el("caption", {}, caption) : null,
    heads ? el("thead", {}, el("tr", {}, heads.map(head))) : null, el("tbody", {}, rows));
}

// Returns a row of a table whose first cell is its name.
export function line(name, ...cells) {
  return el("tr", {}, el("th", { scope: "row" }, isolated(name)), ...cells);
}

// Returns a name whose direction of writing does not affect the text around it.
export function isolated(name) {
  return el("bdi", {}, name);
}

export function button(label, onclick, attributes = {}) {
  return el("button", { type: "button", ...attributes, onclick }, label);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      element.setAttribute(name, SHOWN.includes(name) ? visible(String(value)) : value);
  }
  element.append(...children.flat().filter((child) => child !== null)
    .map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

// Escapes invisible and direction-changing characters of untrusted names.
// Values in sentences (see say) are isolated from the direction of the text around them.
export function visible(text) {
  const escaped = text.replace(HIDDEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
  return isolate(escaped);
}

// Replaces marks of isolated values, which say() makes in pairs, by the characters for browsers.
function isolate(text) {
  const inner = text.replace(PAIRS, (_, value) => `\u2068${value}\u2069`);
  return inner === text ? text.replace(/[\ufdd0\ufdd1]/g, "") : isolate(inner);
}

// Returns a number rounded to significant digits; digits before the point are all printed.
export function short(value, digits = 3) {
  if (value === null || value === undefined) return say("missing");
  if (value === "") return say("empty");
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  const whole = Math.abs(value) >= 10 ** (digits - 1);
  return numeral(Number(whole ? value.toFixed(0) : value.toPrecision(digits)));
}

// Returns a text of a number with its unit, which stay on one line; the text itself without a unit.
export function withUnit(text, unit) {
  return unit ? `${text}\u00a0${unit}` : text;
}

// Returns a value with few digits, and with its unit if it is a number.
export function amount(value, unit, digits = 3) {
  return typeof value === "number" ? withUnit(short(value, digits), unit) : short(value, digits);
}

// Returns a number of few digits that is not below a value (upper), or not above it; all digits before the point are kept.
export function toward(value, upper, fewest) {
  const exponent = Math.floor(Math.log10(Math.abs(value) || 1)), digits = Math.min(17, Math.max(fewest, exponent + 1));
  const near = Number(value.toPrecision(digits));
  if (value === 0 || (upper ? near >= value : near <= value)) return near;
  return Number((near + (upper ? 1 : -1) * 10 ** (exponent - digits + 1)).toPrecision(digits));
}

// Returns values with as many digits as distinguish those that differ.
export function distinct(...values) {
  const different = new Set(values).size;
  let digits = 3;
  const written = () => values.map((value) => short(value, digits));
  while (digits < 17 && new Set(written()).size < different) digits += 1;
  return written();
}

// Returns a duration with three digits, in milliseconds below one second.
export function duration(seconds) {
  return seconds < 0.9995 ? `${short(1000 * seconds, 3)} ms` : `${short(seconds, 3)} s`;
}
