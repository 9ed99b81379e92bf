"""Every kind of relation, one at a time, against every row of a small grid."""

import math

import numpy as np
import pytest

from portfolio import Fixed, JointCost, MaxChanges
from tests.support.listed_problems import ALL, LABELS, Case, back, check
from tests.support.parts import few_and_large

RELATIONS = (
    "forbidden",
    "stays",
    "pairs",
    "mixed",
    "precedence",
    "sum",
    "implies",
    "together",
    "follows",
    "joint",
)
NORMS, SCALES = (0, 1, 2, "inf"), ("range", "none", "std")
STRATEGIES = ("auto", "auto", "search", "cp", "milp", "maxsat")
EACH = 20


def measured(case, norm, scale):
    """What every row of the grid costs, by definition."""
    unit = {"range": [4.0, 3.0], "none": [1.0, 1.0], "std": np.std(case.X[["a", "b"]], axis=0)}
    parts = case.changed().astype(float)
    if norm != 0:
        parts[:, :2] = np.abs(ALL - case.q)[:, :2] / np.array(unit[scale])
    return parts.max(axis=1) if norm == "inf" else (parts ** (norm or 1)).sum(axis=1)


def joint_costs(case, norm, cost):
    """What pairs cost on top, and what every row then costs."""
    first, second = ("a", "b") if case.rng.random() < 0.5 else ("d", "c")
    at = ["abcd".index(first), "abcd".index(second)]
    pairs = [pair for pair in map(tuple, np.unique(ALL[:, at], axis=0)) if case.rng.random() < 0.7]
    prices = {pair: float(case.rng.choice([0.125, 0.5, 1.0])) for pair in pairs}
    extra = np.array([prices.get(pair, 0.0) for pair in map(tuple, ALL[:, at])])
    extra[(ALL[:, at] == case.q[at]).all(axis=1)] = 0.0  # staying is no change
    named = {
        (LABELS[int(one)] if first == "d" else one, other): price
        for (one, other), price in prices.items()
    }
    both = np.maximum if norm == "inf" else np.add
    return JointCost(first, second, named or {(0, 0): 0.0}), both(cost, extra)


def question(case, relation, norm, scale):
    """Constraints, which rows keep them, and costs."""
    cost, allowed, rules = measured(case, norm, scale), np.ones(len(ALL), dtype=bool), []
    if relation == "joint":
        rule, cost = joint_costs(case, norm, cost)
        rules = [rule]
    else:
        rules, allowed = [*case.relations], case.allowed.copy()
    more = case.rng.random()
    if more < 0.2:
        rules.append(MaxChanges(2))
        allowed &= case.changed().sum(axis=1) <= 2
    elif more < 0.4:
        rules.append(Fixed("c"))
        allowed &= ~case.changed()[:, 2]
    return rules, allowed, cost


@pytest.mark.slow
@pytest.mark.parametrize("part", few_and_large(1, 27))
@pytest.mark.parametrize("relation", RELATIONS)
def test_each_relation_is_kept_at_the_least_cost(relation, part):
    size = EACH if part else 2
    for seed in range(part * EACH, part * EACH + size):
        own = seed + 100_000 * RELATIONS.index(relation)
        only = None if relation == "joint" else relation
        case = Case(own, only, classes=2 + seed % 2)
        if case.q is None:
            continue
        norm, scale = NORMS[seed % 4], SCALES[seed // 4 % 3]
        strategy = STRATEGIES[seed // 3 % len(STRATEGIES)]
        rules, allowed, cost = question(case, relation, norm, scale)
        asked = {"norm": norm, "scale": scale, "constraints": rules, "strategy": strategy}
        found = case.explainer().explain(case.x, target=1, threads=1, **asked)
        best = cost[(case.labels == 1) & allowed].min(initial=math.inf)
        check(found, best, (case.where, asked))
        if found.row is not None:
            place = (back(found.counterfactual) == ALL).all(axis=1)
            assert (place & (case.labels == 1) & allowed).any(), (case.where, asked)
