// Text with separated values, as RFC 4180 describes it; the separator is that of the first line.

import { say } from "./words.js";

// Returns the rows as objects by the names in the first line; empty values are null.
export function parseTable(text) {
  const [names, ...lines] = parseLines(text);
  if (!names || lines.length === 0) throw new Error(say("csv.empty"));
  return lines.map((line, at) => {
    if (line.length !== names.length) {
      throw new Error(say("csv.line", { line: at + 2, values: line.length, names: names.length }));
    }
    return Object.fromEntries(names.map((name, k) => [name, line[k] === "" ? null : line[k]]));
  });
}

// Returns rows, objects by name, as CSV text.
export function writeTable(names, rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : typeof value === "object" ? JSON.stringify(value) : String(value);
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows.map((row) => names.map((name) => row[name]))].map((line) => `${line.map(cell).join(",")}\r\n`).join("");
}

// Returns the values of each line that is not empty.
export function parseLines(text) {
  const clean = text.replace(/^\ufeff/, "");
  const [first] = clean.split(/\r?\n/, 1);
  const separator = ["\t", ";", ","].find((each) => first.includes(each)) ?? ",";
  const lines = [];
  let line = [], value = "", quoted = false;
  const endValue = () => { line.push(value); value = ""; };
  const endLine = () => {
    endValue();
    if (line.length > 1 || line[0] !== "") lines.push(line);
    line = [];
  };
  for (let at = 0; at < clean.length; at += 1) {
    const mark = clean[at];
    if (quoted) {
      if (mark !== '"') value += mark;
      else if (clean[at + 1] === '"') { value += mark; at += 1; } else quoted = false;
    } else if (mark === '"' && value === "") quoted = true;
    else if (mark === separator) endValue();
    else if (mark === "\n") endLine();
    else if (mark !== "\r") value += mark;
  }
  endLine();
  return lines;
}
