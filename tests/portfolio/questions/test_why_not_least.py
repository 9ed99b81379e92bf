"""Loosened limits are the least over admissible values, by enumeration through ``predict``."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from portfolio import (
    Allowed,
    Decrease,
    Explainer,
    Forbidden,
    Increase,
    Linear,
    MaxChanges,
    Range,
    Within,
)
from tests.support.gaps import KINDS, Space
from tests.support.parts import few_and_large

FEATURES = {
    "whole": {"kind": "ordinal", "bounds": [0, 3]},
    "quarter": {"kind": "numeric", "step": 0.25, "bounds": [0, 1.25]},
}


class Question:
    """Random rules about one row, and which rows of the space break them."""

    def __init__(self, space):
        rng = space.rng
        self.own = {n: None if pd.isna(v) else v for n, v in space.x.iloc[0].items()}
        self.present = {n: space.values[n][:-1] for n in space.X}
        space.use([*itertools.product(*(self.domain(n) for n in space.X))])
        low, high = sorted(rng.choice(self.present["quarter"], 2))
        self.limit = Range("quarter", low - 0.1, high)
        self.rules, kept = [self.limit], np.ones(len(space.rows), dtype=bool)
        now = self.own["quarter"]
        if rng.random() < 0.6:
            some = [v for v in self.domain("quarter") if rng.random() < 0.6] or [now]
            self.rules.append(Allowed("quarter", some))
            kept &= space.where("quarter", lambda v: v in some)
        if now is not None and rng.random() < 0.5:
            way, sign = [(Increase, 1), (Decrease, -1)][int(rng.integers(2))]
            self.rules.append(way("quarter"))
            kept &= space.where("quarter", lambda v: v is not None and sign * v >= sign * now)
        if rng.random() < 0.5:
            self.rules.append(MaxChanges(1))
            changed = [~space.equal(name, value) for name, value in self.own.items()]
            kept &= np.sum(changed, axis=0) <= 1
        if rng.random() < 0.5:
            self.rules.append(Forbidden(Within("quarter", 0.5, 1), Within("whole", 0, 1, True)))
            first = space.where("quarter", lambda v: v is not None and 0.5 <= v <= 1)
            kept &= ~(first & space.where("whole", lambda v: v is None or v <= 1))
        self.kept = kept & (space.predicted != space.own)

    def domain(self, name):
        return [*self.present[name], *([None] if self.own[name] is None else [])]


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_and_large(len(KINDS), 200))
def test_the_least_limit_is_over_admissible_values(seed):
    space = Space(seed, FEATURES)
    question = Question(space)
    found = space.explainer.why_not(space.x, constraints=question.rules)
    limit, values = question.limit, space.rows["quarter"].astype(float).to_numpy()
    inside = (limit.lower <= values) & (values <= limit.upper)
    assert (found.status == "feasible") == (question.kept & inside).any()
    for each in found.relaxations:
        if each.member.constraint is not limit:
            continue
        reached = values[question.kept & ~np.isnan(values)]
        if each.limit == "all":
            assert not reached.size
            continue
        upwards = each.limit == "upper"
        best = (
            reached[reached > limit.upper].min()
            if upwards
            else reached[reached < limit.lower].max()
        )
        assert each.least and each.after == best


@pytest.fixture(scope="module")
def steps():
    X = pd.DataFrame({"a": np.linspace(0, 10, 101), "b": np.tile([0.0, 1.0, 2.0], 34)[:101]})
    return Explainer(DecisionTreeClassifier(max_depth=1).fit(X, (X.a > 5).astype(int)), X)


@pytest.mark.parametrize(("sign", "bound", "least"), [("==", 7.3, 5.3), (">=", 8.6, 6.6)])
def test_the_least_limit_of_a_number_in_a_sum(steps, sign, bound, least):
    row = pd.DataFrame({"a": [1.0], "b": [0.0]})
    total = Linear({"a": 1, "b": 1}, sign, bound)
    found = steps.why_not(row, 1, constraints=[Range("a", 0, 4), total])
    loosened = next(each for each in found.relaxations if each.limit == "upper")
    assert loosened.least and loosened.after == least
    tight = [Range("a", 0, np.nextafter(least, 0)), total]
    assert steps.explain(row, 1, constraints=tight).status == "infeasible"


@pytest.mark.parametrize(
    "rules",
    [
        [Range("a", 20, 30)],
        [Range("a", 0, 2), Range("a", 3, 4)],
        [Range("a", 0, 2), Allowed("a", [3, 7])],
        [Increase("a"), Range("a", 0, 0.5)],
    ],
)
def test_rules_that_leave_no_value_are_a_conflict(steps, rules):
    row = pd.DataFrame({"a": [1.0], "b": [0.0]})
    found = steps.why_not(row, 1, constraints=rules)
    assert found.status == "minimal" and found.result.status == "infeasible"
    members = {m.constraint for m in found.conflict}
    assert members & set(rules) and found.to_dict()["conflict"]
    for each in found.relaxations:
        assert each.result.status == "optimal"


def test_lines_that_begin_with_a_column_show_its_name_as_it_is(steps):
    row = pd.DataFrame({"a": [1.0], "b": [0.0]})
    found = steps.why_not(row, 1, constraints=[Decrease("a")])
    assert "- a may not rise above 1." in str(found).splitlines()
    found = steps.why_not(row, 1, constraints=[Range("a", 0, 4)])
    lines = str(found).splitlines()
    assert "- a must be from 0 to 4." in lines
    assert any(line.startswith("- a up to 5.05 instead of 4, distance") for line in lines)
    found = steps.why_not(row, 1, constraints=[MaxChanges(0)])
    assert "- At most 0 features may change." in str(found).splitlines()


def test_a_missing_value_that_alone_is_allowed_stays():
    space = Space(0)
    for name in ("whole", "quarter"):
        space.x = space.X[space.X[name].isna()].iloc[[0]]
        space.use(space.rows)
        found = space.explainer.explain(space.x, constraints=[Allowed(name, [None])])
        now = {n: space.x[n].isna().item() for n in space.X}
        kept = space.equal(name, None) & (space.predicted != space.own)
        for other in set(space.X) - {name}:
            kept &= now[other] | ~space.equal(other, None)
        assert found.status == ("optimal" if kept.any() else "infeasible")


@pytest.mark.parametrize("limit", [2.0, 30.0])
def test_a_sum_that_needs_bounds_leaves_a_minimal_conflict_or_a_reason(limit):
    """Without its bounds, a whole number of a sum has too many values to list."""
    grid = np.array([(a, b) for a in range(4) for b in range(4)], dtype=float)
    X = pd.DataFrame(grid, columns=["a", "b"])
    explainer = Explainer(DecisionTreeClassifier().fit(X, X["b"] > 1), X)
    rules = [Range("a", 0, 0), Linear({"a": 1}, "==", limit)]
    why = explainer.why_not({"a": 0.0, "b": 0.0}, constraints=rules)
    if limit == 2.0:
        assert why.status == "minimal"
        assert {member.constraint for member in why.conflict} == set(rules)
    else:
        assert why.status == "conflict" and "cannot be solved without all bounds" in why.message
