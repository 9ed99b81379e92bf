"""Every goal of every library against an oracle that asks the model's own numbers.

As in ``tests/encoders/trees/test_matrix.py``: thresholds are from the library's own dump, every
combination of values around them is tried, and the model's own ``predict`` or ``predict_proba``,
compared as the floats that it gives, decides each.
"""

import math
import os
from collections import Counter

import numpy as np
import pytest
import xgboost

from encoders.core.errors import InputError
from portfolio import AtLeast, AtMost, Explainer, Less, More, Probability, Score
from tests.support.brute import all_rows, as_frame, distances, thresholds
from tests.support.ensembles import random_frame
from tests.support.models import MAKERS, make, saved_and_loaded
from tests.support.questions import random_constraints
from tests.support.regressors import REGRESSORS, make_regressor

NO_PROBABILITIES = ("isolation_model",)
pytestmark = pytest.mark.usefixtures("lawful_problems")
MODELS = int(os.environ.get("GOAL_MODELS", "5"))  # per library
FIRST = int(os.environ.get("GOAL_FIRST", "0"))
QUERIES, QUESTIONS, MOST_ROWS = 2, 5, 6_000
BACKENDS = ("auto", "auto", "search", "cp")


def outputs(model, rows):
    """The model's own numbers, float64: (n_rows,) of a regressor, else (n_rows, n_classes)."""
    if type(model).__name__ != "Booster":
        if np.size(getattr(model, "classes_", ())) and not hasattr(model, "predict_proba"):
            return np.zeros(len(rows))  # labels only
        ask = model.predict if not hasattr(model, "predict_proba") else model.predict_proba
        return np.asarray(ask(as_frame(model, rows))).astype(np.float64)
    if hasattr(model, "feature_name"):  # lightgbm
        found, classifies = np.asarray(model.predict(rows)), "=binary" in model.model_to_string()
    else:
        given = xgboost.DMatrix(rows, feature_names=model.feature_names)
        found, classifies = np.asarray(model.predict(given)), "binary:" in model.save_config()
    if found.ndim == 1 and classifies:
        found = np.column_stack([np.float32(1) - found if found.dtype == np.float32 else 1 - found,
                                 found])  # fmt: skip
    return found.astype(np.float64)


def drawn_limits(rng, values, now):
    """Limits at, between and beyond what the model gives."""
    some = rng.choice(values, 2)
    if rng.random() < 0.4:
        some = some + rng.normal(size=2) * (values.std() + 0.01)
    if rng.random() < 0.2:
        some = np.array([now, some[1]])
    if rng.random() < 0.1:
        some[1] = some[0]
    return tuple(np.sort(some).tolist())


def regression_goal(rng, values, now):
    """A goal, and the limits it means."""
    low, high = drawn_limits(rng, values, now)
    kind = str(rng.choice(["pair", "score", "least", "most", "less", "more", "percent"]))
    if kind == "pair":
        return (low, high), (low, high)
    if kind == "score":
        return Score(low=low), (low, math.inf)
    if kind == "least":
        return AtLeast(low), (low, math.inf)
    if kind == "most":
        return AtMost(high), (-math.inf, high)
    by = float(abs(rng.choice(values) - now)) or 0.5
    if kind == "less":
        return Less(by=by), (-math.inf, now - by)
    if kind == "more":
        return More(by=by), (now + by, math.inf)
    return More(percent=10), (now + 10.0 / 100.0 * abs(now), math.inf)


def probability_goal(rng, label, values, now):
    low, high = np.clip(drawn_limits(rng, values, now), 0.0, 1.0).tolist()
    kind = str(rng.choice(["least", "least", "most", "between"]))
    if kind == "least":
        return Probability(label, at_least=low), (low, math.inf)
    if kind == "most":
        return Probability(label, at_most=high), (-math.inf, high)
    return Probability(label, low, high), (low, high)


def ask(rng, explainer, specs, x, rows, goal, reached):
    """Our answer, and the cheapest row that reaches the goal."""
    values = x.to_numpy()
    p = float(rng.choice([0, 1, 2, math.inf]))
    constraints, masks = random_constraints(rng, specs, values) if rng.random() < 0.4 else ([], [])
    for mask in masks:
        reached = reached & mask(rows)
    units = [(s.upper - s.lower) or 1.0 for s in specs]
    costs = distances(specs, values, rows[reached], p, units, [1.0] * len(specs))
    result = explainer.explain(
        x,
        target=goal,
        norm="inf" if math.isinf(p) else p,
        constraints=constraints,
        strategy=BACKENDS[int(rng.integers(len(BACKENDS)))],
        threads=1,
        time_limit_s=4,
    )
    return result, float(costs.min(initial=math.inf)), f"{goal}, {p}, {constraints}"


