"""Questions that a worker is given at once have the answers that they have alone."""

import json
import threading
import time
from collections import deque
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from xgboost import XGBClassifier

from portfolio import Explainer, Plausibility
from portfolio.api.variants import asker_of
from portfolio.engine.logbook import Logbook
from portfolio.engine.rounder import Rounder
from portfolio.model.native import NativeModel
from portfolio.service.asking import answer
from portfolio.service.messages import Ask
from portfolio.service.together import JointAnswers
from portfolio.workers.work import Task
from portfolio.workers.work_process import Desk, Several
from selector import logs
from tests.support.gathered import contrary, picky
from tests.support.served import lasting

MODELS = [
    RandomForestClassifier(12, max_depth=4, random_state=0),
    XGBClassifier(n_estimators=12, max_depth=3),
    LGBMClassifier(n_estimators=12, num_leaves=6, n_jobs=1, verbose=-1),
    HistGradientBoostingClassifier(max_iter=12, max_depth=3, random_state=0),
]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(0, 2, (200, 4)).round(3), columns=list("abcd"))
    return X, (X["a"] + X["b"] * X["c"] / 3 + rng.normal(0, 1, 200) > 0).astype(int)


@pytest.fixture
def asked(monkeypatch):
    """Return the number of rows of each native call, as they are made."""
    counts = []

    def counted(name):
        own = getattr(NativeModel, name)

        def count(native, rows, *more, **named):
            counts.append(len(rows))
            return own(native, rows, *more, **named)

        monkeypatch.setattr(NativeModel, name, count)

    for name in ("predict", "probabilities", "values"):
        counted(name)
    return counts


def asks_of(rows, **arguments):
    about = {"time_limit_s": 10.0, "threads": 1} | arguments
    return [
        Task(str(number), Ask("explain", {"x": row} | about, 10.0), 10.0)
        for number, row in enumerate(rows.to_dict("records"))
    ]


def together(explainer, asks, stop_of=lambda ask: threading.Event()):
    """Return the answers by key, and the keys of tasks that were sent back."""
    told, back = {}, []

    def send(kind, content):
        told.update(content) if kind == "answers" else back.extend(content[0])

    several(explainer, asks, send, stop_of).answer_all()
    return told, back


def several(explainer, asks, send, stop_of=lambda ask: threading.Event()):
    """Return the joint answers of a worker."""
    desk = Desk(SimpleNamespace(send=send))
    return Several(desk, JointAnswers.of(explainer, stop_of), deque(asks))


def document(told):
    """Return the parts of an answer that are equal in every run."""
    members = {name: json.loads(own) for name, own in told.members.items() if name != "attempts"}
    return lasting(members), told.status, told.backend


def alike(explainer, asks):
    told, back = together(explainer, asks)
    assert sorted([*told, *back], key=int) == [ask.key for ask in asks]
    for ask in asks:
        if ask.key in told:
            alone = answer(explainer, ask.payload, lambda bounds: None)
            assert document(told[ask.key]) == document(alone)
    return told, back


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "text"),
    [*zip(MODELS, [False, True, False, True], strict=True)],
    ids=[type(model).__name__ for model in MODELS],
)
def test_answers_are_those_of_single_questions(table, model, text, asked):
    X, y = table
    explainer = Explainer(model.fit(X, y), X)
    asks = asks_of(X.iloc[:12], text=text)
    together(explainer, asks[:1])
    asked.clear()
    together(explainer, asks)
    # Numbers come with the classes where the model's own class is the likeliest.
    calls = [count for count in asked if count > 2]
    assert calls == asked[-len(calls) :] and min(calls) >= 12
    assert len(calls) <= (1 if asker_of(explainer).model.native.likeliest else 3)
    told, back = alike(explainer, asks)
    assert not back and {each.status for each in told.values()} == {"optimal"}


