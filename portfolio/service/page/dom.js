// Elements made without HTML text, so that untrusted names remain text.

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

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null)
      element.setAttribute(name, SHOWN.includes(name) ? visible(String(value)) : value);
  }
  element.append(...children.flat().filter((child) => child !== null)
    .map((child) => (typeof child === "string" ? visible(child) : child)));
  return element;
}

// Escapes invisible and direction-changing characters of untrusted names.
export function visible(text) {
  return text.replace(HIDDEN, (own) => `\\u${own.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// Returns a number with at most six digits; the title attribute has all of them.
export function short(value) {
  if (value === null || value === undefined) return "missing";
  if (typeof value !== "number") return String(value);
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
}
