"""A problem as propositional clauses (appendix B of the paper).

Literals: ``y[a, m]`` is true iff axis a is at most level m; ``z[l]`` iff leaf l is active. Hard
clauses keep the order of levels, one category per group, one leaf per tree, what leaves imply,
and all rows. Soft clauses carry the cost, per step between neighbouring levels where cost only
rises away from the cheapest level, per level where it does not.
"""

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from encoders.backends.maxsat.pseudo_boolean import Item, at_least
from encoders.backends.order_encoding import OrderEncoding
from encoders.core.arrays import IntArray, runs
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem

TRUE = 1  # variable 1 is true
FIRST = 2  # the first variable of the order encoding


@dataclass(frozen=True, eq=False)
class Clauses:
    """Hard clauses of a problem, independent of the costs."""

    hard: list[list[int]]  # clauses, each a list of literals; a negative one is the negation
    encoding: OrderEncoding  # order encoding of the axes; its variables are 2, 3, ... in order
    n_variables: int  # number of all variables

    def levels(self, true: set[int]) -> IntArray:
        """Return the choice of levels that a set of true variables encodes, int64 (n_axes,)."""
        holds = [FIRST + place in true for place in range(self.encoding.n)]
        return self.encoding.levels(np.array(holds, dtype=np.bool_))


@dataclass(frozen=True, eq=False)
class Soft:
    """Clauses that the costs add to those of a problem."""

    hard: list[list[int]]  # further clauses
    soft: list[tuple[int, int]]  # pairs (literal, weight): costs ``weight`` if the literal is false
    constant: int  # cost of every choice, in whole units
    n_variables: int  # number of all variables, including those of the hard clauses


@dataclass
class _Writer:
    """Clauses under construction."""

    problem: Problem
    encoding: OrderEncoding
    top: int
    hard: list[list[int]] = field(default_factory=list)

    def new(self) -> int:
        self.top += 1
        return self.top

    def at_most(self, a: int, m: int) -> int:
        """Return the literal of "axis a is at most level m"."""
        y = range(FIRST, FIRST + self.encoding.n)
        return self.encoding.at_most(a, m, y, TRUE, -TRUE)

    def add(self, clause: list[int]) -> None:
        if TRUE not in clause:
            self.hard.append([literal for literal in clause if literal != -TRUE])

    def not_at(self, a: int, v: int) -> list[int]:
        """Literals of which one holds unless axis a is at level v."""
        return [-self.at_most(a, v), self.at_most(a, v - 1)]


def write_clauses(problem: Problem) -> Clauses:
    """All clauses of a problem, without its costs."""
    encoding = OrderEncoding.of(problem)
    first_leaf = FIRST + encoding.n
    writer = _Writer(problem, encoding, first_leaf - 1 + problem.n_leaves)
    writer.hard.append([TRUE])
    _axes(writer)
    leaf = list(range(first_leaf, first_leaf + problem.n_leaves))
    _leaves(writer, leaf)
    for row in problem.leaf_rows:
        groups = [
            [Item(int(row.weight[z]), [-leaf[z]]) for z in range(begin, end)]
            for begin, end in runs(problem.tree_start)
        ]
        at_least(groups, row.minimum, writer.new, writer.add)
    for level_row in problem.level_rows:
        _at_most_row(writer, level_row.weight, level_row.maximum)
    return Clauses(writer.hard, encoding, writer.top)


def write_soft(clauses: Clauses, problem: Problem, cost: IntArray) -> Soft:
    """Return the clauses of integer level costs (see :mod:`encoders.backends.integer_cost`)."""
    writer = _Writer(problem, clauses.encoding, clauses.n_variables)
    soft, constant = _soft(writer, cost)
    return Soft(writer.hard, soft, constant, writer.top)


