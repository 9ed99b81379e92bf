"""Models that add up curves of several sums, against an oracle that asks the models themselves.

As in ``test_matrix``: thresholds are from the libraries' own dumps, every combination of values
around them is tried, and ``predict`` or ``predict_proba`` decides each.
"""

import math
import os
import re
import time
from collections import Counter

import numpy as np
import pytest

from encoders.core.errors import InputError
from portfolio import Explainer, Probability, Score
from tests.support.blend_models import BLENDS
from tests.support.brute import all_rows, as_frame, distances, predicted, thresholds
from tests.support.ensembles import random_frame
from tests.support.models import make, saved_and_loaded

pytestmark = pytest.mark.usefixtures("lawful_problems")
MODELS = int(os.environ.get("BLEND_MODELS", "2"))  # per kind
FIRST = int(os.environ.get("BLEND_FIRST", "0"))
LARGE = int(os.environ.get("BLEND_LARGE", "150"))
LIMIT_S = float(os.environ.get("BLEND_LIMIT_S", "10"))
QUESTIONS, MOST_ROWS = 4, 6_000
REFUSED = "no tree|tied up to rounding"
BACKENDS = ("auto", "auto", "search", "cp")


def drawn(maker, seed, folder):
    rng = np.random.default_rng([11, BLENDS.index(maker), seed])
    X, specs = random_frame(rng, n_rows=40)
    n_classes, values = int(rng.integers(2, 4)), X.to_numpy()
    signal = values @ rng.normal(size=X.shape[1]) / (values.std(axis=0).sum() + 1)
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = np.digitize(signal + rng.normal(size=len(X)) * 0.2 * signal.std(), edges)
    y[: 4 * n_classes] = np.tile(np.arange(n_classes), 4)
    made = make(rng, maker, X, y)
    model = saved_and_loaded(made, "joblib", folder) if rng.random() < 0.3 else made.model
    return rng, X, specs, model, f"{made.words} seed {seed}"


def numbers(model, rows):
    """The model's probabilities, or how many votes each class gets, (n_rows, n_classes)."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(as_frame(model, rows)), dtype=np.float64)
    weights = model.weights or [1.0] * len(model.estimators_)
    found = np.zeros((len(rows), len(model.classes_)))
    for member, weight in zip(model.estimators_, weights, strict=True):
        chosen = np.ravel(member.predict(as_frame(model, rows))).astype(int)
        found[np.arange(len(rows)), chosen] += weight
    return found


def drawn_goal(rng, model, explainer, labels, given):
    """A target, which rows reach it, and the index of the number it is about."""
    output = int(rng.integers(len(explainer.classes)))
    label, counts = explainer.classes[output], not hasattr(model, "predict_proba")
    if rng.random() < 0.5 or (counts and len(explainer.classes) > 2):
        return label, np.array([own == label for own in labels]), output
    output = 1 if counts else output
    low, high = np.sort(rng.choice(given[:, output], 2)).tolist()
    kind = str(rng.choice(["least", "most", "between"]))
    low, high = None if kind == "most" else low, None if kind == "least" else high
    goal = Score(low, high) if counts else Probability(label, at_least=low, at_most=high)
    value = given[:, output]
    reached = (value >= (-math.inf if low is None else low)) & (
        value <= (math.inf if high is None else high)
    )
    return goal, reached, output


def check_model(maker, seed, folder, seen, seconds):
    rng, X, specs, model, words = drawn(maker, seed, folder)
    try:
        explainer = Explainer(model, X)
    except InputError as error:
        assert re.search(REFUSED, str(error)), f"{words}: {error}"
        seen["refused"] += 1
        return
    cuts, dtype = thresholds(model, X.shape[1])
    x = X.iloc[int(rng.integers(len(X)))]
    rows = all_rows(specs, x.to_numpy(), model, dtype, cuts, MOST_ROWS)
    if rows is None:
        seen["too large"] += 1
        return
    labels, given = predicted(model, rows).tolist(), numbers(model, rows)
    for _ in range(QUESTIONS):
        goal, reached, output = drawn_goal(rng, model, explainer, labels, given)
        p = float(rng.choice([0, 1, 2, math.inf]))
        units = [(s.upper - s.lower) or 1.0 for s in specs]
        costs = distances(specs, x.to_numpy(), rows[reached], p, units, [1.0] * len(specs))
        began = time.perf_counter()
        result = explainer.explain(
            x,
            target=goal,
            norm="inf" if math.isinf(p) else p,
            strategy=BACKENDS[int(rng.integers(len(BACKENDS)))],
            threads=1,
            time_limit_s=LIMIT_S,
        )
        seconds.append(time.perf_counter() - began)
        best = float(costs.min(initial=math.inf))
        check(result, best, model, output, f"{words}: {goal}, {p}", seen)


def check(result, best, model, output, where, seen):
    assert result.lower_bound <= best * (1 + 1e-9), f"{where}: {result}"
    assert result.distance >= best * (1 - 1e-9), f"{where}: {result}"
    if result.margin or result.stop_reason == "time_limit":
        seen["many ties" if result.margin else "time limit"] += 1
        return
    seen[result.status] += 1
    assert result.status == ("infeasible" if math.isinf(best) else "optimal"), f"{where}: {result}"
    assert math.isclose(result.distance, best, rel_tol=1e-9, abs_tol=1e-300), f"{where}: {result}"
    if result.row is not None:
        assert result.score == numbers(model, result.row.values[None, :])[0, output], where


def run(maker, seeds, folder):
    seen, seconds = Counter(), []
    for seed in seeds:
        check_model(maker, seed, folder, seen, seconds)
    return seen, seconds


@pytest.mark.slow
@pytest.mark.parametrize("maker", BLENDS, ids=lambda maker: maker.__name__)
def test_answers_are_those_of_the_model_itself(maker, tmp_path):
    seen, _ = run(maker, range(FIRST, FIRST + MODELS), tmp_path)
    assert seen["optimal"] > MODELS * QUESTIONS / 4, seen
    assert seen["time limit"] + seen["many ties"] <= 1, seen


@pytest.mark.large
@pytest.mark.parametrize("maker", BLENDS, ids=lambda maker: maker.__name__)
def test_answers_are_those_of_the_model_itself_in_the_large(maker, tmp_path):
    first = FIRST + MODELS
    seen, seconds = run(maker, range(first, first + LARGE), tmp_path)
    print(maker.__name__, dict(seen), f"median {np.median(seconds):.3f} s")
