// Elements, created without HTML text so that untrusted names remain text, and printed numbers.

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
  return text.replace(HIDDEN, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// Returns a number rounded to significant digits; digits before the point are all printed.
export function short(value, digits = 4) {
  if (value === null || value === undefined) return "missing";
  if (typeof value !== "number" || Number.isInteger(value)) return String(value);
  const whole = Math.abs(value) >= 10 ** (digits - 1);
  return String(Number(whole ? value.toFixed(0) : value.toPrecision(digits)));
}

// Returns two values with as many digits as distinguish them.
export function distinct(first, second) {
  let digits = 4;
  while (digits < 17 && first !== second && short(first, digits) === short(second, digits)) digits += 1;
  return [short(first, digits), short(second, digits)];
}

// Returns a count with its noun, such as "1 change" or "2 changes".
export function counted(count, noun, plural = `${noun}s`) {
  return `${count} ${count === 1 ? noun : plural}`;
}

// Returns a duration with three digits, in milliseconds below one second.
export function duration(seconds) {
  return seconds < 0.9995 ? `${short(1000 * seconds, 3)} ms` : `${short(seconds, 3)} s`;
}
