// The page: choose a model and a row, see the decision, ask for the smallest change, compare.

import { answerParts, headline } from "./answer.js";
import { Api } from "./api.js";
import { drawBounds } from "./chart.js";
import { Comparison } from "./compare.js";
import { Decision } from "./decision.js";
import { button, byId, duration, el, replace, visible } from "./dom.js";
import { isOrdered, RowForm } from "./form.js";
import { asPython, bookmarks, fromFragment, keepBookmark, toFragment } from "./keep.js";
import { ManyRows } from "./many.js";
import { download, furtherQuestions } from "./more.js";
import { RowChooser } from "./rows.js";
import { conditions } from "./sentences.js";
import { Settings } from "./settings.js";
import { howFound } from "./solver.js";
import { choose, language, say, translate, worded } from "./words.js";

const api = new Api();
const pathOf = (model, name) => `v1/models/${encodeURIComponent(model)}/${name}`;
const path = (name) => pathOf(byId("model").value, name);
const decision = new Decision((x, signal) => api.post(path("predict"), { x }, signal), async (x, signal) => {
  const name = byId("second").value;
  if (!name) return [];
  return [[name, await api.post(pathOf(name, "predict"), { x }, signal).catch((error) => {
    if (error.name === "AbortError") throw error;
    return error; // the other model may have other columns
  })]];
});
const chooser = new RowChooser((members) => api.get(`${path("rows")}?${new URLSearchParams(members)}`), takeRow);
const rowsOf = (text) => {
  if (!form) throw new Error(say("no-model"));
  return form.rowsOf(text);
};
const comparison = new Comparison((row) => takeRow(row, say("rows.filled")));
const bounds = byId("bounds"); // moved between the search and its explanation
const manyRows = new ManyRows(api, () => [byId("model").value, byId("second").value].filter((name) => name !== "")
  .map((model) => (name) => pathOf(model, name)), () => {
  if (!form || !settings) return {}; // no model is described yet
  const { x, ...members } = question();
  return members;
}, notify);
let form = null, settings = null, running = null; // form is null until its model is described
let answered = null; // the question that the page shows the answer to, as JSON
let offerOther = () => {}; // offers to ask the other model what the answer answers

async function listModels() {
  let listed;
  try {
    listed = await api.get("v1/models");
  } catch (error) {
    byId("key-part").hidden = byId("unlock").hidden = error.status !== 401;
    return setStatus("failed", error.message);
  }
  replace(byId("model"), listed.models.map(({ name }) => el("option", { value: name }, name)));
  listBookmarks();
  return restoreLink(chooseModel);
}

async function chooseModel() {
  running?.abort(); // a running request is about another model
  decision.stop();
  form = settings = null;
  const of = path("");
  const others = [...byId("model").options].map((option) => option.value).filter((name) => name !== byId("model").value);
  byId("second-part").hidden = others.length === 0;
  replace(byId("second"), el("option", { value: "" }, say("second.none")),
    others.map((name) => el("option", { value: name }, name)));
  try {
    const described = await api.get(of.slice(0, -1));
    if (of !== path("")) return; // another model was chosen meanwhile
    form = new RowForm(described.features, described.example, () => {
      if (form) decision.edited(form);
      markStale();
    });
    settings = new Settings(described);
    const numbers = described.features.filter(isOrdered);
    byId("what-if").hidden = numbers.length === 0;
    replace(byId("shift-feature"), numbers.map(({ name }) => el("option", { value: name }, name)));
    chooser.describe(described);
    decision.prepare(described);
    decision.edited(form);
    byId("digest").textContent = visible(say("digest", { digest: described.digest }));
    clearAnswer();
    comparison.clear();
    notify("");
    setStatus("", say("idle"));
    await manyRows.describe(described);
  } catch (error) {
    if (of === path("")) setStatus("failed", error.message);
  }
}

function clearAnswer() {
  form.mark([], "");
  for (const name of ["found", "actions", "more", "how-part"]) replace(byId(name));
  byId("further").hidden = bounds.hidden = byId("program").hidden = true;
  offerOther = () => {};
  answered = null;
  markStale();
}

// Shows whether the answer is about the row and the question of the form.
function markStale() {
  byId("stale").hidden = answered === null || !form || !settings || JSON.stringify(question()) === answered;
}

// Returns whether the row was filled in.
function takeRow(row, words) {
  try {
    if (!form) throw new Error(say("no-model"));
    const ignored = form.take(row);
    notify(ignored.length ? `${words} ${say("form.ignored", { names: ignored.join(", ") })}` : words);
    return true;
  } catch (error) {
    notify(say("rows.unusable", { reason: error.message }), true);
    return false;
  }
}

function question() {
  const weights = form.weights();
  return {
    x: form.row(), constraints: [...form.constraints(), ...settings.constraints()], ...settings.members(),
    ...(Object.keys(weights).length && { weights }),
  };
}

