"""Goals besides a class: named cases, and what makes no sense."""

import json
import math
import pickle

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

from portfolio import (
    AtLeast,
    AtMost,
    Explainer,
    Fixed,
    InputError,
    Less,
    More,
    Plausibility,
    Probability,
    Score,
)
from portfolio.batch.answer_log import LINES
from selector import logs
from tests.support.answers import here, lines


@pytest.fixture(scope="module")
def prices():
    """A frame, and prices that follow it."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=["size", "age", "floor"])
    return X, 100 + 30 * X["size"] - 10 * X["age"] ** 2 + rng.normal(0, 3, 150)


@pytest.fixture(scope="module")
def house(prices):
    X, y = prices
    model = RandomForestRegressor(6, max_depth=4, random_state=0).fit(X, y)
    return model, Explainer(model, X), X


@pytest.fixture(scope="module")
def three(prices):
    """A boosted model of three classes."""
    X, y = prices
    labels = np.digitize(y, [85, 105])
    return xgboost.XGBClassifier(n_estimators=12, max_depth=3).fit(X, labels), X


def test_a_goal_at_a_leafs_value_is_reached_exactly(prices):
    X, y = prices
    tree = DecisionTreeRegressor(max_leaf_nodes=8, random_state=0).fit(X, y)
    explainer, x = Explainer(tree, X), X.iloc[0]
    for leaf in np.unique(tree.predict(X)).tolist():
        result = explainer.explain(x, target=(leaf, leaf))
        assert result.status == "optimal" and result.score == leaf
        assert tree.predict(result.counterfactual.to_frame().T)[0] == leaf
        above = float(np.nextafter(leaf, math.inf))
        assert explainer.explain(x, target=(above, above)).status == "infeasible"


def test_a_row_that_reaches_its_goal_is_its_own_answer(house):
    model, explainer, X = house
    now = float(model.predict(X.iloc[:1])[0])
    result = explainer.explain(X.iloc[0], target=(now, now))
    assert (result.status, result.distance, result.changed) == ("optimal", 0.0, ())
    assert result.score == result.score_before == now
    assert str(result).startswith("Already at a score of")
    moved = explainer.explain(X.iloc[0], target=AtLeast(float(np.nextafter(now, math.inf))))
    assert moved.distance > 0 and moved.score > now


@pytest.mark.parametrize(
    ("wanted", "limit"), [(Less(by=10), -10), (More(by=10), 10), (Less(percent=5), None)]
)
def test_relative_goals_start_from_what_the_model_says_of_the_row(house, wanted, limit):
    model, explainer, X = house
    for i in range(4):
        now = float(model.predict(X.iloc[[i]])[0])
        bound = now + (-0.05 * abs(now) if limit is None else limit)
        result = explainer.explain(X.iloc[i], target=wanted)
        fixed = explainer.explain(
            X.iloc[i], target=AtLeast(bound) if limit and limit > 0 else AtMost(bound)
        )
        assert (result.status, result.distance) == (fixed.status, fixed.distance)
        assert result.score_before == now
        if result.status == "optimal":
            assert result.score >= bound if limit and limit > 0 else result.score <= bound


def test_a_constant_model_reaches_one_value_only(prices):
    X, _ = prices
    explainer = Explainer(RandomForestRegressor(3).fit(X, np.full(len(X), 7.0)), X)
    assert explainer.explain(X.iloc[0], target=(7, 7)).distance == 0
    assert explainer.explain(X.iloc[0], target=AtLeast(7.5)).status == "infeasible"
    assert explainer.explain(X.iloc[0], target=More(percent=1)).status == "infeasible"


def test_certainty_is_reached_where_a_forest_has_it(prices):
    X, y = prices
    model = RandomForestClassifier(5, random_state=0).fit(X, y > 100)
    x = X[model.predict_proba(X)[:, 1] < 0.5].iloc[0]
    result = Explainer(model, X).explain(x, target=Probability(True, at_least=1.0))
    assert result.status == "optimal" and result.score == 1.0


@pytest.mark.parametrize("rounds", [2, 60])
def test_certainty_of_a_boosted_model_is_what_its_float_says(prices, rounds):
    X, y = prices
    model = xgboost.XGBClassifier(n_estimators=rounds, learning_rate=1.0, max_depth=2,
                                  min_child_weight=0, reg_lambda=0.0).fit(X, y > 100)  # fmt: skip
    x = X[model.predict(X) == 0].iloc[0]
    result = Explainer(model, X).explain(x, target=Probability(1, at_least=1.0), time_limit_s=10)
    reachable = (model.predict_proba(X)[:, 1] == 1.0).any()
    assert reachable == (rounds == 60)
    if reachable:
        assert result.row is not None and result.score == 1.0
    else:
        assert result.status == "infeasible"


def test_softmax_goals_are_proved(three):
    """Tangents cut off more than a cell at a time: few rounds are enough."""
    model, X = three
    explainer = Explainer(model, X)
    shares = model.predict_proba(X)
    for goal in (Probability(2, at_least=0.8), Probability(0, at_most=0.05), Probability(1, 0.6)):
        for i in range(6):
            result = explainer.explain(X.iloc[i], target=goal, time_limit_s=20)
            assert result.status == "optimal" and result.message == ""
            own = model.predict_proba(result.counterfactual.to_frame().T)[0, goal.label]
            assert result.score == float(own)
            assert result.score_before == float(shares[i, goal.label])


def test_a_score_of_boosting_is_the_raw_one(prices):
    X, y = prices
    model = GradientBoostingClassifier(random_state=0).fit(X, y > 100)
    x = X[model.decision_function(X) < 0].iloc[0]
    result = Explainer(model, X).explain(x, target=Score(0.5, 1.5))
    raw = model.decision_function(result.counterfactual.to_frame().T)[0]
    assert result.status == "optimal" and 0.5 <= raw <= 1.5 and result.score == raw


def test_constraints_and_sessions_take_goals(house):
    _, explainer, X = house
    asked = {"target": AtLeast(110.0), "constraints": [Fixed("age")]}
    with explainer.session(**asked, strategy="cp") as session:
        for i in range(3):
            kept, alone = session.explain(X.iloc[i]), explainer.explain(X.iloc[i], **asked)
            assert kept.distance == pytest.approx(alone.distance, rel=1e-9)
            assert kept.status == alone.status


def test_plausible_answers_reach_goals(prices, house):
    X, _ = prices
    forest = IsolationForest(n_estimators=10, contamination=0.1, random_state=0).fit(X)
    careful = Explainer(house[0], X, plausibility=Plausibility(forest))
    free = house[1].explain(X.iloc[1], target=AtLeast(125.0))
    result = careful.explain(X.iloc[1], target=AtLeast(125.0), time_limit_s=20)
    assert result.distance >= free.distance and result.score >= 125.0
    assert forest.decision_function(result.counterfactual.to_frame().T)[0] >= 0
    with pytest.raises(InputError, match=r"no classes\. Pass one isolation forest"):
        Explainer(house[0], X, plausibility=Plausibility({1: forest}))


def test_numbers_of_a_result_survive_without_the_model(house):
    _, explainer, X = house
    result = explainer.explain(X.iloc[0], target=AtLeast(125.0))
    copy = pickle.loads(pickle.dumps(result))
    assert copy.scoring is None
    assert (copy.score, copy.score_before) == (result.score, result.score_before)
    assert str(copy) == str(result) and "Prediction: " in str(result)
    told = json.loads(result.to_json())
    assert told["score"] == result.score and told["target"] == "AtLeast(value=125.0)"


def test_a_class_has_its_probability_in_the_result(explainer, refused, credit):
    model = credit[0]
    result = explainer.explain(refused, target="granted")
    row = result.counterfactual.to_frame().T.astype(float)
    assert result.score == model.predict_proba(row)[0, 0]
    assert result.score_before == model.predict_proba(refused.to_frame().T)[0, 0]
    assert f"{result.score_before:.4g} before" in str(result)
    none = explainer.explain(
        refused, target="granted", constraints=[Fixed(f.name) for f in explainer.features.features]
    )
    assert none.score is None and none.score_before == result.score_before


def test_hard_votes_are_counted(credit, refused):
    explainer = Explainer(*credit, voting="hard")
    result = explainer.explain(refused, target="granted")
    assert result.score == int(result.score) and result.score >= 4 > result.score_before
    with pytest.raises(InputError, match="has no probabilities"):
        explainer.explain(refused, target=Probability("granted", at_least=0.5))
    six = explainer.explain(refused, target=Score(high=2))
    assert six.status == "optimal" and explainer.predict(six.counterfactual) == "granted"


def test_a_batch_resolves_goals_row_by_row_and_tells_scores(house, tmp_path):
    model, explainer, X = house
    frame = explainer.explain_batch(
        X.iloc[:6], target=More(percent=10), out=tmp_path, executor=here
    )
    names = list(frame.columns)
    assert names[names.index("message") + 1 : names.index("cf_size")] == ["score_before", "score"]
    np.testing.assert_array_equal(frame["score_before"], model.predict(X.iloc[:6]))
    done = frame["status"] == "optimal"
    assert (frame["score"] >= frame["score_before"] * 1.1)[done].all() and done.any()
    other = explainer.explain_batch(
        X.iloc[:6], target=More(percent=11), out=tmp_path, resume=True, executor=here
    )
    assert len(lines(tmp_path)) == 12 and (other["distance"] >= frame["distance"]).all()
    # Scores are asked when the table is made: answers recorded without them have them, too.
    assert "score" not in (tmp_path / LINES).read_text()
    told = explainer.explain_batch(
        X.iloc[:6], target=More(percent=10), out=tmp_path, resume=True, executor=here,
        on_answer=lambda *counts: pytest.fail("asked again"),
    )  # fmt: skip
    pd.testing.assert_frame_equal(told, frame)


def test_logs_tell_goals_apart(house, tmp_path):
    _, explainer, X = house
    for goal in (AtLeast(110.0), AtLeast(120.0), AtLeast(110.0)):
        explainer.explain(X.iloc[2], target=goal, log=tmp_path)
    frame = logs.read(tmp_path)
    assert frame["query"].nunique() == 2 and frame["target"].nunique() == 2
    assert set(frame["classes"]) == {1}


def test_goals_that_say_nothing_are_told(house):
    for words, make in [
        ("a probability must be from 0 to 1, got 1.2", lambda: Probability(1, at_least=1.2)),
        ("has no limits", lambda: Probability(1)),
        ("has no limits", Score),
        ("lower limit 0.8 is above the upper limit 0.2", lambda: Probability(1, 0.8, 0.2)),
        ("a limit must be a number", lambda: AtLeast("much")),
        ("a limit must be a number", lambda: AtMost(math.nan)),
        ("no number reaches", lambda: AtLeast(math.inf)),
        ("either by=", lambda: Less(by=1, percent=2)),
        ("either by=", More),
        ("by must be a finite number above 0, got -3", lambda: More(by=-3)),
    ]:
        with pytest.raises(InputError, match=words):
            make()
    _, explainer, X = house
    for words, target in [
        ("predicts no probabilities", Probability("granted", at_least=0.5)),
        ("regressor and has no classes", None),
        ("regressor and has no classes", "granted"),
        ("regressor and has no classes", 110.0),
        ("lower limit 3 is above", (3, 2)),
    ]:
        with pytest.raises(InputError, match=words):
            explainer.explain(X.iloc[0], target=target)
        with pytest.raises(InputError, match=words):
            explainer.explain_batch(X.iloc[:2], target=target)
    with pytest.raises(
        InputError, match="margin is a lead over the other classes and does not support"
    ):
        explainer.explain(X.iloc[0], target=AtLeast(110), margin=0.5)


def test_goals_that_do_not_fit_a_classifier_are_told(explainer, refused, three, prices):
    X, y = prices
    for words, target in [
        ("unknown target 'maybe'", Probability("maybe", at_least=0.5)),
        ("the model is a classifier", AtLeast(0.5)),
        ("the model is a classifier", Less(percent=10)),
        ("unknown target", (0.5, 0.7)),
    ]:
        with pytest.raises(InputError, match=words):
            explainer.explain(refused, target=target)
    with pytest.raises(InputError, match="margin is a lead"):
        explainer.explain(refused, target=Probability("granted", at_least=0.7), margin=0.1)
    with pytest.raises(
        InputError,
        match=r"supports models with one score; this one has 3 classes\. Use a class label",
    ):
        Explainer(*three).explain(X.iloc[0], target=Score(0.5))
    raw = xgboost.XGBClassifier(n_estimators=2, objective="binary:logitraw").fit(X, y > 100)
    with pytest.raises(InputError, match="no probabilities that follow from its trees"):
        Explainer(raw, X).explain(X.iloc[0], target=Probability(1, at_least=0.5))
    reached = Explainer(raw, X).explain(X.iloc[0], target=Score(low=0.1))
    margin = raw.predict(reached.counterfactual.to_frame().T, output_margin=True)[0]
    assert reached.status == "optimal" and reached.score == float(margin) >= 0.1
