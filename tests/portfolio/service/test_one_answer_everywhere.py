"""Each question has one answer: of its method, its record, its command, HTTP and a batch."""

import json

import joblib
import numpy as np
import pytest

from counterfolio import Retraining
from encoders.core.errors import InputError
from portfolio.cli.questions import command_name
from portfolio.questions.records import QUESTIONS
from tests.portfolio.cli.test_cli import run
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


@pytest.mark.slow
@pytest.mark.parametrize("name", ROWS)
def test_each_way_to_ask_gives_the_same_answer(name, explainer, credit, client, row, files):
    model, X = credit
    at = int(np.flatnonzero(model.predict(X) == "refused")[0])
    python, body, line = settings_of(name, credit, at)
    answer = getattr(explainer, name)(X.iloc[at], threads=1, **python)
    expected = plain(answer)
    assert plain(explainer.ask(X.iloc[at], QUESTIONS[name](threads=1, **python))) == expected

    sent = client.post(f"/v1/models/credit/{command_name(name)}", json={"x": row, **body})
    assert sent.status_code == 200, sent.text
    assert lasting(sent.json()["answer"]) == expected

    data = ["--model", files / "model.joblib", "--trust-pickle", "--data", files / "rows.csv"]
    command = "robustness" if name == "verify" else command_name(name)
    printed = run(command, *data, "--row", at, "--threads", 1, "--json", *line)
    assert printed.stdout, printed.output
    told = lasting(json.loads(printed.stdout))
    assert {key: value for key, value in told.items() if key != "query"} == expected

    table = explainer.ask_batch(name, X.iloc[[at]], **python)
    assert (table["status"][0], table["text"][0]) == (answer.status, str(answer))


def test_a_portfolio_is_refused_where_it_cannot_be_used(client, row, files):
    sent = client.post("/v1/models/credit/explain", json={"x": row, "portfolio": ["cp", "milp"]})
    assert sent.status_code == 200, sent.text
    refused = client.post("/v1/models/credit/explain", json={"x": row, "portfolio": "papr"})
    assert refused.status_code == 422 and "Unknown portfolio 'papr'" in refused.text
    data = ["--model", files / "model.joblib", "--trust-pickle", "--data", files / "rows.csv"]
    limits = ["--question", "reasons", "--portfolio", "cp", "--out", files / "none"]
    with pytest.raises(InputError, match="reasons does not support --portfolio"):
        raise run("batch", *data, *limits).exception
