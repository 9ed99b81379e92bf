"""Rows of goals lose no choice that reaches them; tangents cut off what they are made for."""

import math

import numpy as np
import pytest

from encoders.formulation.goal_rows import goal_rows, has_room, tangent
from encoders.query.goal import ValueGoal
from encoders.trees.arithmetic import Link, rounding_of
from encoders.trees.ensemble import Ensemble

TREES, LEAVES = 3, 4
LINKS = {
    "mean": (Link("mean", divisor=TREES), 1, "prediction"),
    "exp": (Link("exp"), 1, "prediction"),
    "sigmoid": (Link("sigmoid", steepness=0.7), 2, "probability"),
    "sigmoids": (Link("sigmoids", steepness=2.0), 3, "probability"),
    "softmax": (Link("softmax"), 3, "probability"),
    "softmax of averages": (Link("softmax", steepness=0.5), 4, "probability"),
}


class Choices:
    """Stands for a problem whose choices are the leaves themselves."""

    tree_start = np.arange(TREES + 1) * LEAVES

    @staticmethod
    def active_leaves(levels):
        return levels


def drawn(rng, link, n_sums):
    score = rng.normal(size=(TREES * LEAVES, n_sums)) * 10.0 ** rng.integers(-1, 2)
    if link.kind == "sigmoid":
        score[:, 0] = 0.0
    root, bias = Choices.tree_start[:-1], rng.normal(size=n_sums) * (link.kind != "sigmoid")
    nothing = np.zeros(TREES * LEAVES, dtype=np.int64)
    ensemble = Ensemble(
        1, root, nothing - 1, nothing * 1.0, nothing - 1, nothing - 1, score, bias,
        np.dtype(np.float64), 1.0, False, rounding=rounding_of(score, root, bias), link=link,
        regression=n_sums == 1,
    )  # fmt: skip
    grid = np.stack(np.meshgrid(*[np.arange(LEAVES)] * TREES), axis=-1).reshape(-1, TREES)
    return ensemble, grid + root


def output(link, sums, index):
    """As a library may compute it, in float64."""
    if link.kind == "mean":
        return sums[:, index] / link.divisor
    scaled = link.steepness * sums
    if link.kind == "exp":
        return np.exp(scaled[:, index])
    if link.kind == "softmax":
        powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return powers[:, index] / powers.sum(axis=1)
    one = 1.0 / (1.0 + np.exp(-scaled[:, index if link.kind == "sigmoids" else 1]))
    return 1.0 - one if link.kind == "sigmoid" and index == 0 else one


@pytest.mark.parametrize("name", LINKS)
def test_no_choice_that_reaches_a_goal_is_lost(name):
    rng = np.random.default_rng(0)
    link, n_sums, scale = LINKS[name]
    cut = 0
    for _ in range(60):
        ensemble, choices = drawn(rng, link, n_sums)
        index = int(rng.integers(n_sums))
        sums = ensemble.bias + ensemble.score[choices].sum(axis=1)
        values = output(link, sums, index)
        low, high = np.sort(rng.choice(values, 2))  # limits that some choice has exactly
        low, high = (low, math.inf) if rng.random() < 0.4 else (low, high)
        low = -math.inf if rng.random() < 0.3 else low
        goal = ValueGoal(0, scale, index, low, high)
        rows, exact = goal_rows(ensemble.score, Choices.tree_start, ensemble, goal, 0.0)
        assert exact and rows
        kept = np.all([row.weight[choices].sum(axis=1) >= row.minimum for row in rows], axis=0)
        reached = (low <= values) & (values <= high)
        assert kept[reached].all()
        flat = link.kind == "sigmoids" and not (low > 1e-6 and high < 1 - 1e-6)
        if link.kind != "softmax" and not flat:
            assert kept.sum() <= reached.sum() + 2  # only what rounding can't tell apart
        for choice in choices[kept & ~reached]:
            row = tangent(ensemble.score, ensemble, goal, Choices, choice)
            if row is not None:
                cut += 1
                assert row.weight[choice].sum() < row.minimum
                assert (row.weight[choices[reached]].sum(axis=1) >= row.minimum).all()
    assert (cut > 0) == (link.kind == "softmax")


def test_rows_that_clear_a_goal_are_fewer_and_may_be_none():
    rng = np.random.default_rng(1)
    ensemble, choices = drawn(rng, Link("mean"), 1)
    values = ensemble.bias[0] + ensemble.score[choices, 0].sum(axis=1)
    goal = ValueGoal(0, "prediction", 0, float(np.median(values)), math.inf)
    rows, _ = goal_rows(ensemble.score, Choices.tree_start, ensemble, goal, 1e-3)
    kept = rows[0].weight[choices].sum(axis=1) >= rows[0].minimum
    assert kept[values >= goal.low + 2e-3].all() and not kept[values < goal.low + 5e-4].any()
    assert has_room(ensemble, goal, 1e-3)
    assert not has_room(ensemble, ValueGoal(0, "prediction", 0, 1.0, 1.0), 1e-3)


@pytest.mark.parametrize("name", LINKS)
def test_limits_hold_what_a_library_may_put_out(name):
    rng = np.random.default_rng(2)
    link, n_sums, _ = LINKS[name]
    sums = rng.normal(size=(500, n_sums)) * 10
    if link.kind == "sigmoid":
        sums[:, 0] = 0.0
    for index in range(n_sums):
        low, high = link.limits(sums, index, 0.0)
        values = output(link, sums, index)
        assert ((low <= values) & (values <= high)).all()
        assert (high - low <= 1e-12 * (1 + np.abs(values))).all()
