"""A second opinion: another paradigm proves it once more, or says that it did not."""

from dataclasses import replace

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer, Fixed, InputError
from portfolio.api.variants import asker_of
from portfolio.engine.question import Options, Question
from portfolio.engine.second import CONTRADICTED, with_second
from selector import logs


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, Explainer(RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("name", ["cp", "milp", "maxsat", "search"])
def test_it_is_proved_once_more(flowers, name):
    X, explainer = flowers
    result = explainer.explain(X.iloc[0], second=name)
    assert result.status == "optimal" and result.second == name
    assert f"; confirmed by {name})" in result.headline
    none = explainer.explain(X.iloc[0], constraints=[Fixed(n) for n in X], second=name)
    assert none.status == "infeasible" and none.second == name


def test_a_wrong_claim_is_contradicted(flowers):
    X, explainer = flowers
    right = explainer.explain(X.iloc[0])
    wrong = replace(right, distance=2 * right.distance, lower_bound=2 * right.distance)
    held = with_second(asker_of(explainer), Question(), Options(), X.iloc[0], wrong, "cp")
    assert held.status == "feasible" and held.second == "" and "cheaper" in held.message
    assert held.distance == pytest.approx(right.distance)


def test_what_it_said_is_logged(flowers, tmp_path):
    X, explainer = flowers
    explainer.explain(X.iloc[0], strategy="search", second="cp", log=tmp_path)
    right = explainer.explain(X.iloc[0])
    wrong = replace(right, distance=2 * right.distance, lower_bound=2 * right.distance)
    with_second(asker_of(explainer), Question(), Options(), X.iloc[0], wrong, "cp", tmp_path)
    frame = logs.read(tmp_path)
    held, refuted = frame[frame["mode"] == "second"].to_dict("records")
    assert (held["backend"], held["status"], held["upper"]) == ("cp", "optimal", right.distance)
    assert (refuted["status"], refuted["error"]) == ("feasible", CONTRADICTED.format("cp"))
    assert frame["query"].nunique() == 1
    assert ["contradicts a proof" in words for words in logs.check(frame)] == [True]


def test_who_can_not_be_asked_is_told(flowers):
    X, explainer = flowers
    for name in ("auto", "race", 3, "nobody"):
        with pytest.raises(InputError):
            explainer.explain(X.iloc[0], second=name)


def test_a_proof_about_fewer_rows_is_no_second_one(flowers):
    X, explainer = flowers
    right = explainer.explain(X.iloc[0], margin=0.01)
    wider = replace(right, margin=0.0)
    asker, question = asker_of(explainer), Question(margin=0.01)
    held = with_second(asker, question, Options(), X.iloc[0], wider, "cp")
    assert held.status == "optimal" and held.second == "" and "leads by 0.01" in held.message
