"""The law of the boxes: what breaks it is found, whatever it is."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.core.errors import BrokenProblemError
from encoders.problem.problem import LeafRow
from encoders.testing.random_problems import random_problem


def lawful():
    return [random_problem(seed) for seed in range(60)]


def test_problems_whose_trees_part_the_space_pass():
    for problem in lawful():
        problem.check()


def test_a_missing_leaf_and_one_too_many_are_found():
    found = 0
    for problem in lawful():
        sizes = np.diff(problem.tree_start)
        if sizes[-1] < 2 or problem.one_hot:  # with groups some leaves hold no choice at all
            continue
        last = problem.leaf_start[-2]
        shorter = replace(
            problem,
            tree_start=np.r_[problem.tree_start[:-1], problem.tree_start[-1] - 1],
            leaf_start=problem.leaf_start[:-1],
            axis=problem.axis[:last], lo=problem.lo[:last], hi=problem.hi[:last],
        )  # fmt: skip
        orphan = replace(
            problem,
            tree_start=np.r_[problem.tree_start[:-1], problem.tree_start[-1] + 1],
            leaf_start=np.r_[problem.leaf_start, problem.leaf_start[-1]],
        )
        for broken in (shorter, orphan):
            with pytest.raises(BrokenProblemError, match="do not partition the space"):
                broken.check()
        found += 1
    assert found > 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda p: {"cost": np.where(np.arange(p.cost.size) == 0, np.nan, p.cost)}, "costs"),
        (lambda p: {"cost": p.cost - 1e9}, "costs"),
        (
            lambda p: {"leaf_rows": (LeafRow(p.leaf_rows[0].weight + 1, 0),)},
            "least leaf weight",
        ),
    ],
)
def test_other_laws(change, words):
    problem = next(p for p in lawful() if p.leaf_rows)
    with pytest.raises(BrokenProblemError, match=words):
        replace(problem, **change(problem)).check()
