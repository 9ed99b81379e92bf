// Elements, created without HTML text so that untrusted names remain text, and printed numbers.

import { say } from "./words.js";

const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
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
    return el("th", { scope: "col", class: kind }, text);
  };
  return el("table", attributes, caption ? el("caption", {}, caption) : null,
    heads ? el("thead", {}, el("tr", {}, heads.map(head))) : null, el("tbody", {}, rows));
}

// Returns a row of a table whose first cell is its name.
export function line(name, ...cells) {
  return el("tr", {}, el("th", { scope: "row" }, name), ...cells);
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
export function visible(text) {
  return text.replace(HIDDEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// Returns a number rounded to significant digits; digits before the point are all printed.
export function short(value, digits = 3) {
  if (value === null || value === undefined) return say("missing");
  if (value === "") return say("empty");
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  const whole = Math.abs(value) >= 10 ** (digits - 1);
  return String(Number(whole ? value.toFixed(0) : value.toPrecision(digits)));
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
