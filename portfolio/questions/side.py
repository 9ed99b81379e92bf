"""Rows that are decided otherwise while some features stay: found, or proved not to be.

A feature stays if its axes keep the query's level. What the best leaves that are left add up to may
settle it; else what is left of the problem goes to the search, at no cost, so that any row will do.
Where the rows of the problem say too little, as those of blends do, the question goes the way of
any other.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, starts
from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.errors import BrokenProblemError
from encoders.posing.pose import Posed
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.query.admissible import Admissible
from encoders.query.features import FeatureSpace, same
from encoders.query.query import Query
from encoders.reduce.climb import climb, keeping, take_back
from encoders.reduce.compress import compress
from portfolio.model.explained_model import ClassView
from portfolio.model.oracle import Oracle
from portfolio.question import Options, Question
from portfolio.solving.ask import Asker
from portfolio.solving.findings import BROKEN, INEXACT, MISREAD, REFUTED
from portfolio.solving.progress import Progress
from portfolio.solving.targets import answer

WITNESSES = 200  # training rows that a proof is held against
MOST_REFUSED = 20  # cells that the model refuses before the question goes the way of any other


@dataclass(frozen=True, eq=False)
class Flip:
    """A row that is decided otherwise: as the model itself says, or as its trees say clearly.

    Attributes
    ----------
    row : float64 (n_columns,)
    changed : bool (n_features,), where it differs from the query
    side : the other decision
    """

    row: FloatArray
    changed: BoolArray
    side: "Side"

    @cached_property
    def features(self) -> frozenset[int]:
        """The same as indices."""
        return frozenset(np.flatnonzero(self.changed).tolist())


@dataclass(frozen=True, eq=False)
class Found:
    """What is known of the rows where some features stay.

    Attributes
    ----------
    flip : one of them that is decided otherwise, or None
    proved : there is one, or there is none; False if it is not known
    """

    flip: Flip | None
    proved: bool


@dataclass(eq=False)
class Side:
    """One other decision, posed with every feature free.

    Attributes
    ----------
    posed : the problem, whose cost counts changes
    query, space : that it was posed for
    oracle : the model itself
    view : has training rows
    own : int64 (n_axes,), the query's levels
    asker : answers where the rows of the problem say too little
    problem : without the cells that the model refused
    doubt : why nothing is proved, "" if proofs hold
    """

    posed: Posed
    query: Query
    space: FeatureSpace
    oracle: Oracle
    view: ClassView
    own: IntArray
    asker: Asker
    problem: Problem = field(init=False)
    doubt: str = ""
    _start: IntArray = field(init=False)

    def __post_init__(self) -> None:
        # Any row will do: at no cost the search ends with the first.
        free = np.zeros(self.posed.problem.cost.size)
        self.problem = replace(self.posed.problem, cost=free)
        self.doubt = "" if self.problem.exact else INEXACT
        self._start = self.own

    @cached_property
    def feature(self) -> IntArray:
        """The feature of each axis, int64 (n_axes,)."""
        of_column = np.empty(len(self.space.columns), dtype=np.int64)
        for index, feature in enumerate(self.space.features):
            of_column[list(feature.columns)] = index
        found: IntArray = of_column[self.posed.column]
        return found

    @cached_property
    def _tables(self) -> Tables:
        """The problem as posed, for walks."""
        return tabulate(self.problem)

    @cached_property
    def _axes(self) -> tuple[IntArray, IntArray]:
        """The axes of each feature, one after another, and where each begins."""
        counts = np.bincount(self.feature, minlength=len(self.space.features))
        return np.argsort(self.feature, kind="stable"), starts(counts)

    @cached_property
    def _leaf(self) -> IntArray:
        return self.problem.leaf_of

    @cached_property
    def _axis(self) -> IntArray:
        return self.problem.axis_of

    @cached_property
    def _own_level(self) -> BoolArray:
        mine = np.zeros(self.problem.cost.size, dtype=np.bool_)
        mine[self.problem.level_start[:-1] + self.own] = True
        return mine

    @cached_property
    def _broken(self) -> BoolArray:
        """Literals that the query does not keep."""
        held = self.own[self.problem.axis]
        broken: BoolArray = (held < self.problem.lo) | (held > self.problem.hi)
        return broken

    @cached_property
    def lawful(self) -> bool:
        """Whether the problem is what proofs rest on; what is wrong becomes the doubt."""
        try:
            self.posed.problem.check()
        except BrokenProblemError as error:
            self.doubt = BROKEN.format(error)
        return not self.doubt

    def walk(self, free: BoolArray) -> Flip | None:
        """The same as :meth:`find` in far less time, but None says nothing.

        Walks begin at the last row that the search found, as far as it can be kept.
        """
        if self.posed.relaxation is not None:
            return None
        moves = free[self.feature]
        levels = np.where(moves, self._start, self.own)
        if climb(self._tables, levels, moves) > 0 or self.problem.forbids(levels):
            return None
        return self._take(levels)

    def find(self, free: BoolArray, request: Request, deadline: float) -> Found:
        """A row that differs in free features only."""
        moves = free[self.feature]
        alive = self._reachable(self._broken & ~moves[self.problem.axis])
        keep = self._own_level | moves[self._axis]
        return self._find(keep, alive, self._fixed(~free), request, deadline)

    def _fixed(self, fixed: BoolArray) -> Iterator[Admissible]:
        """Return what each feature may become where some keep the query's value."""
        values = self.space.values(self.query.row).tolist()
        for each, value, own in zip(self.query.admissible, values, fixed.tolist(), strict=True):
            if not own:
                yield each
            elif np.isnan(value):
                yield replace(each, lower=np.inf, upper=-np.inf, codes=())
            elif value in each.codes:
                yield replace(each, lower=np.inf, upper=-np.inf, missing=None, codes=(value,))
            else:
                yield replace(each, lower=value, upper=value, missing=None, codes=())

    def find_within(
        self, keep: BoolArray, narrowed: Iterable[Admissible], request: Request, deadline: float
    ) -> Found:
        """Look for a row of some levels that is predicted differently."""
        first = self.problem.level_start[self.problem.axis]
        before = np.concatenate([[0], np.cumsum(keep)])
        broken = before[first + self.problem.hi + 1] == before[first + self.problem.lo]
        return self._find(keep, self._reachable(broken), narrowed, request, deadline)

    def _find(
        self,
        keep: BoolArray,
        alive: BoolArray,
        narrowed: Iterable[Admissible],
        request: Request,
        deadline: float,
    ) -> Found:
        """A row of some levels, which gets to some leaves only."""
        if self.posed.relaxation is not None:
            return self._ask(narrowed, request, deadline)
        search = find_backend("search").load()
        for _ in range(MOST_REFUSED):
            if not self._may_reach(alive):
                return Found(None, True)
            left = deadline - time.perf_counter()
            if left <= 0 or request.stop.is_set():
                return Found(None, False)
            smaller = compress(self.problem, keep, alive)
            if smaller is None:
                return Found(None, True)
            outcome = search(smaller[0], replace(request, time_limit_s=left))
            if not outcome.choices:
                return Found(None, outcome.status == "infeasible")
            levels = smaller[1].up(outcome.choices[0])
            flip = self._take(levels)
            if flip is not None:
                self._start = levels
                return Found(flip, True)
        return self._ask(narrowed, request, deadline)

    def _ask(self, narrowed: Iterable[Admissible], request: Request, deadline: float) -> Found:
        """Solve the same as a query with the fewest changes."""
        goal, asker = self.query.goal, self.asker
        found = answer(
            asker.model,
            replace(self.query, admissible=tuple(narrowed)),
            [goal],
            asker.strategy(Question(norm=0), Options()),
            asker.workers.run,
            request,
            deadline,
            Progress(time.perf_counter(), [goal.target], None, request.stop),
        ).certificate
        if found.answer is not None:
            row = found.answer.row
            return Found(Flip(row, self._changed(row), self), True)
        return Found(None, found.status == "infeasible" and found.margin == 0)

    def _reachable(self, broken: BoolArray) -> BoolArray:
        misses = np.bincount(self._leaf[broken], minlength=self.problem.n_leaves)
        reachable: BoolArray = misses == 0
        return reachable

    def _may_reach(self, alive: BoolArray) -> bool:
        """Whether the best leaf of every tree that is left keeps each row."""
        first = self.problem.tree_start[:-1]
        return all(
            int(np.maximum.reduceat(np.where(alive, row.weight, -1), first).sum()) >= row.minimum
            for row in self.problem.leaf_rows
        )

    def _take(self, levels: IntArray) -> Flip | None:
        """The choice, nearer to the query, if it is decided otherwise; else it is cut off."""
        goal = self.query.goal
        for near in (self._nearer(levels), levels):
            row = self.posed.decode(near)
            if self.oracle.is_clear(row, goal) or self.oracle.accepts(row, goal):
                return Flip(row, self._changed(row), self)
            self.problem = self.posed.without(self.problem, near)
            if self.oracle.contradicts_the_trees(row, goal):
                self.doubt = MISREAD
            if np.array_equal(near, levels):
                break
        return None

    def _nearer(self, levels: IntArray) -> IntArray:
        """Take changes back, feature by feature from the last, as long as all rows hold."""
        near = levels.copy()
        take_back(self._tables, near, self.own, *self._axes)
        return levels if self.problem.forbids(near) else near

    def _changed(self, row: FloatArray) -> BoolArray:
        stays = same(self.space.values(self.query.row), self.space.values(row))
        return ~stays

    def confirm(self, flips: Sequence[Flip]) -> None:
        """Put flips to the model itself, all at once; if it denies one, that becomes the doubt."""
        if flips:
            rows = np.stack([flip.row for flip in flips])
            if not self.oracle.reached(rows, self.query.goal).all():
                self.doubt = MISREAD

    def refuted(self, free: BoolArray) -> bool:
        """Whether a training row, with the other features as in the query, is decided otherwise."""
        others = self.posed.closest(self.view.near(self.query.goal), WITNESSES)
        moves = free[self.feature]
        mixed = np.unique(np.where(moves, others, self.own), axis=0)
        for levels in mixed[keeping(self._tables, mixed)]:
            if self.problem.keeps_rows(levels) and not self.problem.forbids(levels):
                row = self.posed.decode(levels)
                if self.oracle.accepts(row, self.query.goal):
                    self.doubt = f"The search {REFUTED}."
                    return True
        return False
