"""Every library, its parameters and its formats against an oracle that asks ``predict``.

The oracle takes thresholds from the library's own dump and tries every combination of values around
them. The model's own predict decides each; the oracle shares no code with the project.
"""

import math
import os
import re
from collections import Counter

import numpy as np
import pytest

from encoders.core.errors import InputError
from portfolio import Explainer
from tests.support.brute import all_rows, distances, predicted, thresholds
from tests.support.ensembles import random_frame
from tests.support.models import MAKERS, make, saved_and_loaded
from tests.support.parts import few_and_large
from tests.support.questions import random_constraints

pytestmark = pytest.mark.usefixtures("lawful_problems")
MODELS = int(os.environ.get("MATRIX_MODELS", "8"))  # per library
LARGE = 1700
QUERIES, QUESTIONS = 2, 6
MOST_ROWS = 12_000
STRATEGIES = ("auto", "auto", "auto", "search", "cp", "plain-search")


def drawn(maker, seed, folder):
    """A model at random, perhaps one that has been through a file, and what it was trained on."""
    rng = np.random.default_rng([MAKERS.index(maker), seed])
    X, specs = random_frame(rng, n_rows=40)
    n_classes = int(rng.integers(2, 4))
    values = X.to_numpy()
    signal = values @ rng.normal(size=X.shape[1]) / (values.std(axis=0).sum() + 1)
    edges = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = np.digitize(signal + rng.normal(size=len(X)) * 0.2 * signal.std(), edges)
    y[:n_classes] = np.arange(n_classes)
    made = make(rng, maker, X, y)
    ending = str(rng.choice(["", "", *made.formats]))
    model = saved_and_loaded(made, ending, folder) if ending else made.model
    return rng, X, specs, model, f"{made.words} {ending} seed {seed}"


def ask(rng, explainer, specs, x, rows, labels):
    """Compare the answer to a random question with the cheapest row that the model confirms."""
    values = x.to_numpy()
    target = explainer.classes[int(rng.integers(len(explainer.classes)))]
    p = float(rng.choice([0, 1, 2, math.inf]))
    constraints, masks = [], []
    if rng.random() < 0.5:
        constraints, masks = random_constraints(rng, specs, values)
    valid = np.array([label == target for label in labels])
    for mask in masks:
        valid &= mask(rows)
    units = [(s.upper - s.lower) or 1.0 for s in specs]
    costs = distances(specs, values, rows[valid], p, units, [1.0] * len(specs))
    result = explainer.explain(
        x,
        target=target,
        norm="inf" if math.isinf(p) else p,
        constraints=constraints,
        strategy=STRATEGIES[int(rng.integers(len(STRATEGIES)))],
        threads=1,
    )
    return result, float(costs.min(initial=math.inf)), f"target {target}, {p}, {constraints}"


def check_model(maker, seed, folder, seen):
    rng, X, specs, model, words = drawn(maker, seed, folder)
    try:
        explainer = Explainer(model, X)
    except InputError as error:
        # Early stopping may leave no tree, and a vote may hang on a rounding.
        assert re.search("no tree|tied up to rounding", str(error)), f"{words}: {error}"
        seen["refused"] += 1
        return
    cuts, dtype = thresholds(model, X.shape[1])
    for _ in range(QUERIES):
        x = X.iloc[int(rng.integers(len(X)))]
        rows = all_rows(specs, x.to_numpy(), model, dtype, cuts, MOST_ROWS)
        if rows is None:
            seen["too large"] += 1
            continue
        labels = predicted(model, rows).tolist()
        for _ in range(QUESTIONS):
            try:
                result, best, asked = ask(rng, explainer, specs, x, rows, labels)
            except InputError as error:
                assert "contradictory" in str(error), f"{words}: {error}"
                seen["contradictory"] += 1
                continue
            check(result, best, f"{words}: {asked}", seen)


def check(result, best, where, seen):
    if result.margin:  # many ties: the proof is about rows that lead
        seen["many ties"] += 1
        assert "near a tie" in result.message, where
        assert result.distance >= best * (1 - 1e-9), where
        return
    seen[result.status] += 1
    assert result.status == ("infeasible" if math.isinf(best) else "optimal"), f"{where}: {result}"
    assert math.isclose(result.distance, best, rel_tol=1e-9, abs_tol=1e-300), f"{where}: {result}"


def run(maker, seeds, folder):
    seen = Counter()
    for seed in seeds:
        check_model(maker, seed, folder, seen)
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("part", few_and_large(1, 2))
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_answers_are_those_of_predict(maker, part, tmp_path):
    share = MODELS // 2
    seen = run(maker, range(part * share, (part + 1) * share), tmp_path)
    asked = seen["optimal"] + seen["infeasible"]
    assert asked > 0.7 * share * QUERIES * QUESTIONS, seen
    assert seen["optimal"] > asked / 3 and seen["many ties"] <= asked / 50, seen


@pytest.mark.large
@pytest.mark.parametrize("part", range(10))
@pytest.mark.parametrize("maker", MAKERS, ids=lambda maker: maker.__name__)
def test_answers_are_those_of_predict_in_the_large(maker, part, tmp_path):
    share = LARGE // 10
    seeds = range(MODELS + part * share, MODELS + (part + 1) * share)
    print(maker.__name__, part, dict(run(maker, seeds, tmp_path)))
