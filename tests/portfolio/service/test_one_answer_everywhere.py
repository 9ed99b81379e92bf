"""Each question has one answer, whichever way it is put: each door gives that of the method."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest

from counterfolio import Explainer, Fixed, FrameAnswers, MaxChanges, Retraining
from counterfolio.compat.dice import Dice
from encoders.core.errors import InputError
from portfolio.cli.questions import command_name
from portfolio.notebook.local_service import LocalService
from portfolio.questions.records import QUESTIONS
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.portfolio.cli.test_cli import run
from tests.support.local import Asked, local_service
from tests.support.served import lasting

pytestmark = pytest.mark.usefixtures("forked_children")

ROWS = [name for name, record in QUESTIONS.items() if not record.table]
# Settings of a program, of a JSON body, and of the command line.
SETTINGS = {
    "verify": ({"radius": 0.5}, {"radius": 0.5}, ["--radius", 0.5]),
    "explain_robust": (
        {"against": Retraining(0.6)},
        {"against": {"Retraining": {"confidence": 0.6}}},
        ["--confidence", 0.6],
    ),
    "several": ({"k": 2}, {"k": 2}, ["--count", 2]),
    "diverse": ({"k": 2}, {"k": 2}, ["--count", 2]),
    "front": ({"levels": [1, 2]}, {"levels": [1, 2]}, ["--levels", "1,2"]),
    "reason_codes": ({"n": 2}, {"n": 2}, ["--n", 2]),
    "alternatives_of": ({"feature": "income"}, {"feature": "income"}, ["--feature", "income"]),
    "region": ({}, {}, ["--itself"]),
}


@pytest.fixture(scope="module")
def files(credit, tmp_path_factory):
    """A model and its table as the command line reads them."""
    folder = tmp_path_factory.mktemp("one_answer")
    model, X = credit
    joblib.dump(model, folder / "model.joblib")
    X.to_csv(folder / "rows.csv", index=False)
    return folder


def settings_of(name, credit, at):
    """Return the settings of each way to ask a question about a row."""
    if name != "contrast":
        return SETTINGS.get(name, ({}, {}, []))
    model, X = credit
    labels = model.predict(X)
    other = int(np.flatnonzero(labels != labels[at])[0])
    y = {str(column): float(value) for column, value in X.iloc[other].items()}
    return {"y": X.iloc[other]}, {"y": y}, ["--other", other]


def plain(answer):
    return lasting(json.loads(json.dumps(answer.to_dict())))


@dataclass(frozen=True)
class Query:
    """A question about a row, in the forms of all doors."""

    name: str
    at: int  # position of the row in X
    X: pd.DataFrame
    row: dict[str, float]
    python: dict[str, Any]
    body: dict[str, Any]
    line: list[Any]
    explainer: Explainer
    folder: Path
    local: LocalService

    @property
    def record(self):
        return QUESTIONS[self.name](threads=1, **self.python)


def posted(client, path, body):
    sent = client.post(path, json=body)
    assert sent.status_code == 200, sent.text
    return sent.json()


def by_method(query):
    return getattr(query.explainer, query.name)(query.X.iloc[query.at], threads=1, **query.python)


def by_record(query, client):
    return query.explainer.ask(query.X.iloc[query.at], query.record).to_dict()


def by_saved_explainer(query, client):
    saved = query.folder / "saved"
    if not saved.exists():
        query.explainer.save(saved)
    return Explainer.load(saved, trust=True).ask(query.X.iloc[query.at], query.record).to_dict()


def by_http(query, client):
    path = f"/v1/models/credit/{command_name(query.name)}"
    return posted(client, path, {"x": query.row, **query.body})["answer"]


def by_kserve_v1(query, client):
    parameters = {"question": command_name(query.name), **query.body}
    body = {"instances": [query.row], "parameters": parameters}
    return posted(client, "/v1/models/credit:explain", body)["explanations"][0]


def by_kserve_v2(query, client):
    inputs = [
        {"name": name, "shape": [1], "datatype": "FP64", "data": [value]}
        for name, value in query.row.items()
    ]
    parameters = {"question": command_name(query.name), **query.body}
    body = {"inputs": inputs, "parameters": parameters}
    return json.loads(posted(client, "/v2/models/credit/infer", body)["outputs"][0]["data"][0])


def by_command(query, client):
    data = ["--model", query.folder / "model.joblib", "--trust-pickle"]
    data += ["--data", query.folder / "rows.csv"]
    command = "robustness" if query.name == "verify" else command_name(query.name)
    printed = run(command, *data, "--row", query.at, "--threads", 1, "--json", *query.line)
    assert printed.stdout, printed.output
    return {key: value for key, value in json.loads(printed.stdout).items() if key != "query"}


def by_widget(query, client):
    path = f"/v1/models/explainer/{command_name(query.name)}"
    return Asked(query.local, "POST", path, {"x": query.row, **query.body}).json()["answer"]


DOORS = [by_record, by_saved_explainer, by_http, by_widget, by_kserve_v1, by_kserve_v2, by_command]


@pytest.fixture(scope="module")
def local(explainer):
    """The service of a widget."""
    with local_service(Settings(lambda: [AtHand("explainer", explainer, {})], workers=1)) as made:
        yield made


@pytest.fixture(scope="module")
def query_of(explainer, credit, row, files, local):
    """A function from the name of a question to its query."""
    model, X = credit
    at = int(np.flatnonzero(model.predict(X) == "refused")[0])

    @cache
    def made(name):
        settings = settings_of(name, credit, at)
        return Query(name, at, X, row, *settings, explainer, files, local)

    return made


@pytest.fixture(scope="module")
def answer_of(query_of):
    """A function from the name of a question to the answer of its method."""
    return cache(lambda name: by_method(query_of(name)))


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", ROWS)
def test_each_door_gives_the_answer_of_the_method(name, door, query_of, answer_of, client):
    answer = json.loads(json.dumps(door(query_of(name), client)))
    assert lasting(answer) == plain(answer_of(name))


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_a_batch_gives_the_answer_of_the_method(name, query_of, answer_of):
    query, answer = query_of(name), answer_of(name)
    table = query.explainer.ask_batch(name, query.X.iloc[[query.at]], **query.python)
    assert (table["status"][0], table["text"][0]) == (answer.status, str(answer))


def in_a_ray_actor(explainer, X, settings, folder):
    explainer.save(folder / "ray")
    udf = pytest.importorskip("counterfolio.ray").CounterfolioUDF(folder / "ray", **settings)
    return udf({name: X[name].to_numpy() for name in X}).to_pandas()


def in_mlflow(explainer, X, settings, folder):
    pyfunc = pytest.importorskip("mlflow.pyfunc")
    pytest.importorskip("counterfolio.mlflow").save_model(explainer, folder / "mlflow", settings)
    return pyfunc.load_model(str(folder / "mlflow")).predict(X)


def in_frames(explainer, X, settings, folder):
    return FrameAnswers(explainer, X, **settings)(X)


def in_dice(explainer, X, settings, folder):
    costs = {name: value for name, value in settings.items() if name != "target"}
    label = settings.get("target", "opposite")
    found = Dice(explainer, threads=1, **costs).generate_counterfactuals(X, 1, label)
    answers = [examples.answer for examples in found.cf_examples_list]
    return pd.DataFrame(
        {
            "status": [each.status for each in answers],
            "distance": [each.distance for each in answers],
            "changed": [", ".join(change.feature for change in each.changed) for each in answers],
        }
    )


@pytest.mark.parametrize("door", [in_a_ray_actor, in_mlflow, in_frames, in_dice])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"target": "granted", "norm": 0},
        {"target": "granted", "scale": "std", "constraints": [Fixed("age"), MaxChanges(1)]},
        {"target": "refused", "weights": {"income": 3.0}},
    ],
    ids=["default", "count", "constraints", "weights"],
)
def test_each_door_for_tables_gives_the_answers_of_a_batch(
    settings, door, explainer, credit, tmp_path
):
    X = credit[1].head(12)
    expected = explainer.explain_batch(X, **settings)
    found = door(explainer, X, settings, tmp_path)
    names = ["status", "distance", "changed"]
    pd.testing.assert_frame_equal(found[names], expected[names], check_dtype=False)


def test_a_portfolio_is_refused_where_it_cannot_be_used(client, row, files):
    sent = client.post("/v1/models/credit/explain", json={"x": row, "portfolio": ["cp", "milp"]})
    assert sent.status_code == 200, sent.text
    refused = client.post("/v1/models/credit/explain", json={"x": row, "portfolio": "papr"})
    assert refused.status_code == 422 and "Unknown portfolio 'papr'" in refused.text
    data = ["--model", files / "model.joblib", "--trust-pickle", "--data", files / "rows.csv"]
    limits = ["--question", "reasons", "--portfolio", "cp", "--out", files / "none"]
    with pytest.raises(InputError, match="reasons does not support --portfolio"):
        raise run("batch", *data, *limits).exception