def check(result, best, model, output, now, where, seen):
    if result.margin or result.stop_reason == "time_limit":
        seen["near a limit"] += 1
        assert result.distance >= best * (1 - 1e-9), where
        return
    seen[result.status] += 1
    assert result.status == ("infeasible" if math.isinf(best) else "optimal"), f"{where}: {result}"
    assert math.isclose(result.distance, best, rel_tol=1e-9, abs_tol=1e-300), f"{where}: {result}"
    if result.row is not None:
        own = outputs(model, result.row.values[None, :])[0]
        assert result.score == (own if output is None else own[output]), where
        assert result.score_before == now, where


def check_model(rng, X, specs, model, words, seen, classifies):
    try:
        explainer = Explainer(model, X)
    except InputError as error:
        assert "no tree" in str(error), f"{words}: {error}"
        seen["refused"] += 1
        return
    cuts, dtype = thresholds(model, X.shape[1])
    for _ in range(QUERIES):
        x = X.iloc[int(rng.integers(len(X)))]
        rows = all_rows(specs, x.to_numpy(), model, dtype, cuts, MOST_ROWS)
        if rows is None:
            seen["too large"] += 1
            continue
        found, own = outputs(model, rows), outputs(model, x.to_numpy()[None, :])[0]
        if classifies and found.ndim == 1:  # a booster that predicts labels
            assert_no_probabilities(explainer, x)
            seen["no probabilities"] += QUESTIONS
            continue
        for _ in range(QUESTIONS):
            output = int(rng.integers(found.shape[1])) if classifies else None
            values, now = (found[:, output], own[output]) if classifies else (found, own)
            draw = (
                (rng, explainer.classes[output], values, now) if classifies else (rng, values, now)
            )
            goal, (low, high) = (probability_goal if classifies else regression_goal)(*draw)
            reached = (values >= low) & (values <= high)
            try:
                result, best, asked = ask(rng, explainer, specs, x, rows, goal, reached)
            except InputError as error:
                if "no probabilities" in str(error):
                    seen["no probabilities"] += 1
                    continue
                assert "contradictory" in str(error), f"{words} {goal}: {error}"
                seen["contradictory"] += 1
                continue
            check(result, best, model, output, now, f"{words}: {asked}", seen)


def assert_no_probabilities(explainer, x):
    with pytest.raises(InputError, match="has no probabilities"):
        explainer.explain(x, target=Probability(explainer.classes[0], at_least=0.5))


def drawn(maker, seed, folder, regression):
    rng = np.random.default_rng([7, (REGRESSORS if regression else MAKERS).index(maker), seed])
    X, specs = random_frame(rng, n_rows=40)
    values = X.to_numpy()
    signal = values @ rng.normal(size=X.shape[1]) / (values.std(axis=0).sum() + 1)
    noisy = signal + rng.normal(size=len(X)) * 0.2 * (signal.std() + 0.1)
    if regression:
        made = make_regressor(rng, maker, X, noisy * 10.0 ** rng.integers(-2, 4))
    else:
        n_classes = int(rng.integers(2, 5))
        y = np.digitize(noisy, np.quantile(noisy, np.linspace(0, 1, n_classes + 1)[1:-1]))
        y[:n_classes] = np.arange(n_classes)
        made = make(rng, maker, X, y)
    ending = str(rng.choice(["", *made.formats]))
    model = saved_and_loaded(made, ending, folder) if ending else made.model
    return rng, X, specs, model, f"{made.words} {ending} seed {seed}"


def run(maker, folder, regression):
    seen = Counter()
    for seed in range(FIRST, FIRST + MODELS):
        rng, X, specs, model, words = drawn(maker, seed, folder, regression)
        check_model(rng, X, specs, model, words, seen, not regression)
    print(maker.__name__, dict(seen))
    asked = seen["optimal"] + seen["infeasible"]
    if asked == 0:  # a kind without probabilities says so every time
        assert maker.__name__ in NO_PROBABILITIES, seen
    else:
        assert seen["optimal"] > asked / 3 and seen["near a limit"] <= asked / 50 + 1, seen
    return asked + seen["no probabilities"]


@pytest.mark.slow
@pytest.mark.parametrize("maker", REGRESSORS, ids=lambda maker: maker.__name__)
def test_answers_to_limits_are_those_of_a_regressors_predict(maker, tmp_path):
    assert run(maker, tmp_path, regression=True) > MODELS * QUERIES * QUESTIONS / 2


@pytest.mark.slow
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_answers_to_probabilities_are_those_of_predict_proba(maker, tmp_path):
    assert run(maker, tmp_path, regression=False) > MODELS * QUERIES * QUESTIONS / 2
