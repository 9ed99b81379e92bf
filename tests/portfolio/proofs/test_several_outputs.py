"""Proofs about several outputs at once, compared with all rows by the model's own predict."""

import copy
import json
import math
from unittest.mock import patch

import joblib
import jsonschema
import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from portfolio import AtLeast, AtMost, Explainer, Fixed, MaxChanges
from portfolio.batch.answer_log import LINES
from portfolio.checker import RejectedError, check, main
from portfolio.proofs.report import report
from tests.portfolio.proofs.test_record import SCHEMA
from tests.support.parts import few_and_large
from tests.support.whole_grids import compare, costs, every_row, whole_table

NAMES = ["fraud", "level", "churn"]
MODELS = (
    lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    lambda: ExtraTreesClassifier(6, max_depth=4, random_state=0),
    lambda: DecisionTreeClassifier(max_depth=4, random_state=0),
    lambda: MultiOutputClassifier(XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1)),
    lambda: MultiOutputClassifier(RandomForestClassifier(4, max_depth=3, random_state=0)),
    lambda: XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1),
)


def fitted(seed):
    """Return a model of three outputs with 2, 3 and 2 classes, and its frame."""
    rng, (X, score) = np.random.default_rng(seed), whole_table(seed)
    noisy = [score + rng.normal(0, 1.5, len(X)) for _ in NAMES]
    labels = np.column_stack([noisy[0] > 3, np.digitize(noisy[1], [0, 4]), noisy[2] > 2])
    model = MODELS[seed % len(MODELS)]()
    if isinstance(model, XGBClassifier):  # its own outputs are 0 or 1
        labels = np.minimum(labels, 1)
    return model.fit(X.astype(float), labels.astype(int)), X.astype(float)


def drawn(seed):
    """Return a question with its result, and which of all rows reach it below which cost."""
    model, X = fitted(seed)
    rng, rows = np.random.default_rng(seed), every_row(X)
    some = rng.choice(3, int(rng.integers(1, 4)), replace=False).tolist()
    levels = 2 if isinstance(model, XGBClassifier) else 3
    target = {NAMES[at]: int(rng.integers(levels if at == 1 else 2)) for at in some}
    query = X.iloc[int(rng.integers(len(X)))]
    rules = [[], [Fixed("a")], [MaxChanges(2)]][int(rng.integers(3))]
    kept = np.ones(len(rows), dtype=bool)
    if rules == [Fixed("a")]:
        kept = (rows["a"] == query["a"]).to_numpy()
    elif rules:
        kept = ((rows != query).sum(axis=1) <= 2).to_numpy()
    result = Explainer(model, X, outputs=NAMES).explain(query, target=target, constraints=rules)
    return model, result, costs(rows[kept], query), model.predict(rows[kept])


def cheapest(cost, predicted, record):
    """Return the least cost of rows that a record's target is about, by its names of outputs."""
    place = {name: at for at, name in enumerate(record["model"]["outputs"])}
    reached = np.ones(len(cost), dtype=bool)
    for name, label in record["question"]["target"].items():
        reached &= predicted[:, place[name]] == label
    return cost[reached].min(initial=math.inf)


def accepted(record, model):
    try:
        return bool(check(record, model))
    except RejectedError:
        return False


def spoiled(record):
    """Yield copies of a record with one change each."""
    for name, label in record["question"]["target"].items():
        other = copy.deepcopy(record)
        other["question"]["target"][name] = 1 - label if label < 2 else 0
        yield other
        if len(record["question"]["target"]) > 1:
            fewer = copy.deepcopy(record)
            del fewer["question"]["target"][name], fewer["query_class"][name]
            if fewer["answer"]:
                del fewer["answer"]["class"][name]
            yield fewer
    for names in (NAMES[::-1], NAMES[:2], [*NAMES, "more"], ["a", "a", "b"], None, "fraud"):
        yield record | {"model": record["model"] | {"outputs": names}}
    yield record | {"query_class": [*record["query_class"].values()]}
    yield record | {"question": record["question"] | {"lead": 0.1}}
    none = {"status": "infeasible", "answer": None, "distance": None, "lower_bound": None}
    yield record | none | {"proof": record["proof"] | {"below": None}}


