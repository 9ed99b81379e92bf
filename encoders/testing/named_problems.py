"""Small problems with optima known by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from encoders.arrays import starts
from encoders.problem.problem import LeafRow, LevelRow, Problem

INFEASIBLE = float("inf")

Tree = list[dict[int, tuple[int, int]]]  # leaves: axis -> (lo, hi)


@dataclass(frozen=True, eq=False)
class Named:
    """A problem and its optimal cost.

    Attributes
    ----------
    name : says what it is about
    problem : small
    optimum : its least cost, inf if there is no choice
    """

    name: str
    problem: Problem
    optimum: float


def make(
    costs: Sequence[ArrayLike],
    trees: Sequence[Tree],
    rows: Sequence[tuple[Sequence[int], int]],
    aggregate: Literal["sum", "max"] = "sum",
    one_hot: Sequence[Sequence[int]] = (),
    level_rows: Sequence[tuple[Sequence[int], int]] = (),
) -> Problem:
    """A problem from costs per axis, trees as lists of leaves {axis: (lo, hi)}, and rows.

    Parameters
    ----------
    costs : per axis the cost of each level
    trees : per tree its leaves
    rows : (weights of all leaves, minimum) of each leaf row
    aggregate : "sum" or "max"
    one_hot : groups of level ids
    level_rows : (weights of all levels, maximum) of each level row
    """
    priced = [np.asarray(cost, dtype=np.float64) for cost in costs]
    size = np.array([cost.size for cost in priced], dtype=np.int64)
    leaves = [leaf for tree in trees for leaf in tree]
    literals = [(a, lo, hi) for leaf in leaves for a, (lo, hi) in sorted(leaf.items())]
    tree_start = starts(np.array([len(tree) for tree in trees], dtype=np.int64))
    columns = np.array(literals, dtype=np.int64).reshape(-1, 3).T
    return Problem(
        level_start=starts(size),
        cost=np.concatenate(priced),
        aggregate=aggregate,
        one_hot=tuple(np.array(group, dtype=np.int64) for group in one_hot),
        tree_start=tree_start,
        leaf_start=starts(np.array([len(leaf) for leaf in leaves], dtype=np.int64)),
        axis=columns[0],
        lo=columns[1],
        hi=columns[2],
        leaf_rows=tuple(
            LeafRow.normalised(np.array(w, dtype=np.int64), m, tree_start) for w, m in rows
        ),
        level_rows=tuple(LevelRow(np.array(w, dtype=np.int64), most) for w, most in level_rows),
    )


def stump(axis: int, level: int, last: int) -> Tree:
    """A tree of two leaves: axis <= level, or above.

    Parameters
    ----------
    axis : that it splits
    level : the last one of the first leaf
    last : the last one of the axis
    """
    return [{axis: (0, level)}, {axis: (level + 1, last)}]


def votes(*ballots: tuple[int, int]) -> list[int]:
    """Weights of stumps, two a tree.

    Parameters
    ----------
    *ballots : the weights of each tree's two leaves
    """
    return [ballot for pair in ballots for ballot in pair]


STEPS = [0.0, 0.25, 0.5, 1.0]  # a numeric or ordinal axis, by distance
FLAG = [0.0, 1.0]  # a binary feature
THREE = [stump(0, 0, 3), stump(0, 2, 3), stump(1, 0, 1)]
ONE_EACH = votes((0, 1), (0, 1), (0, 1))
BIG = 2**58  # a weight that float64 can't tell from the next

NAMED = [
    Named("numeric, one step", make([STEPS], [stump(0, 0, 3)], [([0, 1], 1)]), 0.25),
    Named("numeric, the far side", make([STEPS], [stump(0, 2, 3)], [([0, 1], 1)]), 1.0),
    Named("binary", make([FLAG], [stump(0, 0, 1)], [([0, 1], 1)]), 1.0),
    Named("majority of three", make([STEPS, FLAG], THREE, [(ONE_EACH, 2)]), 1.0),
    Named("all of three", make([STEPS, FLAG], THREE, [(ONE_EACH, 3)]), 2.0),
    Named("all of three, max", make([STEPS, FLAG], THREE, [(ONE_EACH, 3)], "max"), 1.0),
    Named("L0", make([[0, 1, 1, 1], FLAG], THREE, [(ONE_EACH, 2)]), 1.0),
    Named("squares", make([np.square(STEPS), FLAG], THREE, [(ONE_EACH, 1)]), 0.0625),
    Named(
        "a cost that falls again",
        make([[0.0, 9.0, 3.0, 0.5]], [stump(0, 0, 3)], [([0, 1], 1)]),
        0.5,
    ),
    Named(
        "categorical",
        make(
            [[0.0, 0.0], [0.0, 1.0], [0.0, 0.75]],
            [stump(1, 0, 1), stump(2, 0, 1), stump(0, 0, 1)],
            [(votes((0, 2), (0, 1), (0, 0)), 1)],
            one_hot=[[1, 3, 5]],
        ),
        0.75,
    ),
    Named(
        "categorical, the dearer one is needed",
        make(
            [[0.0, 0.0], [0.0, 1.0], [0.0, 0.75]],
            [stump(1, 0, 1), stump(2, 0, 1), stump(0, 0, 1)],
            [(votes((0, 2), (0, 1), (0, 0)), 2)],
            one_hot=[[1, 3, 5]],
        ),
        1.0,
    ),
    Named(
        "two rivals",
        make(
            [STEPS, FLAG],
            [stump(0, 1, 3), stump(1, 0, 1)],
            [(votes((0, 2), (1, 0)), 2), (votes((0, 1), (0, 2)), 2)],
        ),
        1.5,
    ),
    Named(
        "two rivals, never both",
        make(
            [STEPS, FLAG],
            [stump(0, 1, 3), stump(1, 0, 1)],
            [(votes((0, 2), (1, 0)), 3), (votes((0, 1), (0, 2)), 2)],
        ),
        INFEASIBLE,
    ),
    Named(
        "two rivals, one way out",
        make(
            [STEPS, FLAG],
            [stump(0, 1, 3), stump(1, 0, 1)],
            [(votes((0, 2), (1, 0)), 2), (votes((0, 1), (0, 2)), 1)],
        ),
        0.5,
    ),
    Named("a tie is enough", make([STEPS], [stump(0, 0, 3)], [([0, 7], 7)]), 0.25),
    Named("a tie is missed by one", make([STEPS], [stump(0, 0, 3)], [([0, 7], 8)]), INFEASIBLE),
    Named("already the target", make([STEPS], [stump(0, 0, 3)], [([1, 0], 1)]), 0.0),
    Named("no row at all", make([STEPS], [stump(0, 0, 3)], []), 0.0),
    Named("one option left", make([[0.5]], [[{}]], [([0], 0)]), 0.5),
    Named("one option, not enough", make([[0.5]], [[{}]], [([0], 1)]), INFEASIBLE),
    Named(
        "scores of very different size",
        make([STEPS, FLAG], [stump(0, 1, 3), stump(1, 0, 1)], [(votes((0, BIG), (0, 1)), BIG + 1)]),
        1.5,
    ),
    Named(
        "huge scores that differ in the last digit",
        make([STEPS], [stump(0, 0, 3), stump(0, 2, 3)], [(votes((0, BIG), (1, 0)), BIG + 1)]),
        0.25,
    ),
    Named(
        "costs of very different size",
        make([[0.0, 1e9], [0.0, 1e-3]], [stump(0, 0, 1), stump(1, 0, 1)], [([0, 1, 0, 1], 1)]),
        1e-3,
    ),
    Named(
        "plausible: a second forest with a row of its own",
        make(
            [STEPS, FLAG],
            [stump(0, 0, 3), stump(0, 1, 3), stump(1, 0, 1)],
            [(votes((0, 1), (0, 0), (0, 0)), 1), (votes((0, 0), (10, 37), (40, 5)), 77)],
        ),
        0.5,
    ),
    Named(
        "at most one change",
        make(
            [STEPS, FLAG],
            THREE,
            [(ONE_EACH, 3)],
            level_rows=[([0, 1, 1, 1, 0, 1], 1)],
        ),
        INFEASIBLE,
    ),
    Named(
        "the region of the best answer is forbidden",
        make([STEPS], [stump(0, 0, 3), stump(0, 1, 3)], [([0, 1, 0, 0], 1)]).without(np.array([1])),
        0.5,
    ),
]
