// Texts of the page in the language of its reader.

import de from "./words-de.js";
import en from "./words-en.js";

const LANGUAGES = { en, de };
export const FROM = "\ufdd0", TO = "\ufdd1"; // Unicode keeps them for such use: no text has them
const RIGHT_TO_LEFT = /[\u0590-\u08ff\ufb1d-\ufdcf\ufdf0-\ufdff\ufe70-\ufefe]|[\ud802\ud803\ud83a\ud83b]/;
const STORE = "counterfolio language";

export const language = chosen();
const plurals = new Intl.PluralRules(language);
const point = new Intl.NumberFormat(language).formatToParts(0.5).find(({ type }) => type === "decimal").value;

// Returns a number, or its text, with the decimal separator of the language.
export function numeral(number) {
  return String(number).replace(".", point);
}

// Returns a text with the names in braces replaced by values.
export function say(name, values = {}) {
  const words = LANGUAGES[language][name];
  if (words === undefined) throw new Error(`no text is named ${name}`);
  return words.replace(/\{(\w+)\}/g, (_, key) => isolated(values[key]));
}

// Returns a value between two marks, of which visible() makes characters for browsers, if its direction may differ.
function isolated(value) {
  if (typeof value === "number") return numeral(value);
  const text = String(value);
  return typeof value === "string" && (RIGHT_TO_LEFT.test(text) || document.dir === "rtl") ? FROM + text + TO : text;
}

// Returns the text of a problem of the server, in English unless the language has words for its code.
export function worded({ detail, code, arguments: values = {} }) {
  const words = LANGUAGES[language];
  return code && Object.hasOwn(words, `problem.${code}`) ? say(`problem.${code}`, values) : detail;
}

// Returns a count with its noun, such as "1 change" or "2 changes".
export function counted(count, noun) {
  return say(`count.${noun}.${plurals.select(count)}`, { count });
}

// Writes the texts of the document in the language.
export function translate() {
  document.documentElement.lang = language;
  for (const part of document.querySelectorAll("[data-say]")) part.textContent = say(part.dataset.say);
}

// Keeps the language in this browser; it is used when the page is loaded again.
export function choose(name) {
  localStorage.setItem(STORE, name);
}

// Returns the language that was chosen before, or that of the browser, or English.
function chosen() {
  let kept = null;
  try {
    kept = localStorage.getItem(STORE);
  } catch { // the browser stores nothing
    kept = null;
  }
  return [kept, navigator.language?.slice(0, 2)].find((name) => Object.hasOwn(LANGUAGES, name ?? "")) ?? "en";
}
