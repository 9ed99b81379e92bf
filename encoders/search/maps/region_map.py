"""A map of a problem: all its choices in boxes, of each of which it is known what goals it reaches.

Nothing in it depends on costs, so it is made once and asked about any of them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from encoders.core.arrays import FloatArray, IntArray, NarrowArray, Scalar
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.search.maps.grow import NODES, WAITING, dive, grow, merged
from encoders.search.maps.look import NONE, OPEN
from encoders.search.maps.walk import walk

NODE_BYTES = 12
SLICE = 5_000  # nodes between two looks at clock and stop: 10 to 50 ms
DIVES, DIVING_S = 2_000, 0.5  # ways down, and seconds for them, that a map's size is guessed from
# The guess may be off by this factor: maps guessed at up to so many times the budget are begun.
GUESS = 4.0


class Space(NamedTuple):
    """Axes and groups of a problem, for compiled code; fields as of :class:`Tables`."""

    level_start: IntArray
    group_of: IntArray
    group_start: IntArray
    group_axes: IntArray
    one: IntArray


@dataclass(frozen=True)
class Budget:
    """Largest time and size of a map, in seconds and megabytes."""

    seconds: float = 60.0
    megabytes: float = 256.0

    @property
    def nodes(self) -> int:
        """Return the number of nodes that fit."""
        return int(min(self.megabytes * 1e6 / NODE_BYTES, np.iinfo(np.int32).max))

    def less(self, seconds: float, megabytes: float) -> "Budget":
        """Return the remaining budget."""
        return Budget(max(0.0, self.seconds - seconds), max(0.0, self.megabytes - megabytes))


@dataclass(frozen=True)
class Guess:
    """Estimated size of a map, from random paths; it may be off by a factor of a few."""

    nodes: float  # number of nodes of the map
    looks: float  # leaves to be looked at for them
    seconds: float  # time to build the whole map

    @property
    def megabytes(self) -> float:
        """Return the size of the nodes in megabytes."""
        return self.nodes * NODE_BYTES / 1e6

    def within(self, budget: Budget) -> bool:
        """Return whether the map may fit the budget, so that building it is worth a try."""
        most = min(budget.nodes, self.nodes * budget.seconds / max(self.seconds, 1e-6))
        return self.nodes <= GUESS * most


@dataclass(frozen=True, eq=False)
class Nearest:
    """Result of a map for a query.

    Attributes
    ----------
    choice : int64 (n_axes,), the cheapest choice in decided boxes; None if there is none.
    goals : goals that it reaches, among those requested, ascending.
    cost : cost of the choice, inf without one.
    open_from : lower bound on the cost of anything in boxes that the map does not decide.
    """

    choice: IntArray | None
    goals: tuple[int, ...]
    cost: float
    open_from: float

    @property
    def proved(self) -> bool:
        """Return whether nothing costs less."""
        return self.cost <= self.open_from


@dataclass(frozen=True, eq=False)
class RegionMap:
    """Boxes of all choices as a tree of cuts.

    Thread safe. Picklable.

    Attributes
    ----------
    space : axes and groups
    tree : int32 (n_nodes, 3), nodes as :func:`encoders.search.maps.grow.grow` writes them
    depth : int, depth of the tree
    seconds : float, time that building it took
    """

    space: Space
    tree: NarrowArray
    depth: int
    seconds: float

    @property
    def regions(self) -> int:
        """Boxes all of whose choices reach a goal."""
        known = self.tree[:, 0]
        return int(((known < NONE) & (known != OPEN)).sum())

    @property
    def gaps(self) -> int:
        """Boxes that the map does not reach; 0 of one that is whole."""
        return int((self.tree[:, 0] == OPEN).sum())

    @property
    def megabytes(self) -> float:
        """Return the size of the tree in megabytes."""
        return self.tree.nbytes / 1e6

    def nearest(
        self,
        cost: FloatArray,
        aggregate: Literal["sum", "max"],
        goals: Sequence[int] = (0,),
        upper: float = np.inf,
    ) -> Nearest:
        """Return the cheapest choice that reaches one of the goals, among decided boxes."""
        point = np.zeros(self.space.level_start.size - 1, dtype=np.int64)
        wanted = sum(1 << goal for goal in goals)
        found, reached, open_from = walk(
            self.tree, self.depth, self.space, wanted, cost, aggregate == "max", upper, point
        )
        own = tuple(goal for goal in sorted(goals) if reached >> goal & 1)
        return Nearest(point if own else None, own, found, open_from)


def make_map(
    problem: Problem,
    budget: Budget,
    over: Callable[[], bool] = lambda: False,
    goal: IntArray | None = None,
) -> RegionMap:
    """Cut the choices of a problem until each box is decided, or the budget is spent."""
    began = time.perf_counter()
    goal = _goals(problem, goal)
    tables = tabulate(problem)
    n_axes, n_leaves = problem.n_axes, problem.n_leaves
    tree = np.zeros((SLICE, 3), dtype=np.int32)
    lo, hi = np.zeros((2, 64, n_axes), dtype=np.int32)
    hi[0] = problem.size - 1
    begin, end = np.zeros(64, dtype=np.int64), np.zeros(64, dtype=np.int64)
    end[0] = n_leaves
    parent = np.full(64, -1, dtype=np.int64)
    leaves = np.zeros(8 * n_leaves, dtype=np.int32)
    leaves[:n_leaves] = np.arange(n_leaves)
    counts = np.array([0, 1])
    most = max(1, budget.nodes)
    while counts[WAITING] and counts[NODES] < most:
        if over() or time.perf_counter() - began > budget.seconds:
            break
        if counts[WAITING] + 1 >= len(lo):
            lo, hi = _doubled(lo), _doubled(hi)
            begin, end, parent = _doubled(begin), _doubled(end), _doubled(parent)
        if end[counts[WAITING] - 1] + n_leaves > leaves.size:
            leaves = _doubled(leaves)
        until = min(int(counts[NODES]) + SLICE, most)
        while len(tree) < until:
            tree = _doubled(tree)
        grow(tables, goal, tree, lo, hi, begin, end, parent, leaves, counts, until)
    tree = np.concatenate([tree[: counts[NODES]], np.zeros((counts[WAITING], 3), dtype=np.int32)])
    for node in range(int(counts[NODES]), len(tree)):
        counts[WAITING] -= 1
        tree[node, 0] = OPEN
        if parent[counts[WAITING]] >= 0:
            tree[parent[counts[WAITING]], 2] = node
    kept, depth = merged(tree)
    return RegionMap(space_of(tables), kept, int(depth), time.perf_counter() - began)


def guess(
    problem: Problem,
    seconds: float = DIVING_S,
    most: int = DIVES,
    goal: IntArray | None = None,
    enough: float = np.inf,
) -> Guess:
    """Estimate the size of the map of a problem, from random paths."""
    goal = _goals(problem, goal)
    tables, lots = tabulate(problem), np.random.default_rng(0)
    n_leaves, deepest = problem.n_leaves, int((problem.size - 1).sum()) + 1
    leaves = np.zeros(2 * n_leaves, dtype=np.int32)
    nodes, looks, here, began, dives = 0.0, 0.0, 0, time.perf_counter(), 0
    while dives == 0 or (dives < most and time.perf_counter() - began < seconds):
        leaves[:n_leaves] = np.arange(n_leaves)
        lo = np.zeros(problem.n_axes, dtype=np.int32)
        hi = (problem.size - 1).astype(np.int32)
        found = dive(tables, goal, lo, hi, leaves, lots.random(deepest) < 0.5)
        nodes, looks, here = nodes + found[0], looks + found[1], here + found[2]
        dives += 1
        if looks > enough * most:  # all the ways that are left can't bring it down
            break
    spent = time.perf_counter() - began
    return Guess(nodes / dives, looks / dives, looks / dives * spent / here)


def _doubled(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    larger = np.zeros((2 * len(array), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _goals(problem: Problem, goal: IntArray | None) -> IntArray:
    assert not problem.level_rows and not problem.forbidden
    return np.zeros(len(problem.leaf_rows), dtype=np.int64) if goal is None else goal


def space_of(tables: Tables) -> Space:
    """Return the axes and groups of tables."""
    return Space(
        tables.level_start,
        tables.group_of,
        tables.group_start,
        tables.group_axes,
        tables.one,
    )
