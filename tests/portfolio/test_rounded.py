"""Answers in fewer digits: the model confirms the text, and the cost is at most the stated one."""

import json
import math
import pickle
import re
from itertools import islice, product

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from portfolio import AllowMissing, Explainer, Fixed, Probability, Range
from portfolio.engine.rounder import EXTRA_COST, MOST_ROWS
from portfolio.engine.verify import priced
from portfolio.results.change import in_short

MODELS = {
    "forest": lambda: RandomForestClassifier(20, max_depth=4, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=20, max_depth=3),
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=20, max_depth=3),
}


@pytest.fixture(scope="module")
def tumours():
    data = load_breast_cancer(as_frame=True)
    return data.data.iloc[:, :8], data.target


@pytest.fixture(scope="module", params=list(MODELS))
def explained(request, tumours):
    X, y = tumours
    model = MODELS[request.param]().fit(X, y)
    return model, Explainer(model, X)


def numbers(sentence):
    """The number that a line of the answer ends with, and its word."""
    word, number = re.search(r"to (at least |at most )?(\S+)\.$", sentence).groups()
    return word, float(number)


def changes_of(result):
    """The lines of the answer that are changes."""
    return [line for line in str(result).splitlines() if line.startswith("- ")]


def told_row(row, result):
    """The query with the numbers that are printed."""
    row = row.copy()
    for line, change in zip(changes_of(result), result.changed, strict=True):
        word, number = numbers(line)
        assert word == ("at least " if change.after > change.before else "at most ")
        row[change.feature] = number
    return row


def digits(value):
    return len(f"{value!r}".removesuffix(".0").replace(".", "").lstrip("0").rstrip("0"))


@pytest.mark.slow
@pytest.mark.parametrize("norm", [0, 1, 2, "inf"])
def test_printed_numbers_are_decided_like_the_answer(explained, tumours, norm):
    model, explainer = explained
    X, _ = tumours
    shorter = 0
    for at in range(0, 200, 25):
        row = X.iloc[at]
        result = explainer.explain(row, norm=norm)
        assert result.status == "optimal"
        printed = told_row(row, result)
        assert model.predict(printed.to_frame().T)[0] == result.target
        for change in result.changed:
            further = (printed[change.feature] - change.after) * (change.after - change.before)
            off = abs(printed[change.feature] - change.after)
            assert further >= 0 and off <= 1e-3 * abs(change.after - change.before)
        shorter += check_rounded(model, explainer, result, row, norm)
    assert shorter >= 4


def check_rounded(model, explainer, result, row, norm):
    rounded = result.rounded
    if rounded is None:
        return 0
    after = rounded.counterfactual
    assert model.predict(after.to_frame().T)[0] == result.target
    moved = [c.feature for c in result.changed]
    assert (after.drop(moved) == row.drop(moved)).all()
    width = {f.name: f.upper - f.lower for f in explainer.features.features}
    parts = [abs(after[name] - row[name]) / width[name] for name in moved]
    if norm == "inf":
        distance = max(parts)
    else:
        distance = sum(p**norm if norm else float(p > 0) for p in parts)
    assert math.isclose(distance, rounded.distance, rel_tol=1e-9)
    assert result.distance * (1 - 1e-9) <= distance <= result.distance * 1.001 * (1 + 1e-9)
    exact = [c.after for c in result.changed]
    assert sum(map(digits, after[moved])) < sum(map(digits, exact))
    return 1


@pytest.mark.slow
def test_no_single_number_could_be_shorter(explained, tumours):
    """Every shorter number within the price, for answers that change one feature."""
    model, explainer = explained
    X, _ = tumours
    tried = 0
    for at in range(0, 300, 10):
        row = X.iloc[at]
        result = explainer.explain(row)
        if len(result.changed) != 1:
            continue
        (change,) = result.changed
        found = change.after if result.rounded is None else result.rounded.changed[0].after
        span = abs(change.after - change.before)
        ends = sorted([change.after, change.before + (change.after - change.before) * 1.001])
        for exponent in range(-18, 6):
            unit = 10.0**exponent
            if unit > span or (ends[1] - ends[0]) / unit > 50:
                continue
            for k in range(math.ceil(ends[0] / unit), math.floor(ends[1] / unit) + 1):
                value = float(f"{k}e{exponent}")
                shorter = digits(value) < digits(found) and ends[0] <= value <= ends[1]
                if shorter:
                    other = row.copy()
                    other[change.feature] = value
                    assert model.predict(other.to_frame().T)[0] != result.target
                    tried += 1
        tried += 1
    assert tried


def test_digits_that_matter_are_kept():
    """A class that is an island, three millionths wide: no shorter number lies on it."""
    inside = np.linspace(0.6234561, 0.6234564, 40)
    outside = np.r_[np.linspace(0, 0.623456, 400), np.linspace(0.6234565, 1, 400)]
    X = pd.DataFrame({"x": np.r_[inside, outside]})
    y = np.r_[np.ones(40), np.zeros(800)]
    model = HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=5).fit(X, y)
    row = X.iloc[100]
    result = Explainer(model, X).explain(row, target=1)
    if result.status == "infeasible":
        pytest.skip("the library has not found the island")
    _, number = numbers(changes_of(result)[0])
    assert model.predict(pd.DataFrame({"x": [number]}))[0] == 1


def test_whole_numbers_categories_and_grids_are_as_they_are(credit, refused):
    model, X = credit
    explainer = Explainer(model, X, features={"income": {"step": 0.5}})
    result = explainer.explain(refused, target="granted")
    assert result.rounded is None and result.told == result.changed
    assert "at least" not in "".join(str(c) for c in result.changed)