async function askQuestion(event) {
  event.preventDefault();
  if (running) return;
  if (!form) return byId("status").className === "failed" ? undefined : setStatus("failed", say("no-model"));
  const body = question(), of = path(""), points = [];
  running = new AbortController();
  byId("ask").disabled = true;
  byId("stop").hidden = false;
  clearAnswer();
  comparison.begin(body.x, form.units, conditions(body, form));
  byId("bounds-part").append(bounds);
  setStatus("", say("searching"));
  try {
    let answer = null;
    await api.stream(`${of}explain`, body, running.signal, (event, data) => {
      if (event === "bounds") {
        points.push([data.seconds, data.upper, data.lower]);
        if (data.seconds > 1) drawBounds(bounds, points, data.seconds);
      } else if (event === "waiting") setStatus("", worded(data));
      else if (event === "problem") throw new Error(worded(data));
      else if (event === "answer") answer = data;
    });
    if (answer === null) throw new Error(say("closed"));
    if (of === path("")) showResult(of, body, answer);
  } catch (error) {
    setStatus("failed", error.name === "AbortError" ? say("stopped") : error.message);
  }
  running = null;
  byId("ask").disabled = false;
  byId("stop").hidden = true;
  if (document.activeElement === document.body) byId("ask").focus({ preventScroll: true }); // lost while it was disabled
  byId("status").scrollIntoView({ block: "nearest" }); // a long form ends far below it
}

function showResult(of, body, { answer: result, attempts, limits }) {
  drawBounds(bounds, result.trace, result.timings.total);
  replace(byId("found"), answerParts(result, body.target, settings.unit(), form.units));
  replace(byId("how-part"), howFound(result, attempts, bounds, (...drawn) => diagram(of, ...drawn)));
  const changed = result.counterfactual && result.changes.length > 0;
  replace(byId("actions"), changed
    ? [button(say("use"), () => takeRow(result.counterfactual, say("rows.filled"))),
      button(say("keep"), () => comparison.add(null, result))]
    : null);
  const other = el("span");
  byId("actions").append(other);
  offerOther = () => replace(other, byId("second").value ? askAnother(byId("second").value, body) : null);
  offerOther();
  if (result.counterfactual) form.draw(result.counterfactual);
  furtherQuestions(byId("more"), body, result, (name, members) => api.post(`${of}${name}`, members), comparison,
    form, settings.plausible);
  byId("further").hidden = false;
  answered = JSON.stringify(body);
  markStale();
  const record = () => api.post(`${of}explain`, { ...body, record: true });
  replace(byId("downloads"),
    download(say("record"), "answer.json", async () =>
      new Blob([JSON.stringify((await record()).record)], { type: "application/json" })),
    download(say("report"), "decision.html", async () =>
      (await api.send("POST", `${of}report`, body, undefined, "text/html")).blob()));
  const [look, sentence] = headline(result);
  setStatus(look, limits.clipped.includes("time_limit_s")
    ? `${sentence} ${say("clipped", { limit: duration(limits.time_limit_s) })}` : sentence);
}

// Returns a button that asks another model the same, and compares its answer.
function askAnother(name, body) {
  return button(say("second.ask", { name }), async (event) => {
    event.target.disabled = true;
    try {
      const { answer } = await api.post(pathOf(name, "explain"), body);
      if (comparison.row !== body.x) return; // another question was asked meanwhile
      if (answer.counterfactual && answer.changes.length) comparison.add(name, answer, name);
      else notify(say("second.none-found", { name, sentence: headline(answer)[1] }));
    } catch (error) {
      notify(say("second.none-found", { name, sentence: error.message }), true);
    }
    event.target.disabled = false;
  });
}

// Fetched by the script, which can send an API key.
function diagram(of, taken, alt) {
  const picture = el("img", { class: "diagram", alt });
  api.send("GET", `${of}diagram.svg?decision=${encodeURIComponent(taken)}`).then(async (answer) => {
    const file = URL.createObjectURL(await answer.blob());
    picture.addEventListener("load", () => URL.revokeObjectURL(file));
    picture.src = file;
  }).catch(() => picture.remove());
  return picture;
}

// Returns the address that restores the question, with the row only if that is wanted.
function link(withRow) {
  const state = { model: byId("model").value, second: byId("second").value, features: form.state(), settings: settings.state() };
  if (withRow) Object.assign(state, { x: form.row(), answered: answered !== null });
  return toFragment(state);
}

async function restoreLink(otherwise) {
  let state;
  try {
    state = fromFragment(history.state ?? location.hash);
    history.replaceState(null, "");
    if (state && ![...byId("model").options].some((option) => option.value === state.model)) {
      throw new Error(say("link.no-model", { name: state.model }));
    }
  } catch (error) {
    await otherwise();
    return notify(say("not-restored", { reason: error.message }), true);
  }
  if (state) byId("model").value = state.model;
  await chooseModel();
  if (!state || !form) return undefined;
  byId("second").value = state.second ?? "";
  if (byId("second").selectedIndex < 0) byId("second").value = ""; // the server no longer has it
  if (byId("second").value) decision.edited(form);
  form.restore(state.features ?? {});
  settings.restore(state.settings ?? {});
  manyRows.drawTarget();
  if (!state.x) return notify(say("restored.no-row"));
  if (takeRow(state.x, say("restored")) && state.answered) byId("question").requestSubmit(); // so that its answer is shown
  return undefined;
}

