// Answers to further questions in sentences of the reader's language.

import { el, short, toward } from "./dom.js";
import { counted, numeral, say } from "./words.js";

const DIGITS = 4; // significant digits of values in sentences

// Returns the conflicting demands of a question without an answer, and how far to relax each.
// body: members of the request; form: of the row
export function whyNot(answer, body, form) {
  const { conflict, relaxations, status, stop_reason: reason } = answer;
  const lines = conflict.map((member) => demand(member, body, form));
  const end = conflict.length && !relaxations.length && reason === "proved"
    ? el("p", {}, say("relax.none")) : null;
  return [sentence(conflictWords(status, conflict.length), answer), list(lines),
    ...(relaxations.length ? [el("p", {}, say("relax")), list(relaxations.map((each) => relaxation(each, answer, body, form)))] : []),
    end];
}

function conflictWords(status, count) {
  if (["feasible", "unknown"].includes(status)) return say(`conflict.${status}`);
  if (count < 2) return say(count ? "conflict.one" : "conflict.nothing");
  return say(status === "minimal" ? "conflict.minimal" : "conflict.several", { count });
}

// Returns a demand in words; the server's are English.
function demand({ kind, words, feature: name }, { constraints, margin }, form) {
  const feature = form.features.find((each) => each.name === name);
  if (kind === "margin") return say("demand.margin", { margin });
  if (kind === "plausibility") return say("demand.plausibility");
  if (kind === "also") return say("demand.also");
  if (kind === "bounds" && feature) return limits("demand.bounds", form, name, feature.lower, feature.upper);
  if (kind === "action" && feature) return say("demand.default", { demand: kept(feature.action, name, form) });
  const constraint = constraints.find((each) => nameIn(each) === name);
  return (kind === "constraint" && constraint && constraintWords(constraint, name, form)) || words;
}

function nameIn(constraint) {
  const [[kind, given]] = Object.entries(constraint);
  return kind === "MaxChanges" ? "" : given.feature ?? given[0];
}

function constraintWords(constraint, name, form) {
  const [[kind, given]] = Object.entries(constraint);
  if (kind === "MaxChanges") return say("more.front.label", { changes: counted(given[0], "change") });
  if (kind === "Range") return limits("demand.range", form, name, given.lower, given.upper);
  if (kind === "Allowed") return say("demand.allowed", { name, values: given[1].map((each) => short(each, DIGITS)).join(", ") });
  return kept(kind.toLowerCase(), name, form);
}

function kept(action, name, form) {
  return say(`demand.${action}`, { name, value: form.now(name, DIGITS) });
}

function limits(text, form, name, lower, upper) {
  const low = form.written(name, lower), high = form.written(name, upper);
  if (lower === undefined || lower === null) return say("demand.most", { name, upper: high });
  if (upper === undefined || upper === null) return say("demand.least", { name, lower: low });
  return say(text, { name, lower: low, upper: high });
}

function relaxation({ member, limit, before, after, least, result, dropped }, { conflict }, body, form) {
  const found = conflict.find((each) => each.words === member);
  const moved = limit === "all" ? say("relax.all", { demand: found ? demand(found, body, form) : member })
    : relaxed(limit, found?.feature ?? "", before, after, form);
  const parts = [least || limit === "all" ? moved : `${moved} ${say("relax.less")}`,
    say(result.status === "optimal" ? "relax.cost.proved" : "relax.cost", { cost: short(result.distance) })];
  if (limit !== "all" && dropped.distance < result.distance) {
    parts.push(say("relax.dropped", { cost: short(dropped.distance) }));
  }
  const reached = result.changes.map(({ feature: name, to }) => say("relax.change", { name, value: form.written(name, to) }));
  return `${parts.join(", ")}: ${reached.join(", ")}.`;
}

function relaxed(limit, name, before, after, form) {
  if (limit === "count") return say("relax.count", { changes: counted(after, "change"), before });
  const exponent = (value) => Math.floor(Math.log10(Math.abs(value) || 1));
  const digits = Math.min(15, DIGITS + Math.max(0, exponent(after) - exponent(after - before)));
  const enough = toward(after, limit === "upper", digits); // a closer limit may not be enough
  return say(`relax.${limit}`, { name, after: form.quantity(name, numeral(enough)), before: form.written(name, before) });
}

