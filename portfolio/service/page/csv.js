// Text with separated values, as RFC 4180 describes it, and as spreadsheets of other countries write it.

import { say } from "./words.js";

export const SEPARATORS = ["\t", ";", "|", ","], ENCODINGS = ["utf-8", "utf-16le", "utf-16be", "windows-1252"];
export const MISSING = ["", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"];
const SAMPLE = 65536, SAMPLE_LINES = 50; // what the separator is recognised from
const GROUPS = "[ \\u00a0\\u202f'’]"; // separates thousands, whatever the decimal separator is
const NUMBERS = Object.fromEntries([[".", ","], [",", "."]].map(([decimal, other]) => [decimal, new RegExp(
  `^[+-]?(?=\\${decimal}?\\d)(\\d+|\\d{1,3}(${GROUPS}\\d{3})+|[1-9]\\d{0,2}(\\${other}\\d{3})+)?(\\${decimal}\\d*)?([eE][+-]?\\d+)?$`)]));
const EITHER = /^[+-]?[1-9]\d{0,2}([.,])\d{3}$/; // 1,234 is 1.234 or 1234

// Returns the text of a file and its encoding, which is recognised unless it is given.
export function decode(bytes, encoding = encodingOf(bytes)) {
  return { text: new TextDecoder(encoding).decode(bytes), encoding };
}

function encodingOf(bytes) {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return "utf-16le";
  if (first === 0xfe && second === 0xff) return "utf-16be";
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return "utf-8";
  } catch {
    return "windows-1252";
  }
}

// Returns the rows as objects by the names in the first line; empty values are null.
export function parseTable(text) {
  const table = recognise(text);
  if (table.decimal === null) throw new Error(say("csv.decimal", { value: table.doubtful }));
  const { lines: [names, ...lines] } = converted(table);
  return lines.map((line) => Object.fromEntries(names.map((name, k) => [name, line[k] === "" ? null : line[k]])));
}

// Returns lines, which are lists of values, as CSV text.
export function writeLines(lines) {
  const cell = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return lines.map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

// Returns {lines, separator, decimal, numeric, doubtful} of a text; throws an Error if lines differ in length.
// names: columns that the file should have; numbers: those of them with numbers; otherwise recognised
// given: separator and decimal that a user chose
// decimal is null if the numbers have two meanings; doubtful is one of them
export function recognise(text, { names = [], numbers = null } = {}, given = {}) {
  const separator = given.separator ?? separatorOf(text, names);
  const lines = parseLines(text, separator), [head] = lines;
  if (lines.length < 2) throw new Error(say("csv.empty"));
  const uneven = lines.findIndex((line) => line.length !== head.length);
  if (uneven > 0) {
    throw new Error(say("csv.line", { line: uneven + 1, values: lines[uneven].length, names: head.length }));
  }
  const isNumber = (text) => Object.values(NUMBERS).some((form) => form.test(text));
  const numeric = head.map((name, k) => (numbers && names.includes(name.trim()) ? numbers.includes(name.trim())
    : lines.every((line, at) => at === 0 || MISSING.includes(line[k].trim()) || isNumber(line[k].trim()))));
  return { lines, separator, numeric, ...decimalOf(lines, numeric, separator), ...given.decimal && { decimal: given.decimal } };
}

// Returns the decimal separator of the numeric columns, "." if no number shows it.
function decimalOf(lines, numeric, separator) {
  const sure = { ".": 0, ",": 0 }, doubtful = {};
  for (const line of lines.slice(1)) {
    for (let k = 0; k < line.length; k += 1) {
      if (!numeric[k] || !/[.,]/.test(line[k])) continue;
      const value = line[k].trim(), both = EITHER.exec(value);
      if (both) doubtful[both[1]] ??= value;
      else for (const decimal of [".", ","]) if (NUMBERS[decimal].test(value)) sure[decimal] += 1;
    }
  }
  if (sure["."] && !sure[","]) return { decimal: "." };
  if (sure[","] && !sure["."]) return { decimal: "," };
  const pointed = separator === "," && !doubtful[","]; // commas between values, so points are decimal
  if (!sure["."] && (pointed || !doubtful["."] && !doubtful[","])) return { decimal: "." };
  return { decimal: null, doubtful: doubtful[","] ?? doubtful["."]
    ?? lines.slice(1).flatMap((line) => line.filter((value, k) => numeric[k] && value.includes(",")))[0] };
}

// Returns {lines, wrong}: the lines with decimal points, and the first value that is no number, or null.
export function converted({ lines, numeric, decimal }) {
  let wrong = null;
  const number = (value, row, name) => {
    const text = value.trim();
    if (MISSING.includes(text)) return text;
    const plain = plainNumber(text, decimal);
    if (plain === null) wrong ??= { row, name, value };
    return plain ?? value;
  };
  const [head, ...rows] = lines;
  return { lines: [head, ...rows.map((line, row) => line.map((value, k) => (numeric[k] ? number(value, row + 1, head[k]) : value)))], wrong };
}

// Returns a number as text with a decimal point and without separated thousands; null if it is no number.
export function plainNumber(text, decimal) {
  if (!NUMBERS[decimal].test(text)) return null;
  const whole = text.replace(new RegExp(`${GROUPS}|\\${decimal === "." ? "," : "."}`, "g"), "");
  return whole.replace(",", ".");
}

// Returns the separator that gives most of the names, or else lines of equal length.
function separatorOf(text, names) {
  const found = SEPARATORS.map((separator) => {
    const lines = parseLines(text.slice(0, SAMPLE), separator, SAMPLE_LINES);
    if (text.length > SAMPLE && lines.length > 1) lines.pop(); // it may be cut
    const [head = []] = lines;
    return { separator, known: head.filter((name) => names.includes(name.trim())).length, width: head.length,
      even: lines.every((line) => line.length === head.length) };
  });
  const most = Math.max(...found.map(({ known }) => known));
  const best = most > 0 ? found.find(({ known }) => known === most)
    : found.find(({ width, even }) => width > 1 && even) ?? found.find(({ width }) => width > 1);
  return best?.separator ?? ",";
}

// Returns the values of each line that is not empty, of at most so many lines.
export function parseLines(text, separator = separatorOf(text, []), most = Infinity) {
  const clean = text.replace(/^\ufeff/, ""), end = clean.length;
  const stop = new RegExp(`[\\n\\r${separator === "|" ? "\\|" : separator}]`, "g");
  const lines = [];
  let line = [], at = 0;
  while (at <= end && lines.length < most) {
    let value = "";
    if (clean[at] === '"') [value, at] = quotedFrom(clean, at + 1);
    stop.lastIndex = at;
    const to = stop.exec(clean)?.index ?? end;
    line.push(value + clean.slice(at, to));
    at = to + (clean[to] === "\r" && clean[to + 1] === "\n" ? 2 : 1);
    if (clean[to] === separator) continue;
    if (line.length > 1 || line[0] !== "") lines.push(line);
    line = [];
  }
  return lines;
}

// Returns the quoted text from a position and the position behind it.
function quotedFrom(text, start) {
  let value = "", at = start;
  for (;;) {
    const quote = text.indexOf('"', at);
    if (quote < 0) return [value + text.slice(at), text.length];
    value += text.slice(at, quote);
    if (text[quote + 1] !== '"') return [value, quote + 1];
    value += '"';
    at = quote + 2;
  }
}