def test_constraints_hold_for_rounded_answers(explained, tumours):
    _, explainer = explained
    X, _ = tumours
    row = X.iloc[0]
    free = explainer.explain(row)
    (first, *_) = free.changed
    ends = sorted([first.after, first.before])
    limited = explainer.explain(row, target=free.target, constraints=[Range(first.feature, *ends)])
    assert limited.distance == free.distance
    if limited.rounded is not None:
        assert limited.rounded.counterfactual[first.feature] == first.after
    fixed = explainer.explain(row, constraints=[Fixed(X.columns[0])])
    if fixed.rounded is not None:
        assert fixed.rounded.counterfactual[X.columns[0]] == row[X.columns[0]]


@pytest.mark.slow
def test_goals_and_margins_hold_for_rounded_answers(tumours):
    X, y = tumours
    model = MODELS["forest"]().fit(X, y)
    explainer, seen = Explainer(model, X), 0
    for at in range(10):
        row = X.iloc[at]
        likely = explainer.explain(row, target=Probability(1, at_least=0.7))
        led = explainer.explain(row, target=1, margin=0.3)
        for result, least in ((likely, 0.7), (led, 0.65)):
            rows = [told_row(row, result)]
            rows += [] if result.rounded is None else [result.rounded.counterfactual]
            for found in rows:
                assert model.predict_proba(found.to_frame().T)[0, 1] >= least - 1e-9
            seen += len(rows)
    assert seen > 20


def test_it_goes_into_json_and_travels(explained, tumours):
    _, explainer = explained
    result = explainer.explain(tumours[0].iloc[0])
    told = json.loads(result.to_json())["rounded"]
    assert told["distance"] == result.rounded.distance
    assert told["counterfactual"] == result.rounded.counterfactual.to_dict()
    back = pickle.loads(pickle.dumps(result))
    assert str(back) == str(result) and str(back.rounded) == str(result.rounded)


def test_missing_values_are_filled_in_and_left(tumours):
    X, y = tumours
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.2)
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    explainer = Explainer(model, X)
    emptied = 0
    for at in range(12):
        result = explainer.explain(X.iloc[at], constraints=[AllowMissing("mean area", 0.01)])
        for change in result.changed:
            if change.after is None:
                emptied += 1
                assert f"{change.feature} " in str(result) and "to missing." in str(result)
        row = X.iloc[at].copy()
        for change in result.told:
            row[change.feature] = np.nan if change.after is None else change.after
        assert model.predict(row.to_frame().T)[0] == result.target
        if result.rounded is not None:
            again = result.rounded.counterfactual.to_frame().T
            assert model.predict(again)[0] == result.target
    assert emptied


@pytest.mark.slow
@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_numbers_are_ranked_as_if_each_row_was_priced(explained, tumours, norm):
    _, explainer = explained
    ranked = 0
    # Where all changes cost the same, thousands of rows are priced for each answer.
    for _, row in tumours[0].iloc[: 6 if norm == "inf" else 20].iterrows():
        rounder = explainer.explain(row, norm=norm).rounder
        most = rounder.found.distance * (1 + EXTRA_COST)
        lists = [rounder._coarsest(index, most) for index in rounder._free()]
        expected = []
        for numbers in islice(product(*lists), MOST_ROWS):
            values = rounder.found.row.copy()
            for own in numbers:
                values[rounder.space.features[own.index].column] = own.value
            cost = priced(values, rounder.query, rounder.space).distance
            count = sum(digits(own.value) for own in numbers)
            if count < sum(digits(own[-1].value) for own in lists) and cost <= most:
                expected.append((count, cost))
        found = []
        for numbers in rounder._combined(most):
            tried = rounder._with_numbers({own.index: own.value for own in numbers})
            found.append((sum(own.digits for own in numbers), tried.distance))
        assert found == [(count, pytest.approx(cost)) for count, cost in sorted(expected)]
        ranked += len(found)
    assert ranked > 50


def test_fewer_digits_are_mentioned_only_if_they_are_other_numbers(tumours):
    X, y = tumours
    model = MODELS["forest"]().fit(X, y)
    explainer, seen = Explainer(model, X), set()
    for at in range(0, 60, 4):
        result = explainer.explain(X.iloc[at])
        if result.rounded is None:
            assert result.in_fewer_digits == ""
            continue
        same = [c.reached for c in result.told] == [c.reached for c in result.rounded.changed]
        assert (result.in_fewer_digits == "") == same
        seen.add(same)
    assert seen == {True, False}


def test_no_sentence_has_digits_of_binary_fractions(tumours):
    X, y = tumours
    X = X * 0.1  # thresholds with all digits of a float64
    explainer = Explainer(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y), X)
    row = X.iloc[3]
    rules = [Range("mean radius", row["mean radius"] * 0.9, 1.1 + 0.2)]
    sentences = [
        str(explainer.robustness(row, scale="range")),
        str(explainer.verify(row, 1.0, scale="range")),
        str(explainer.why_not(row, constraints=rules)),
    ]
    for number in re.findall(r"\d+\.\d+", " ".join(sentences)):
        assert len(number.replace(".", "").lstrip("0")) <= 12, sentences
    assert in_short(9007199254740993) == "9007199254740993"
    assert in_short(12345678901.0) == "12345678901" and in_short(0.1 + 0.2) == "0.3"
