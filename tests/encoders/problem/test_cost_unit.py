"""Costs in whole steps: the unit is right, and nothing cheaper lies above the ceiling."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from encoders.backends.interface import Request
from encoders.core.arrays import starts
from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.problem import LeafRow, Problem
from encoders.search.backend import solve


def problem_of(*axes, aggregate="sum"):
    """A problem without trees whose axes cost this."""
    nothing = np.zeros(0, dtype=np.int64)
    return Problem(
        level_start=starts(np.array([len(costs) for costs in axes])),
        cost=np.concatenate([np.asarray(costs, dtype=np.float64) for costs in axes]),
        aggregate=aggregate,
        one_hot=(),
        tree_start=np.zeros(1, dtype=np.int64),
        leaf_start=np.zeros(1, dtype=np.int64),
        axis=nothing,
        lo=nothing,
        hi=nothing,
        leaf_rows=(),
        level_rows=(),
    )


@pytest.mark.parametrize(
    ("axes", "unit"),
    [
        ([[0, 1, 1], [0, 1]], 1.0),
        ([[0, 1 / 3, 2 / 3], [0, 0.25]], 1 / 12),
        ([[0, 0.1, 0.2], [0.3, 0.7]], 0.1),
        ([[0, 1e-40], [0, 3e-40]], 1e-40),
        ([[0, 1.0], [0, np.sqrt(2)]], 0.0),
        ([[0, 1.0], [0, 1.0 + 1e-6]], 0.0),
        ([[0, 1.0], [0, 1e-5]], 0.0),
        ([[0, 0], [0]], np.inf),
    ],
)
def test_unit(axes, unit):
    assert unit_of(problem_of(*axes)) == pytest.approx(unit, rel=1e-9)


def test_largest_change_has_no_unit():
    assert unit_of(problem_of([0, 1], [0, 1], aggregate="max")) == 0.0


steps = st.lists(st.integers(0, 12), min_size=1, max_size=4)


@given(
    axes=st.lists(steps, min_size=1, max_size=4),
    unit=st.floats(1e-6, 1e6),
    pick=st.integers(0, 255),
)
def test_all_that_is_cheaper_lies_below_the_ceiling(axes, unit, pick):
    problem = problem_of(*(np.array(costs) * unit for costs in axes))
    costs = sorted(sum(choice) * unit for choice in product(*axes))
    upper = costs[pick % len(costs)]
    ceiling = ceiling_below(upper, unit_of(problem))
    assert ceiling <= upper
    cheaper = [cost for cost in costs if cost < upper * (1 - 1e-9)]
    assert all(cost < ceiling for cost in cheaper)
    if unit_of(problem) < np.inf:
        assert ceiling <= upper - 0.49 * unit_of(problem)


def test_a_ceiling_without_a_unit_is_the_bound_itself():
    assert ceiling_below(0.7, 0.0) == 0.7
    assert ceiling_below(np.inf, 1.0) == np.inf
    assert ceiling_below(2.0, np.inf) == 2.0


def test_levels_that_cost_the_same_are_not_taken_off_one_by_one():
    """A row that two of 400 levels on either axis nearly keep, each change costing 1."""
    rng = np.random.default_rng(0)
    n_levels, n_trees = 400, 60
    axis, lo, hi, weight = [], [], [], []
    for tree in range(n_trees):
        cuts = np.sort(rng.choice(n_levels - 2, 3, replace=False)) + 1
        for first, last in zip([0, *cuts], [*cuts - 1, n_levels - 1], strict=True):
            axis.append(tree % 2)
            lo.append(first)
            hi.append(last)
            weight.append(int(rng.integers(0, 100)))
    tree_start = np.arange(0, 4 * n_trees + 1, 4)
    weight = np.array(weight) - np.repeat(np.array(weight).reshape(-1, 4).min(axis=1), 4)
    flat = np.r_[0.0, np.ones(n_levels - 1)]
    best = [max(_total(axis, lo, hi, weight, a, v) for v in range(n_levels)) for a in (0, 1)]
    problem = Problem(
        level_start=np.array([0, n_levels, 2 * n_levels]),
        cost=np.r_[flat, flat],
        aggregate="sum",
        one_hot=(),
        tree_start=tree_start,
        leaf_start=np.arange(4 * n_trees + 1),
        axis=np.array(axis),
        lo=np.array(lo),
        hi=np.array(hi),
        leaf_rows=(LeafRow(weight, sum(best)),),
        level_rows=(),
    )
    outcome = solve(problem, Request(time_limit_s=60, threads=1))
    assert (outcome.status, outcome.upper) == ("optimal", 2.0)
    assert int(outcome.raw.split()[0]) < 200


def _total(axis, lo, hi, weight, a, v):
    """What one axis gives the row at a level."""
    return sum(
        int(w) for b, x, y, w in zip(axis, lo, hi, weight, strict=True) if b == a and x <= v <= y
    )


def test_a_choice_at_no_cost_is_cheaper_than_any_part_of_a_unit():
    assert ceiling_below(1e-30, 1.0) > 0.0
