// Results about many rows together: the actions of a group, and the audit of an attribute.

import { amount, el, line, short, table, toward, withUnit } from "./dom.js";
import { barChart, figure, groupName, rangeChart } from "./plots.js";
import { counted, numeral, say } from "./words.js";

const STATES = ["served", "not served", "out of reach", "already there"];
const WAYS = { "at least": "raise", "at most": "lower", becomes: "become" };
const MOST_MEMBERS = 500, DIGITS = 4; // of limits

const text = (value) => (Array.isArray(value) ? value.join(", ") : short(value));
const number = (value) => el("td", { class: "number" }, value);

// Returns the actions of a group as sentence, chart and tables. units: of the features, by name
export function groupParts(group, width, units) {
  const { actions, members, covered, bound, rows, status } = group;
  const kind = rows === 0 ? "none-needed" : status;
  const words = say(`group.${kind}`, { actions: counted(actions.length, "action"), covered, bound, rows: counted(rows, "row") });
  const states = STATES.map((state) => [state, members.filter((each) => each.state === state)]).filter(([, some]) => some.length);
  return [
    el("p", { class: "headline" }, [words, group.message].join(" ").trim()),
    actions.length ? figure(groupChart(group, width), say("group.chart.caption")) : null,
    actions.length ? el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("group.actions") }, table(say("group.actions"), [say("group.action"), say("group.steps"),
      [say("group.served"), "number"], [say("group.cost"), "number"]], actions.map((action, at) =>
      line(String(at + 1), el("td", {}, el("ul", { class: "plain" }, stepsOf(action, units).map((step) => el("li", {}, step)))),
        number(short(action.rows.length)), number(short(action.mean_cost)))))) : null,
    table(say("group.outcomes"), [say("group.outcome"), [say("segment.rows"), "number"]],
      states.map(([state, some]) => line(say(`group.state.${state}`), number(short(some.length))))),
    el("details", {}, el("summary", {}, say("group.members")), el("div", { class: "wide", tabindex: 0, role: "region",
      "aria-label": say("group.members") }, table(say("group.members.first", { count: Math.min(members.length, MOST_MEMBERS) }),
      [say("group.row"), say("group.outcome"), say("group.action"), [say("cost"), "number"]],
      members.slice(0, MOST_MEMBERS).map((member) => line(text(member.id), el("td", {}, say(`group.state.${member.state}`)),
        el("td", {}, member.action ? String(member.action) : ""), number(member.distance === null ? "" : short(member.distance))))))),
  ];
}

// Returns the steps of an action in words; rounded limits still reach the prediction.
export function stepsOf({ steps }, units) {
  const limit = (way, value, unit) => (typeof value !== "number" ? text(value) : way === "becomes" ? amount(value, unit)
    : withUnit(numeral(toward(value, way === "at least", DIGITS)), unit));
  return steps.length ? steps.map(({ feature, way, value }) => say(`group.step.${WAYS[way]}`,
    { feature, value: limit(way, value, units.get(feature)) })) : [say("group.step.none")];
}

function groupChart({ actions, covered, bound, rows }, width) {
  const bars = actions.map((action, at) => [`${at + 1}. ${action.steps.map(({ feature }) => feature).join(", ")}`, action.rows.length]);
  if (bars.length > 1) bars.push([say("group.together"), covered]);
  return barChart(bars, { unit: say("group.chart", { rows }), width, bound });
}

// Returns an audit as sentence, charts and tables.
export function auditParts(audit, width) {
  const { by, groups, differences, status, confidence } = audit;
  const unproved = groups.reduce((sum, group) => sum + group.unproved, 0);
  const panel = (name, unit) => el("div", {}, rangeChart(groups.map((group) =>
    [groupName(group.name), group[name], group[name] ? estimate(group[name]) : lack(group)]), { unit, width }));
  const lack = ({ adverse }) => say(adverse ? "plot.none" : "segment.none-needed");
  const heads = ["rows", "adverse", "adverse-share", "mean", "median", "without", "unproved"].map((name) => [say(`audit.${name}`), "number"]);
  const cells = ({ rows, adverse, adverse_share: share, mean, median, without, unproved: open }) =>
    [rows, adverse].map((count) => number(short(count))).concat([
      number(share ? percent(share) : ""), number(mean ? estimate(mean) : lack({ adverse })),
      number(median ? estimate(median) : lack({ adverse })), number(without ? percent(without) : ""), number(short(open))]);
  return [
    el("p", { class: "headline" }, say(`audit.${status}`, { rows: counted(unproved, "row") })),
    el("figure", {}, el("div", { class: "panels" }, panel("mean", say("audit.mean")), panel("without", say("audit.without"))),
      el("figcaption", {}, say("audit.caption", { confidence: short(100 * confidence) }))),
    el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("audit.groups", { by }) },
      table(say("audit.groups", { by }), [by, ...heads], groups.map((group) => line(groupName(group.name), cells(group))))),
    differences.length ? el("div", { class: "wide", tabindex: 0, role: "region", "aria-label": say("audit.differences") },
      table(say("audit.differences"), [say("audit.pair"), [say("audit.mean"), "number"], ["p", "number"],
        [say("audit.without"), "number"], ["p", "number"]], differences.map((each) => line(
        say("audit.minus", { name: groupName(each.name), reference: groupName(each.reference) }),
        [each.mean ? estimate(each.mean) : say("plot.none"), chance(each.mean_p), percent(each.without), chance(each.without_p)].map(number))))) : null,
    el("p", { class: "quiet" }, say("audit.cause")),
  ];
}

const chance = (value) => (value === null ? "" : short(value, 2));

// Returns an estimate in words: the number or its range, and its confidence interval.
export function estimate({ low, high, ci_low: first, ci_high: last }, factor = 1, unit = "") {
  const range = (least, most) => say("plot.range", { least: least === null ? say("target.any") : outward(factor * least, Math.floor),
    most: most === null ? say("target.any") : outward(factor * most, Math.ceil) });
  const value = low === high && low !== null ? short(factor * low) : range(low, high);
  return `${value}${unit}${first === null && last === null ? "" : ` (${range(first, last)})`}`;
}

const percent = (share) => estimate(share, 100, " %");

// Returns a number with three digits, rounded down or up, so that printed limits still hold.
function outward(value, round) {
  if (value === 0 || Number.isInteger(value)) return short(value);
  const unit = 10 ** (2 - Math.floor(Math.log10(Math.abs(value))));
  return short(Number((round(value * unit) / unit).toPrecision(12)), 12);
}
