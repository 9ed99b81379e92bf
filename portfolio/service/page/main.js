// The page: choose a model, fill in a row, request an explanation, watch the bounds.

import { answerParts, headline } from "./answer.js";
import { Api } from "./api.js";
import { drawBounds } from "./chart.js";
import { byId, counted, el, replace, visible } from "./dom.js";
import { RowForm } from "./form.js";
import { download, furtherQuestions } from "./more.js";
import { Target } from "./target.js";

const api = new Api();
let form = null, target = null, running = null;

const model = () => encodeURIComponent(byId("model").value);

async function listModels() {
  let listed;
  try {
    listed = await api.get("v1/models");
  } catch (error) {
    byId("key-part").hidden = byId("unlock").hidden = error.status !== 401;
    return setStatus("failed", error.message);
  }
  replace(byId("model"), listed.models.map(({ name }) => el("option", { value: name }, name)));
  return chooseModel();
}

async function chooseModel() {
  running?.abort(); // a running request is about another model
  try {
    const described = await api.get(`v1/models/${model()}`);
    form = new RowForm(described.features, described.example);
    target = new Target(described.classes, described.outputs);
    replace(byId("backend"), described.strategies.map((name) => el("option", { value: name }, name)));
    byId("digest").textContent = `Model digest ${described.digest}`;
    replace(byId("found"));
    replace(byId("more"));
    byId("bounds").hidden = true;
    setStatus("", "No explanation yet.");
  } catch (error) {
    setStatus("failed", error.message);
  }
}

function question() {
  const most = byId("most").value;
  const constraints = form.constraints();
  if (most) constraints.push({ MaxChanges: [Number(most)] });
  return {
    x: form.row(), constraints, strategy: byId("backend").value,
    ...target.member(), time_limit_s: Number(byId("limit").value),
  };
}

async function askQuestion(event) {
  event.preventDefault();
  if (running) return;
  if (!form) return setStatus("failed", byId("status").textContent || "No model is loaded. Reload the page.");
  const body = question(), name = model(), points = [];
  running = new AbortController();
  byId("ask").disabled = true;
  byId("stop").hidden = false;
  replace(byId("found"));
  replace(byId("more"));
  byId("bounds").hidden = true;
  setStatus("", "Searching …");
  try {
    let answer = null;
    await api.stream(`v1/models/${name}/explain`, body, running.signal, (event, data) => {
      if (event === "bounds") {
        points.push([data.seconds, data.upper, data.lower]);
        drawBounds(byId("bounds"), points, data.seconds);
      } else if (event === "waiting") setStatus("", data.detail);
      else if (event === "problem") throw new Error(data.detail);
      else if (event === "answer") answer = data;
    });
    if (answer === null) throw new Error("The server closed the connection before it answered. Try again.");
    showResult(name, body, answer);
  } catch (error) {
    setStatus("failed", error.name === "AbortError" ? "Stopped." : error.message);
  }
  running = null;
  byId("ask").disabled = false;
  byId("stop").hidden = true;
}

function showResult(of, body, { answer: result, attempts, limits }) {
  drawBounds(byId("bounds"), result.trace, result.timings.total);
  replace(byId("found"), answerParts(result, attempts, (...path) => diagram(of, ...path)));
  const further = (name, members) => api.post(`v1/models/${of}/${name}`, members);
  const record = () => api.post(`v1/models/${of}/explain`, { ...body, record: true });
  furtherQuestions(byId("more"), body, result, further, [
    download("Record with proof", "answer.json", async () =>
      new Blob([JSON.stringify((await record()).record)], { type: "application/json" })),
    download("Report to print", "decision.html", async () => {
      const path = `v1/models/${of}/report`;
      return (await api.send("POST", path, body, undefined, "text/html")).blob();
    }),
  ]);
  const [look, sentence] = headline(result);
  setStatus(look, limits.clipped.includes("time_limit_s")
    ? `${sentence} The server reduced the time limit to ${counted(limits.time_limit_s, "second")}.` : sentence);
}

// Fetched by the script, which can send an API key.
function diagram(of, decision, alt) {
  const picture = el("img", { class: "diagram", alt });
  const path = `v1/models/${of}/diagram.svg?decision=${encodeURIComponent(decision)}`;
  api.send("GET", path).then(async (answer) => {
    const file = URL.createObjectURL(await answer.blob());
    picture.addEventListener("load", () => URL.revokeObjectURL(file));
    picture.src = file;
  }).catch(() => picture.remove());
  return picture;
}

function setStatus(look, sentence) {
  byId("status").className = look;
  byId("status").textContent = visible(sentence);
}

byId("model").addEventListener("change", chooseModel);
byId("which").addEventListener("submit", (event) => {
  event.preventDefault();
  api.key = byId("key").value;
  listModels();
});
byId("question").addEventListener("submit", askQuestion);
byId("stop").addEventListener("click", () => running?.abort());
byId("take").addEventListener("click", () => {
  try {
    form.paste(byId("pasted").value);
    byId("pasting").open = false;
    setStatus("", "The values were filled in.");
  } catch (error) {
    setStatus("failed", `The pasted row cannot be used: ${error.message}`);
  }
});
listModels();
