"""Search for a row with one other prediction that keeps the values of some features.

A feature keeps its value if its axes keep the query's level. The sums of the best reachable leaves
may already prove that no row exists. Otherwise the reduced problem is solved by the search backend,
with all costs 0, so that any row is an answer. If the problem is only a relaxation, as for blends,
an ordinary query is solved instead.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from encoders.backends.interface import Request
from encoders.core.arrays import BoolArray, FloatArray, IntArray, starts
from encoders.core.errors import BrokenProblemError
from encoders.formulation.pose import Posed
from encoders.presolve.climb import climb, keeping, take_back
from encoders.presolve.compress import compress
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import Problem
from encoders.query.admissible import Admissible
from encoders.query.features import FeatureSpace, same
from encoders.query.query import Query
from portfolio.engine.ask import Asker
from portfolio.engine.findings import BROKEN, INEXACT, MISREAD, REFUTED
from portfolio.engine.progress import Progress
from portfolio.engine.question import Options, Question
from portfolio.engine.stages import solve
from portfolio.engine.task import QueryTask
from portfolio.model.explained_model import ClassView
from portfolio.model.oracle import Oracle
from portfolio.questions.any_choice import find_accepted

WITNESSES = 200  # training rows that a proof is checked against
MOST_REFUSED = 20  # cells rejected by the model before an ordinary query is solved instead


@dataclass(frozen=True, eq=False)
class Flip:
    """Row with another prediction, according to the model or clearly according to its trees."""

    row: FloatArray  # float64 (n_columns,), values of the row
    changed: BoolArray  # bool (n_features,), features that differ from the query
    side: "Side"  # side of the other prediction

    @cached_property
    def features(self) -> frozenset[int]:
        """Indices of the changed features."""
        return frozenset(np.flatnonzero(self.changed).tolist())


@dataclass(frozen=True, eq=False)
class Found:
    """Result of a search for a flip."""

    flip: Flip | None  # flip with the required values, or None
    proved: bool  # True if a flip was found or is proved not to exist


@dataclass(eq=False)
class Side:
    """Search for rows with one other prediction, encoded with every feature free."""

    posed: Posed  # encoded query; its cost counts changes
    query: Query  # query that is encoded
    space: FeatureSpace  # features of the model
    oracle: Oracle  # verifier of predictions by the model
    view: ClassView  # model as seen for this goal, with its training rows
    query_levels: IntArray  # int64 (n_axes,), levels of the query
    asker: Asker  # asker of the model, for relaxations
    problem: Problem = field(init=False)  # problem without the cells that the model rejected
    doubt: str = ""  # reason why proofs do not hold, or ""
    _start: IntArray = field(init=False)

    def __post_init__(self) -> None:
        # Any row is an answer: with all costs 0 the search ends at the first.
        free = np.zeros(self.posed.problem.cost.size)
        self.problem = replace(self.posed.problem, cost=free)
        self.doubt = "" if self.problem.exact else INEXACT
        self._start = self.query_levels

    @cached_property
    def feature(self) -> IntArray:
        """The feature of each axis, int64 (n_axes,)."""
        of_column = np.empty(len(self.space.columns), dtype=np.int64)
        for index, feature in enumerate(self.space.features):
            of_column[list(feature.columns)] = index
        features: IntArray = of_column[self.posed.column]
        return features

    @cached_property
    def _tables(self) -> Tables:
        """Tables of the encoded problem for local search."""
        return tabulate(self.problem)

    @cached_property
    def _axes(self) -> tuple[IntArray, IntArray]:
        """Axes grouped by feature, int64 (n_axes,), and the start of each group."""
        counts = np.bincount(self.feature, minlength=len(self.space.features))
        return np.argsort(self.feature, kind="stable"), starts(counts)

    @cached_property
    def _leaf(self) -> IntArray:
        return self.problem.leaf_of

    @cached_property
    def _axis(self) -> IntArray:
        return self.problem.axis_of

    @cached_property
    def _is_query_level(self) -> BoolArray:
        mask = np.zeros(self.problem.cost.size, dtype=np.bool_)
        mask[self.problem.level_start[:-1] + self.query_levels] = True
        return mask

    @cached_property
    def _broken(self) -> BoolArray:
        """Mask of the literals that the query violates, bool (n_literals,)."""
        levels = self.query_levels[self.problem.axis]
        broken: BoolArray = (levels < self.problem.lo) | (levels > self.problem.hi)
        return broken

    @cached_property
    def keeps_invariants(self) -> bool:
        """True if the invariants of the problem hold; otherwise the violation becomes the doubt."""
        try:
            self.posed.problem.check()
        except BrokenProblemError as error:
            self.doubt = BROKEN.format(error)
        return not self.doubt

    def walk(self, free: BoolArray) -> Flip | None:
        """Try :meth:`find` by local search, which is far faster; None proves nothing.

        The local search starts at the last row that was found, except for features that must stay.
        """
        if self.posed.relaxation is not None:
            return None
        moves = free[self.feature]
        levels = np.where(moves, self._start, self.query_levels)
        if climb(self._tables, levels, moves) > 0 or self.problem.forbids(levels):
            return None
        return self._take(levels)

    def find(self, free: BoolArray, request: Request, deadline: float) -> Found:
        """Find a row that differs in free features only."""
        moves = free[self.feature]
        alive = self._reachable(self._broken & ~moves[self.problem.axis])
        keep = self._is_query_level | moves[self._axis]
        return self._find(keep, alive, self._fixed(~free), request, deadline)

    def _fixed(self, fixed: BoolArray) -> Iterator[Admissible]:
        """Yield the admissible values of each feature if some keep the query's value."""
        values = self.space.values(self.query.row).tolist()
        for each, value, stays in zip(self.query.admissible, values, fixed.tolist(), strict=True):
            if not stays:
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
        """Find a row within some levels that has the other prediction."""
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
        """Find a row within some levels that reaches some leaves only."""
        if self.posed.relaxation is not None:
            return self._ask(narrowed, request, deadline)
        if not self._may_reach(alive):
            return Found(None, True)
        flip, end = find_accepted(
            lambda: compress(self.problem, keep, alive),
            self._take,
            request,
            deadline,
            MOST_REFUSED,
        )
        if end != "rejected":
            return Found(flip, end in ("found", "none"))
        return self._ask(narrowed, request, deadline)

    def _ask(self, narrowed: Iterable[Admissible], request: Request, deadline: float) -> Found:
        """Find a row as an ordinary query for the fewest changes."""
        goal, asker = self.query.goal, self.asker
        strategy = asker.strategy(Question(norm=0), Options())
        certificate = solve(
            QueryTask(
                asker.model,
                strategy,
                asker.workers.run,
                request,
                deadline,
                replace(self.query, admissible=tuple(narrowed)),
                (goal,),
                Progress(time.perf_counter(), [goal.target], None, request.stop),
            )
        )
        if certificate.answer is not None:
            row = certificate.answer.row
            return Found(Flip(row, self._changed(row), self), True)
        return Found(None, certificate.status == "infeasible" and certificate.margin == 0)

    def _reachable(self, broken: BoolArray) -> BoolArray:
        misses = np.bincount(self._leaf[broken], minlength=self.problem.n_leaves)
        reachable: BoolArray = misses == 0
        return reachable

    def _may_reach(self, alive: BoolArray) -> bool:
        """Return whether the best reachable leaves of all trees satisfy each leaf row."""
        first = self.problem.tree_start[:-1]
        return all(
            int(np.maximum.reduceat(np.where(alive, row.weight, -1), first).sum()) >= row.minimum
            for row in self.problem.leaf_rows
        )

    def _take(self, levels: IntArray) -> Flip | None:
        """Return the flip of a choice, first moved towards the query; exclude rejected cells."""
        goal = self.query.goal
        for near in (self._nearer(levels), levels):
            row = self.posed.decode(near)
            if self.oracle.is_clear(row, goal) or self.oracle.accepts(row, goal):
                self._start = levels
                return Flip(row, self._changed(row), self)
            self.problem = self.posed.without(self.problem, near)
            if self.oracle.contradicts_the_trees(row, goal):
                self.doubt = MISREAD
            if np.array_equal(near, levels):
                break
        return None

    def _nearer(self, levels: IntArray) -> IntArray:
        """Undo changes, feature by feature from the last, as long as all leaf rows hold."""
        near = levels.copy()
        take_back(self._tables, near, self.query_levels, *self._axes)
        return levels if self.problem.forbids(near) else near

    def _changed(self, row: FloatArray) -> BoolArray:
        stays = same(self.space.values(self.query.row), self.space.values(row))
        return ~stays

    def confirm(self, flips: Sequence[Flip]) -> None:
        """Verify flips by the model in one call; a rejected flip becomes the doubt."""
        if flips:
            rows = np.stack([flip.row for flip in flips])
            if not self.oracle.reached(rows, self.query.goal).all():
                self.doubt = MISREAD

    def refuted(self, free: BoolArray) -> bool:
        """Return whether a training row, changed in free features only, refutes a proof."""
        others = self.posed.closest(self.view.near(self.query.goal), WITNESSES)
        moves = free[self.feature]
        mixed = np.unique(np.where(moves, others, self.query_levels), axis=0)
        for levels in mixed[keeping(self._tables, mixed)]:
            if self.problem.keeps_rows(levels) and not self.problem.forbids(levels):
                row = self.posed.decode(levels)
                if self.oracle.accepts(row, self.query.goal):
                    self.doubt = f"The search {REFUTED}."
                    return True
        return False