def test_of_any_target_and_companions(table):
    X, y = table
    forest = IsolationForest(n_estimators=12, max_samples=64, contamination=0.1, random_state=0)
    model, rows = MODELS[0].fit(X, y), X.iloc[:6]
    plausible = Explainer(model, X, plausibility=Plausibility(forest.fit(X)))
    votes, number = Explainer(model, X, voting="hard"), RandomForestRegressor(5, max_depth=3)
    asks = [
        *((plausible, asks_of(rows)), (votes, asks_of(rows, target=1))),
        (Explainer(model, X), asks_of(rows, target={"Probability": [1, 0.7]})),
        (Explainer(number.fit(X, y), X), asks_of(rows, target=[0.5, None])),
    ]
    for explainer, own in asks:
        told, back = alike(explainer, own)
        assert len(told) == 6 and not back


@pytest.mark.parametrize("text", [False, True])
def test_numbers_in_fewer_digits_are_left_out_where_nobody_wants_them(table, text, monkeypatch):
    X, y = table
    explainer = Explainer(MODELS[0].fit(X, y), X)
    monkeypatch.delattr(Rounder, "fewest")  # no search for them is allowed
    told, back = alike(explainer, asks_of(X.iloc[:6], text=text, rounded=False))
    assert len(told) == 6 and not back
    for own in told.values():
        assert json.loads(own.members["answer"])["rounded"] is None


@pytest.mark.parametrize("said", [contrary, picky])
def test_what_the_model_contradicts_is_given_back(table, said, monkeypatch):
    """A model that changed after it was read: it contradicts, or refuses, some answers."""
    X, y = table
    explainer = Explainer(RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, y), X)
    own, odd = NativeModel.predict, X["a"].median()
    monkeypatch.setattr(NativeModel, "likeliest", False)
    monkeypatch.setattr(
        NativeModel,
        "predict",
        lambda native, rows, clear=False: said(own(native, rows, clear), rows[:, 0] > odd),
    )
    told, back = alike(explainer, asks_of(X[X["a"] <= odd].iloc[:12]))
    answers = [json.loads(each.members["answer"])["counterfactual"] for each in told.values()]
    assert back and all(own["a"] <= odd for own in answers)
    assert bool(told) == (said is contrary)


def test_a_likeliest_class_that_is_contradicted_is_given_back(table, monkeypatch):
    X, y = table
    explainer = Explainer(MODELS[1].fit(X, y), X)
    own, odd = NativeModel.probabilities, X["d"].median()

    def other(native, rows):
        told = own(native, rows)
        told[rows[:, 3] > odd] = told[rows[:, 3] > odd, ::-1]
        return told

    monkeypatch.setattr(NativeModel, "probabilities", other)
    told, back = together(explainer, asks_of(X.iloc[:12]))
    assert (
        sorted(map(int, back)) == [at for at in range(12) if X["d"].iloc[at] > odd]
        and len(told) > 2
    )


def test_what_can_not_be_asked_is_given_back(table):
    X, y = table
    explainer = Explainer(MODELS[0].fit(X, y), X)
    asks = asks_of(X.iloc[:4])
    del asks[1].payload.arguments["x"]["a"]
    told, back = together(explainer, asks)
    assert back == ["1"] and sorted(told) == ["0", "2", "3"]


def test_in_a_hurry_the_others_are_told_and_given_back(table, monkeypatch):
    """Flush while the third of five takes long; nothing is sent a second time."""
    X, y = table
    explainer = Explainer(MODELS[0].fit(X, y), X)
    sent, asks = [], asks_of(X.iloc[:5])

    def slow(ask):
        if ask.key == "2":
            other = threading.Thread(target=answering.flush)
            other.start()
            other.join()
        return threading.Event()

    answering = several(explainer, asks, lambda kind, own: sent.append((kind, own)), slow)
    answering.answer_all()
    assert [kind for kind, _ in sent] == ["back", "answers", "answers"]
    assert sent[0][1] == (["3", "4"], False)
    assert [[key for key, _ in content] for _, content in sent[1:]] == [["0", "1"], ["2"]]


