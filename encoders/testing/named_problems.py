"""Small problems with optima that were computed by hand."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from encoders.core.arrays import starts
from encoders.problem.problem import LeafRow, LevelRow, Problem

INFEASIBLE = float("inf")

Tree = list[dict[int, tuple[int, int]]]  # leaves: axis -> (lo, hi)


@dataclass(frozen=True, eq=False)
class Named:
    """A problem and its optimal cost.

    Attributes
    ----------
    name : str
        Description of what the problem tests.
    problem : Problem
        The problem.
    optimum : float
        The optimal cost, inf if the problem is infeasible.

    Examples
    --------
    >>> from encoders.testing import NAMED
    >>> NAMED[0].name, NAMED[0].optimum
    ('numeric, one step', 0.25)
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
    """Return a problem made of costs, trees and rows.

    Parameters
    ----------
    costs : sequence of array_like
        Costs of the levels, one sequence per axis.
    trees : sequence of list of dict
        Leaves of each tree. A leaf is a dictionary {axis: (lo, hi)} of level ranges.
    rows : sequence of (sequence of int, int)
        Leaf rows: the weights of all leaves, and the minimum.
    aggregate : {"sum", "max"}, default "sum"
        How the costs of the chosen levels are combined.
    one_hot : sequence of sequence of int, default ()
        Groups of level ids; exactly one of each group is chosen.
    level_rows : sequence of (sequence of int, int), default ()
        Level rows: the weights of all levels, and the maximum.

    Returns
    -------
    Problem
        The problem.

    Examples
    --------
    >>> from encoders.testing import optimum
    >>> from encoders.testing.named_problems import make, stump
    >>> problem = make([[0.0, 0.25, 1.0]], [stump(0, 0, 2)], [([0, 1], 1)])
    >>> optimum(problem)[0]
    0.25
    """
    level_costs = [np.asarray(cost, dtype=np.float64) for cost in costs]
    size = np.array([cost.size for cost in level_costs], dtype=np.int64)
    leaves = [leaf for tree in trees for leaf in tree]
    literals = [(a, lo, hi) for leaf in leaves for a, (lo, hi) in sorted(leaf.items())]
    tree_start = starts(np.array([len(tree) for tree in trees], dtype=np.int64))
    columns = np.array(literals, dtype=np.int64).reshape(-1, 3).T
    return Problem(
        level_start=starts(size),
        cost=np.concatenate(level_costs),
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
    """Return a tree of two leaves: one up to a level, one above it.

    Parameters
    ----------
    axis : int
        The axis that the tree splits.
    level : int
        The last level of the first leaf.
    last : int
        The last level of the axis.

    Returns
    -------
    list of dict
        The two leaves, each {axis: (lo, hi)}.

    Examples
    --------
    >>> from encoders.testing.named_problems import stump
    >>> stump(0, 1, 3)
    [{0: (0, 1)}, {0: (2, 3)}]
    """
    return [{axis: (0, level)}, {axis: (level + 1, last)}]


def votes(*ballots: tuple[int, int]) -> list[int]:
    """Return the leaf weights of a sequence of stumps.

    Parameters
    ----------
    *ballots : tuple of (int, int)
        Weights of the two leaves of each stump.

    Returns
    -------
    list of int
        The weights of all leaves.

    Examples
    --------
    >>> from encoders.testing.named_problems import votes
    >>> votes((0, 1), (2, 0))
    [0, 1, 2, 0]
    """
    return [ballot for pair in ballots for ballot in pair]


STEPS = [0.0, 0.25, 0.5, 1.0]  # costs of a numeric or ordinal axis
FLAG = [0.0, 1.0]  # costs of a binary feature
THREE = [stump(0, 0, 3), stump(0, 2, 3), stump(1, 0, 1)]
ONE_EACH = votes((0, 1), (0, 1), (0, 1))
BIG = 2**58  # a weight that float64 cannot distinguish from the next integer

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
        "categorical, the more expensive one is needed",
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
    Named("one remaining option", make([[0.5]], [[{}]], [([0], 0)]), 0.5),
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
        "plausible: a second forest with a separate row",
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