// Returns what a question demands, in words. body: members of the request; form: of the row
export function conditions({ target, constraints, margin, norm, scale, weights = {} }, form) {
  return [...(target === undefined ? [] : [goalWords(target, target)]),
    ...constraints.map((each) => constraintWords(each, nameIn(each), form)),
    ...(margin ? [say("demand.margin", { margin })] : []),
    ...[["norm", norm], ["scale", scale]].filter(([, chosen]) => chosen !== undefined).map(([kind, chosen]) => say(`${kind}.${chosen}`)),
    ...Object.entries(weights).map(([name, factor]) => say("compare.difficulty", { name, words: say(`difficulty.${factor}`) }))];
}

// Returns the features that determine a prediction.
export function reasons(answer, target, form) {
  const { features, values, status, smallest, lower_bound: bound, holds, label } = answer;
  const goal = goalWords(target, label, !holds);
  const found = counted(features.length, "sufficient");
  const least = smallest ? "smallest" : features.length === 1 ? "single" : "minimal";
  const words = !features.length ? say("reasons.none", { goal })
    : status === "optimal" ? say(`reasons.${least}`, { found, goal })
      : say("reasons.open", { found, goal, bound });
  return [sentence(words, answer), list(features.map((name) => say("reasons.value", { name, value: form.written(name, values[name]) })))];
}

// Returns the features that every answer changes.
export function necessary({ status, features, undecided }) {
  if (["infeasible", "unknown"].includes(status)) return [el("p", {}, say(`headline.${status}`))];
  const lines = [...features.map((name) => say("necessary.feature", { name })),
    ...undecided.map((name) => say("necessary.undecided", { name }))];
  const none = features.length ? null : el("p", {}, say(undecided.length ? "necessary.unknown" : "necessary.none"));
  return [none, list(lines)];
}

// Returns the sentence above a region.
export function region(answer, target) {
  const text = answer.status === "unknown" ? "region.unknown" : answer.status === "optimal" ? "region.widest" : "region.proved";
  return sentence(say(text, { goal: goalWords(target, answer.label) }), answer);
}

// Returns a target in words. label: class that a question without a target is about
// missed: whether the words are about rows that do not reach it
export function goalWords(target, label, missed = false) {
  const limit = limitOf(target);
  if (limit) return say(`goal.${limit.text}${missed ? ".missed" : ""}`, limit);
  if (missed) return say("reasons.not", { goal: goalWords(target, label) });
  if (target === null || typeof target !== "object") return short(label);
  const [[kind, given]] = Object.entries(target);
  if (kind === "Probability" && Array.isArray(given)) return say("goal.probability", { label: short(given[0]), share: given[1] });
  return Object.entries(target).map(([name, value]) => `${name}: ${goalWords(value, value)}`).join(", ");
}

// Returns which class or number a score belongs to, as the caption of scores. label: of the answer
export function scoreWords(target, label) {
  if (limitOf(target)) return say("score.number");
  const [kind, given] = Object.entries(target ?? {})[0] ?? [];
  return say("score", { target: kind === "Probability" && Array.isArray(given) ? short(given[0]) : goalWords(target ?? label, label) });
}

// Returns the limits of a number and the name of their text; null for other targets.
function limitOf(target) {
  const [kind, given] = Object.entries(target ?? {})[0] ?? [];
  if (kind === "AtLeast" && Array.isArray(given)) return { text: "least", value: given[0] };
  if (kind === "AtMost" && Array.isArray(given)) return { text: "most", value: given[0] };
  const [low, high] = [given?.low, given?.high]; // an output may have the name Score
  return kind === "Score" && typeof low === "number" && typeof high === "number" ? { text: "range", low, high } : null;
}

function sentence(words, { message }) {
  return el("p", {}, message ? `${words} ${message}` : words);
}

function list(lines) {
  return lines.length ? el("ul", {}, lines.map((each) => el("li", {}, each))) : null;
}