@pytest.mark.slow
@pytest.mark.parametrize("batch", few_and_large(2, 40))
def test_records_are_verified_and_spoiled_ones_only_where_they_are_true(batch):
    rejected = 0
    for seed in range(10 * batch, 10 * batch + 10):
        model, result, cost, predicted = drawn(seed)
        with patch("encoders.search.cover.MANY", 0 if seed // len(MODELS) % 2 else 256):
            record = json.loads(result.record().to_json())
        jsonschema.validate(record, SCHEMA)
        assert record["proof"], record["why_no_proof"]
        compare(result, cheapest(cost, predicted, record))
        assert "whose outputs are ['fraud', 'level', 'churn']" in check(record, model)
        for other in spoiled(record):
            if accepted(other, model) and other["status"] == record["status"]:
                below = other["proof"]["below"]
                least = math.inf if below is None else below
                assert cheapest(cost, predicted, other) >= least - 1e-9, seed
            else:
                rejected += not accepted(other, model)
    assert rejected > 40


@pytest.mark.parametrize("seed", range(len(MODELS)))
def test_classes_of_another_model_are_rejected(seed):
    model, X = fitted(seed)
    answer = Explainer(model, X, outputs=NAMES).explain(X.iloc[[0]], target={"churn": 1})
    record = json.loads(answer.record().to_json())
    assert record["model"]["classes"] == {"churn": [0, 1]} and check(record, model)
    for classes in ([0, 1], {"churn": [1, 0]}, {"churn": [0, 1], "fraud": [0, 1]}, None):
        with pytest.raises(RejectedError, match="other classes than the model"):
            check(record | {"model": record["model"] | {"classes": classes}}, model)


def test_outputs_without_names_batches_files_and_reports(tmp_path, capsys):
    model, X = fitted(0)
    answer = Explainer(model, X).explain(X.iloc[[0]], target={2: 1, 0: 0})
    record = answer.record()
    assert record.content["question"]["target"] == {"2": 1, "0": 0}
    assert record.check(model).endswith("whose outputs are ['0', '1', '2'] in this order")
    joblib.dump(model, tmp_path / "model.joblib")
    explainer, target = Explainer(model, X, outputs=NAMES), {"fraud": 0, "churn": 1}
    table = explainer.explain_batch(X.head(4), target=target, out=tmp_path, records=True)
    assert (table["why_no_proof"] == "").all()
    words = ["check", str(tmp_path / LINES), "--trust-pickle"]
    with patch("sys.argv", [*words, "--model", str(tmp_path / "model.joblib")]):
        assert main() == 0
    assert capsys.readouterr().out.count("verified: no admissible row") == 4
    page = report(explainer.explain(X.iloc[[0]], target=target).record().content)
    assert "The model then predicts: fraud: 0, churn: 1." in page


def test_a_margin_and_a_model_of_one_output_are_refused():
    model, X = fitted(0)
    explainer = Explainer(model, X, outputs=NAMES)
    record = explainer.explain(X.iloc[[0]], target={"fraud": 0, "churn": 1}, margin=0.05).record()
    assert record.why_not == "a margin is not supported for several outputs"
    whole = json.loads(explainer.explain(X.iloc[[0]], target={"fraud": 0}).record().to_json())
    one = RandomForestClassifier(5, random_state=0).fit(X, X["a"] > 3)
    with pytest.raises(RejectedError, match="names other outputs than the model has"):
        check(whole, one)
    alone = json.loads(Explainer(one, X).explain(X.iloc[[0]]).record().to_json())
    with pytest.raises(RejectedError, match="names other outputs than the model has"):
        check(alone, model)


@pytest.mark.parametrize("seed", [0, 3])
def test_a_pipeline_of_several_outputs_has_a_record_without_a_proof(seed):
    model, X = fitted(seed)
    labels, plain = model.predict(X), MODELS[seed]()
    model = make_pipeline(StandardScaler(), plain).fit(X, labels)
    result = Explainer(model, X, outputs=NAMES).explain(X.iloc[[0]], target={"churn": 1})
    record = json.loads(result.record().to_json())
    jsonschema.validate(record, SCHEMA)
    assert record["model"]["type"] == "Pipeline"
    assert record["proof"] is None and record["why_no_proof"].startswith("pipelines")


def test_limits_of_each_output_are_exact():
    X, score = whole_table(1)
    Y = np.column_stack([score, X["a"] - X["b"]])
    model = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X, Y)
    target = {"second": AtLeast(1 / 3), "first": AtMost(10 / 3)}
    result = Explainer(model, X, outputs=["first", "second"]).explain(X.iloc[[0]], target=target)
    record = json.loads(result.record().to_json())
    jsonschema.validate(record, SCHEMA)
    now, then = model.predict(X.iloc[[0]])[0], model.predict(result.counterfactual)[0]
    shared = {"number": "prediction", "class": None}
    assert record["question"]["numbers"] == [
        shared | {"output": "second", "lower": 1 / 3, "upper": None, "query": now[1]},
        shared | {"output": "first", "lower": None, "upper": 10 / 3, "query": now[0]},
    ]
    assert record["answer"]["numbers"] == [then[1], then[0]]