function listBookmarks() {
  const kept = Object.entries(bookmarks());
  replace(byId("bookmarks"), kept.map(([name, fragment]) => el("li", {},
    el("a", { href: fragment, title: say("bookmark.open", { name }),
      onclick: () => location.hash === fragment && restoreLink(chooseModel) }, name), " ",
    button("×", () => {
      keepBookmark(name, null);
      listBookmarks();
    }, { "aria-label": say("bookmark.remove", { name }) }))));
}

// Shows a sentence about the row or about keeping the question; the status of the answer stays.
function notify(sentence, failed = false) {
  byId("notice").className = failed ? "failed" : "";
  byId("notice").textContent = visible(sentence);
}

function setStatus(look, sentence) {
  byId("status").className = look;
  byId("status").textContent = visible(sentence);
}

byId("model").addEventListener("change", chooseModel);
byId("second").addEventListener("change", () => {
  if (form) decision.edited(form);
  offerOther();
});
byId("which").addEventListener("submit", (event) => {
  event.preventDefault();
  api.key = byId("key").value;
  listModels();
});
byId("question").addEventListener("submit", askQuestion);
for (const kind of ["input", "change"]) byId("question").addEventListener(kind, markStale);
byId("question").addEventListener("invalid", (event) => {
  const folded = event.target.closest("details"); // where the browser cannot show its message
  if (folded) folded.open = true;
}, true);
byId("stop").addEventListener("click", () => running?.abort());
byId("take").addEventListener("click", () => {
  try {
    if (chooser.offer(rowsOf(byId("pasted").value))) byId("pasting").open = false;
  } catch (error) {
    notify(say("rows.unusable", { reason: error.message }), true);
  }
});
const openFile = (file) => chooser.open(file, rowsOf).catch((error) =>
  notify(say("rows.unusable", { reason: error.message }), true));
byId("file").addEventListener("change", async () => {
  if (byId("file").files.length) await openFile(byId("file").files[0]);
  byId("file").value = ""; // so that the same file can be chosen again
});
byId("row").addEventListener("dragover", (event) => event.preventDefault());
byId("row").addEventListener("drop", (event) => {
  event.preventDefault();
  byId("pasting").open = true;
  if (event.dataTransfer.files.length) openFile(event.dataTransfer.files[0]);
});
byId("shift").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = byId("shift-feature").value;
  try {
    const [before, after] = form.shift(name, Number(byId("shift-percent").value) / 100).map((each) => form.written(name, each));
    notify(say("shift.done", { name, before, after }));
  } catch (error) {
    notify(error.message, true);
  }
});
byId("lock").addEventListener("click", () => {
  if (!form) return;
  const names = form.lockUnchangeable();
  markStale();
  notify(names.length ? say("locked", { names: names.join(", ") }) : say("locked.none"));
});
byId("release").addEventListener("click", () => {
  form?.restore({});
  markStale();
});
byId("advanced").addEventListener("toggle", () => byId("features").classList.toggle("advanced", byId("advanced").open));
byId("link").addEventListener("click", async () => {
  history.replaceState(null, "", link(byId("with-row").checked));
  try {
    await navigator.clipboard.writeText(location.href);
    notify(say("link.copied"));
  } catch { // without permission, or on an address without HTTPS
    notify(say("link.written"));
  }
});
byId("bookmark").addEventListener("submit", (event) => {
  event.preventDefault();
  try {
    const name = byId("bookmark-name").value, withRow = byId("with-row").checked;
    keepBookmark(name, link(withRow));
    listBookmarks();
    notify(say("bookmark.kept", { name }) + (withRow ? "" : ` ${say("bookmark.no-row")}`));
  } catch (error) {
    notify(error.message, true);
  }
});
byId("python").addEventListener("click", () => {
  const shown = byId("program");
  if (shown.hidden && !byId("question").reportValidity()) return;
  shown.hidden = !shown.hidden;
  const url = location.protocol === "about:" ? null : new URL(".", location.href).href.replace(/\/$/, ""); // null in a notebook
  shown.textContent = visible(asPython(url, byId("model").value, question(),
    api.key !== "")); // Python reads escaped characters as the same text
});
byId("language").value = language;
byId("language").addEventListener("change", () => {
  try {
    choose(byId("language").value);
  } catch (error) { // the browser stores nothing
    return notify(error.message, true);
  }
  if (form) history.replaceState(link(true), ""); // the page starts again with the same question
  return location.reload();
});
translate();
window.addEventListener("hashchange", () => location.hash.startsWith("#q=") && restoreLink(chooseModel));
listModels();