def test_one_that_is_stopped_ends_alone(table):
    X, y = table
    explainer = Explainer(MODELS[0].fit(X, y), X)
    ended = threading.Event()
    ended.set()
    told, back = together(
        explainer, asks_of(X.iloc[:3]), lambda ask: ended if ask.key == "1" else threading.Event()
    )
    assert len(told) == 3 and not back
    assert told["0"].status == told["2"].status == "optimal"


def with_log(asks, folder):
    log = Logbook(folder, "table")
    return [replace(ask, payload=replace(ask.payload, log=log)) for ask in asks]


SECONDS = ("pose_s", "reduce_s", "build_s", "solve_s", "verify_s", "total_s", "queue_s", "stop_s")
OWN = ("run", "time", "load", "limit_s", "peak_bytes", "trace", "describe_s", *SECONDS)


def test_each_question_has_the_log_record_that_it_has_alone(table, tmp_path):
    X, y = table
    explainer = Explainer(MODELS[0].fit(X, y), X)
    asks = with_log(asks_of(X.iloc[:12]), tmp_path / "together")
    asks[3].payload.arguments["constraints"] = [{"Fixed": "a"}, {"MaxChanges": [1]}]
    told, back = together(explainer, asks)
    assert len(told) == 12 and not back and not any(each.complaint for each in told.values())
    for ask in with_log(asks, tmp_path / "alone"):
        answer(explainer, ask.payload, lambda bounds: None)
    found, alone = logs.read(tmp_path / "together"), logs.read(tmp_path / "alone")
    assert len(found) >= 12 and found["query"].nunique() == 12 and found["run"].is_unique
    lasts = [name for name in found.columns if name not in OWN]
    pd.testing.assert_frame_equal(found[lasts], alone[lasts])
    assert not logs.check(found)


def test_what_verifying_took_is_shared_equally(table, tmp_path, monkeypatch):
    X, y = table
    explainer = Explainer(MODELS[1].fit(X, y), X)
    own = NativeModel.probabilities

    def slow(native, rows):
        time.sleep(0.4 if len(rows) > 2 else 0.0)
        return own(native, rows)

    monkeypatch.setattr(NativeModel, "probabilities", slow)
    told, _ = together(explainer, with_log(asks_of(X.iloc[:8]), tmp_path))
    found = logs.read(tmp_path)
    assert found["verify_s"].min() >= 0.05 and found["verify_s"].max() < 0.4
    assert (found["total_s"] >= found["verify_s"]).all()
    times = [json.loads(each.members["answer"])["timings"] for each in told.values()]
    assert [each["verify"] for each in times] == found["verify_s"].tolist()
    assert [each["total"] for each in times] == found["total_s"].tolist()


def test_what_is_given_back_is_not_logged(table, tmp_path, monkeypatch):
    X, y = table
    explainer = Explainer(RandomForestClassifier(12, max_depth=4, random_state=0).fit(X, y), X)
    own, odd = NativeModel.predict, X["d"].median()
    monkeypatch.setattr(NativeModel, "likeliest", False)
    monkeypatch.setattr(
        NativeModel,
        "predict",
        lambda native, rows, clear=False: contrary(own(native, rows, clear), rows[:, 3] > odd),
    )
    told, back = together(explainer, with_log(asks_of(X.iloc[:12]), tmp_path))
    assert told and back and logs.read(tmp_path)["query"].nunique() == len(told)


def test_a_log_that_cannot_be_written_costs_none_of_them_an_answer(table, tmp_path):
    X, y = table
    (tmp_path / "file").write_text("")
    asks = with_log(asks_of(X.iloc[:3]), tmp_path / "file" / "logs")
    told, back = together(Explainer(MODELS[0].fit(X, y), X), asks)
    assert len(told) == 3 and not back
    assert all("can't write logs" in each.complaint for each in told.values())
