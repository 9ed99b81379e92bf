// Burden of recourse by segment of a job, beside that of another job of the same rows.

import { distinct, el, line, replace, short, table, visible } from "./dom.js";
import { figure, groupName, rangeChart } from "./plots.js";
import { goalWords } from "./sentences.js";
import { say } from "./words.js";

const MARKS = ["dot", "diamond"];
const APART = ["time_limit_s", "threads", "strategy", "records", "seed"]; // settings that do not change what is asked

// Returns the part that shows a job by segment. find(id, by): requests segments; others: jobs to compare with;
// chosen: the one of them that is compared at first, or null
export async function burdenPart(job, find, others, chosen = null) {
  const first = await find(job.id, null), out = el("div", { "aria-live": "polite" });
  const by = el("select", { id: "segment-by" }, el("option", { value: "" }, say("segment.all")),
    first.columns.map((name) => el("option", { value: name }, name)));
  const beside = el("select", { id: "segment-beside" }, el("option", { value: "" }, say("segment.no-other")),
    others.map((other) => el("option", { value: other.id, selected: other === chosen }, named(other))));
  let shown = 0;
  const draw = async () => {
    const wanted = ++shown, name = by.value || null;
    try {
      const found = [name === null ? first : await find(job.id, name)];
      if (beside.value) found.push(await find(beside.value, name));
      if (wanted === shown) replace(out, parts(found, name, Math.max(280, out.clientWidth)));
    } catch (error) {
      if (wanted === shown) replace(out, el("p", { role: "alert" }, error.message));
    }
  };
  for (const select of [by, beside]) select.addEventListener("change", draw);
  const label = (words, select) => el("label", {}, el("span", {}, say(words)), " ", select);
  return [[el("h3", {}, say("segment")), el("p", { class: "quiet" }, `${goal(first.settings)} ${say("segment.about")}`),
    el("div", { class: "fields" }, label("segment.by", by), others.length ? label("segment.beside", beside) : null), out], draw];
}

// Returns the desired prediction of a question in words.
export function goal({ target }) {
  if (target === undefined || target === null) return say("segment.target.any");
  return visible(say("segment.target", { target: goalWords(target, target) }));
}

// Returns a job in words that distinguish it from others.
export function named(job) {
  return say("segment.job", { model: job.model.name, rows: job.rows ?? "?", time: started(job) });
}

export function started({ created }) {
  return new Date(created).toLocaleString(document.documentElement.lang, { dateStyle: "short", timeStyle: "medium" });
}

function parts(found, by, width) {
  const words = ({ name }) => (by === null ? say("segment.all") : groupName(name));
  const names = [...new Map(found.flatMap(({ segments }) => segments.map((each) => [JSON.stringify(each.name), each]))).values()];
  const of = (each, segment) => each.segments.find(({ name }) => name === segment.name);
  const both = found.length > 1, models = found.map(({ job }) => job.model.name);
  const kinds = models[0] === models[1] ? found.map(({ job }) => `${job.model.name}, ${started(job)}`) : models;
  const lines = names.flatMap((segment) => found.map((each, k) => [segment, of(each, segment), k])).filter(([, own]) => own);
  const label = (segment, k) => (both ? `${words(segment)} · ${kinds[k]}` : words(segment));
  const drawn = rangeChart(lines.map(([segment, own, k]) => [label(segment, k), own.median === null ? null
    : { low: own.median, high: own.median, ci_low: own.median, ci_high: own.p90 },
  own.median === null ? say(own.adverse ? "plot.none" : "segment.none-needed") : say("plot.range", { least: short(own.median), most: short(own.p90) }), MARKS[k]]),
  { unit: say("segment.unit"), width });
  const heads = [by ?? say("segment.one"), ...(both ? [say("model")] : []),
    ...["rows", "adverse", "mean", "answered", "proved", "infeasible", "median", "p90"].map((name) => [say(`segment.${name}`), "number"]),
    say("segment.changes")];
  const rows = lines.map(([segment, own, k]) => line(words(segment), both ? el("td", {}, kinds[k]) : null, cells(own)));
  const different = both ? differing(...found.map(({ settings }) => settings)) : [];
  const counts = both && found[0].job.rows !== found[1].job.rows;
  return [both ? el("ul", { class: "plain" }, compared(lines, names, kinds, words)) : null,
    different.length ? el("p", { role: "alert" }, say("segment.different", { names: different.join(", ") })) : null,
    counts ? el("p", { role: "alert" }, say("segment.other-rows")) : null,
    figure(drawn, say("segment.caption")),
    el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("segment.table") },
      table(say("segment.table"), heads, rows))];
}

// Returns for each segment which job has the higher mean cost, as list items.
function compared(lines, names, kinds, words) {
  return names.map((segment) => {
    const [one, other] = [0, 1].map((k) => lines.find(([each, , at]) => each === segment && at === k)?.[1] ?? null);
    if ((one?.mean ?? null) === null || (other?.mean ?? null) === null) return null;
    const first = one.mean >= other.mean, [more, less] = first ? [one, other] : [other, one];
    const side = ({ median, adverse, rows }, k) => say(median === null ? "segment.side.none" : "segment.side",
      { model: kinds[k], median: short(median), adverse, rows });
    const [most, least] = distinct(more.mean, less.mean);
    return el("li", {}, el("strong", {}, say(one.mean === other.mean ? "segment.same" : "segment.more",
      { segment: words(segment), model: kinds[first ? 0 : 1], more: most, less: least })), " ", side(one, 0), " ", side(other, 1));
  });
}

function cells({ rows, adverse, answered, proved, infeasible, median, p90, mean, changes }) {
  const share = (count) => (adverse ? say("segment.share", { share: short(100 * count / adverse, 3), count }) : "");
  const number = (text) => el("td", { class: "number" }, text);
  const cost = (value) => number(value === null ? "" : short(value));
  const often = changes.map(({ feature, answers }) => say("segment.change", { feature, share: short(100 * answers / answered, 2) }));
  return [number(short(rows)), number(short(adverse)), cost(mean), number(share(answered)), number(share(proved)), number(share(infeasible)),
    cost(median), cost(p90), el("td", {}, often.join(", "))];
}

// Returns the names of settings in which two jobs differ.
function differing(first, second) {
  return [...new Set([...Object.keys(first), ...Object.keys(second)])].filter((name) => !APART.includes(name)
    && JSON.stringify(first[name]) !== JSON.stringify(second[name])).sort();
}
