// What the page's modules need of a browser: its document, in the language of PAGE_LANGUAGE.

import { readFileSync } from "node:fs";
import { parseHTML } from "linkedom";

const PAGE = new URL("../../portfolio/service/page/", import.meta.url);

export const html = readFileSync(new URL("index.html", PAGE), "utf8");
const kept = new Map([["counterfolio language", process.env.PAGE_LANGUAGE ?? "en"]]);
globalThis.document = parseHTML(html).document;
globalThis.navigator ??= { language: "en" }; // Node.js 20 has none
globalThis.localStorage = { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };

// Returns the name and the text of every script of the page.
export async function scripts() {
  const { readdirSync } = await import("node:fs");
  return readdirSync(PAGE).filter((name) => name.endsWith(".js"))
    .map((name) => [name, readFileSync(new URL(name, PAGE), "utf8")]);
}