def _axes(writer: _Writer) -> None:
    """Order of levels, one-hot groups, forbidden boxes."""
    problem = writer.problem
    for place in writer.encoding.chained.tolist():
        writer.add([-(FIRST + place), FIRST + place + 1])
    owner = problem.axis_of
    for group in problem.one_hot:
        chosen = []
        for level in group.tolist():
            a = int(owner[level])
            position = level - int(problem.level_start[a])
            chosen.append(-writer.at_most(a, position - 1))
        writer.add(chosen)
        for i, one in enumerate(chosen):
            for other in chosen[i + 1 :]:
                writer.add([-one, -other])
    for box in problem.forbidden:
        outside = []
        for a, lo, hi in zip(box.axis.tolist(), box.lo.tolist(), box.hi.tolist(), strict=True):
            outside += [writer.at_most(a, lo - 1), -writer.at_most(a, hi)]
        writer.add(outside)


def _leaves(writer: _Writer, leaf: list[int]) -> None:
    """Add clauses: each tree has an active leaf, and an active leaf implies its literals.

    The literals of two leaves of a tree contradict each other, so only one leaf is active.
    """
    problem = writer.problem
    for begin, end in runs(problem.tree_start):
        writer.add(leaf[begin:end])
    owner = problem.leaf_of.tolist()
    literals = zip(
        owner, problem.axis.tolist(), problem.lo.tolist(), problem.hi.tolist(), strict=True
    )
    for z, a, lo, hi in literals:
        writer.add([-leaf[z], writer.at_most(a, hi)])
        writer.add([-leaf[z], -writer.at_most(a, lo - 1)])


def _at_most_row(writer: _Writer, weight: IntArray, maximum: int) -> None:
    """``sum of weight <= maximum`` as what is left below each axis' heaviest level."""
    start = writer.problem.level_start
    heaviest = np.maximum.reduceat(weight, start[:-1])
    groups = []
    for a in np.flatnonzero(heaviest > np.minimum.reduceat(weight, start[:-1])).tolist():
        left = (heaviest[a] - weight[start[a] : start[a + 1]]).tolist()
        groups.append([Item(spare, writer.not_at(a, v)) for v, spare in enumerate(left)])
    at_least(groups, int(heaviest.sum()) - maximum, writer.new, writer.add)


def _soft(writer: _Writer, cost: IntArray) -> tuple[list[tuple[int, int]], int]:
    problem = writer.problem
    if problem.aggregate == "max":
        return _soft_worst(writer, cost)
    unimodal = tabulate(problem).unimodal
    soft: list[tuple[int, int]] = []
    constant = 0
    for a, (begin, end) in enumerate(runs(problem.level_start)):
        own = cost[begin:end].tolist()
        cheapest = min(own)
        best = own.index(cheapest)
        constant += cheapest
        if unimodal[a] and _rises(own, best):
            steps = [(writer.at_most(a, m), own[m + 1] - own[m]) for m in range(best, len(own) - 1)]
            steps += [(-writer.at_most(a, m), own[m] - own[m + 1]) for m in range(best)]
            soft += [(literal, weight) for literal, weight in steps if weight]
            continue
        for v, price in enumerate(own):
            if price > cheapest:
                absent = writer.new()
                writer.add([-absent, *writer.not_at(a, v)])
                soft.append((absent, price - cheapest))
    return soft, constant


def _rises(cost: list[int], best: int) -> bool:
    """Return whether integer costs never fall with the distance to level ``best``."""
    ups = all(cost[m + 1] >= cost[m] for m in range(best, len(cost) - 1))
    return ups and all(cost[m] >= cost[m + 1] for m in range(best))


def _soft_worst(writer: _Writer, rank: IntArray) -> tuple[list[tuple[int, int]], int]:
    """For "max": ``below[r]`` is false iff some level's rank is r or more."""
    problem = writer.problem
    floor = max(int(rank[b:e].min()) for b, e in runs(problem.level_start))
    ranks = sorted({int(r) for r in rank.tolist() if r > floor})
    below = {r: writer.new() for r in ranks}  # "no level of rank r or above"
    for smaller, larger in pairwise(ranks):
        writer.add([-below[smaller], below[larger]])
    for a, (begin, end) in enumerate(runs(problem.level_start)):
        for v in range(end - begin):
            own = int(rank[begin + v])
            if own > floor:
                writer.add([-below[own], *writer.not_at(a, v)])
    return [(below[r], r - p) for p, r in pairwise([floor, *ranks])], floor
