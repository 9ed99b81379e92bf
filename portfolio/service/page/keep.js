// Links and bookmarks that restore a question, and the same question as a Python program.

import { say } from "./words.js";

const STORE = "counterfolio bookmarks";
const GOALS = ["Allowed", "AtLeast", "AtMost", "Decrease", "Fixed", "Increase", "MaxChanges", "Probability", "Range", "Score"];

// Returns a state as the fragment of an address.
export function toFragment(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const text = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return `#q=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

// Returns the state of an address's fragment, null if it has none; throws an Error if it is damaged.
export function fromFragment(fragment) {
  if (!fragment.startsWith("#q=")) return null;
  try {
    const text = atob(fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
    const state = JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (mark) => mark.charCodeAt(0))));
    if (state === null || typeof state !== "object" || typeof state.model !== "string") throw new Error();
    return state;
  } catch {
    throw new Error(say("link.damaged"));
  }
}

// Returns the bookmarks of this browser by name; none if the browser refuses to store any.
export function bookmarks() {
  try {
    return JSON.parse(localStorage.getItem(STORE)) ?? {};
  } catch {
    return {};
  }
}

// Keeps a bookmark, or removes it if the fragment is null.
export function keepBookmark(name, fragment) {
  const kept = bookmarks();
  if (fragment === null) delete kept[name];
  else Object.defineProperty(kept, name, { value: fragment, enumerable: true }); // also if named __proto__
  localStorage.setItem(STORE, JSON.stringify(kept));
}

// Returns a Python program that asks the question; body: members of the request; keyed: whether a key is needed.
// Without a url it calls the explainer of a notebook.
export function asPython(url, model, { x, constraints, ...members }, keyed = false) {
  const { target } = members;
  const parts = target && typeof target === "object" && !goal(target) ? Object.values(target) : [target];
  const kinds = [...new Set([...constraints, ...parts].flatMap((each) => (goal(each) ? Object.keys(each) : [])))];
  const settings = Object.entries(members).map(([name, value]) => `    ${name}=${term(value)},`);
  const limits = constraints.length ? [`    constraints=[${constraints.map(term).join(", ")}],`] : [];
  if (url === null) {
    const called = ["result = explainer.explain(", "    row,", ...settings, ...limits, ")", "print(result)", ""];
    const imported = kinds.length ? [`from counterfolio import ${kinds.sort().join(", ")}`, ""] : [];
    return [...imported, `row = ${python(x)}`, ...called].join("\n");
  }
  return [...(keyed ? ["import os", ""] : []), `from counterfolio import ${["Client", ...kinds].sort().join(", ")}`, "",
    `row = ${python(x)}`,
    `with Client(${python(url)}, ${python(model)}${keyed ? ', key=os.environ["COUNTERFOLIO_KEY"]' : ""}) as client:`,
    "    result = client.explain(", "        row,", ...[...settings, ...limits].map((each) => `    ${each}`), "    )",
    "    print(result)", ""].join("\n");
}

// Returns whether a value is written as {"Name": arguments}.
function goal(value) {
  return value !== null && typeof value === "object" && Object.keys(value).length === 1
    && GOALS.includes(Object.keys(value)[0]) && typeof Object.values(value)[0] === "object"
    && !goal(Object.values(value)[0]); // an output may be named like a goal
}

function term(value) {
  if (!goal(value)) return python(value);
  const [[name, given]] = Object.entries(value);
  const written = Array.isArray(given) ? given.map(python)
    : Object.entries(given).map(([key, each]) => `${key}=${python(each)}`);
  return `${name}(${written.join(", ")})`;
}

function python(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, each]) => `${JSON.stringify(key)}: ${goal(each) ? term(each) : python(each)}`).join(", ")}}`;
}
