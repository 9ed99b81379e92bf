"""Several rows and one action: whether one serves all of some rows, and whom an action serves."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.backends.stopping import EitherEvent
from encoders.errors import BrokenProblemError, InputError
from encoders.posing.shared_axes import SharedAxes, shared_axes
from encoders.posing.shared_options import options_of
from encoders.posing.shared_rows import open_levels, pose_row, together
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Box, Problem
from encoders.query.goal import Goal
from encoders.query.query import Query
from encoders.reduce.compress import Smaller, compress
from encoders.reduce.incumbent import find_incumbent
from portfolio.model.explained_model import ExplainedModel
from portfolio.solving.findings import BROKEN, INEXACT, MISREAD

FEW_ROWS = 8  # rows that are solved together at first
MOST_WEIGHTS = 2**24  # of the leaves of a problem, in all of its rows
MOST_REFUSED = 50  # choices that the model refuses before a question counts as not decided
ROOM = 1e-9  # relative, of the budget: costs are added up in another order here
SLACK = 1e-6  # relative, of the budget: more than rounding can change in a mean cost


@dataclass(frozen=True, eq=False)
class Served:
    """Whom an action serves, as the model itself says.

    Attributes
    ----------
    chosen : int64 (n_features,), the action's option of each feature
    distance : float64 (n_rows,), inf where the action does not serve the row
    """

    chosen: IntArray
    distance: FloatArray

    @property
    def rows(self) -> frozenset[int]:
        """Places of the rows that it serves."""
        return frozenset(np.flatnonzero(np.isfinite(self.distance)).tolist())


@dataclass(frozen=True)
class Found:
    """What is known of the actions that serve all of some rows.

    Attributes
    ----------
    served : Served, one of them, or None
    conflict : frozenset of int, rows of which it is proved that no action serves them together
    """

    served: Served | None
    conflict: frozenset[int] = frozenset()

    @property
    def none(self) -> bool:
        """Whether it is proved that there is none."""
        return bool(self.conflict)


@dataclass(eq=False)
class GroupRows:
    """Rows and the actions that they might share.

    Attributes
    ----------
    model : all that is read of it
    queries : one per row
    axes : of an action
    budget : of each row, inf for none
    parts : the rows as problems over these axes, without what the model refused
    open : levels that an action may choose if it is to serve a row, bool (n_levels,) each
    asked : how many problems were solved
    doubt : why nothing is proved, "" if proofs hold
    gave_up : whether the model refused more than ``MOST_REFUSED`` choices of some question
    """

    model: ExplainedModel
    queries: Sequence[Query]
    axes: SharedAxes
    budget: float
    parts: list[Problem]
    open: list[BoolArray]
    asked: int = 0
    doubt: str = ""
    gave_up: bool = False
    _known: dict[bytes, Served] = field(default_factory=dict, repr=False)

    def find(self, rows: Iterable[int], request: Request, deadline: float) -> Found:
        """Return an action that serves all of some rows, or what is known of them.

        The rows of one problem share its leaves, so its size is quadratic in them. Therefore a few
        rows are solved first; those that their action misses join them, until none is missed or
        some rows are proved to have no action in common.
        """
        every = sorted(rows)
        own = every[:FEW_ROWS]
        while True:
            found = self._find_for_all(own, request, deadline)
            if found.served is None:
                return found
            missed = [row for row in every if not np.isfinite(found.served.distance[row])]
            if not missed:
                return found
            own = sorted([*own, *missed[: len(own)]])

    def _find_for_all(self, own: list[int], request: Request, deadline: float) -> Found:
        """Return an action that serves all rows, by one problem of all of them."""
        keep = np.logical_and.reduce([self.open[row] for row in own])
        for _ in range(MOST_REFUSED):
            if _over(request, deadline):
                return Found(None)
            smaller = None
            try:
                joint = self._joint(own, keep)
                if joint is not None:
                    smaller = self._priced(joint, own, keep)
            except MemoryError:
                return Found(None)
            if smaller is None:
                return Found(None, frozenset() if self.doubt else frozenset(own))
            self.asked += 1
            choice, none = self._any_choice(smaller[0], request, deadline)
            if choice is None:
                proved = none and not self.doubt
                return Found(None, frozenset(own if proved else ()))
            levels = smaller[1].up(choice)
            served = self.serve(self.axes.chosen(levels))
            missed = [row for row in own if not np.isfinite(served.distance[row])]
            if not missed:
                return Found(served)
            for row in missed:
                self._cut(row, levels)
        self.gave_up = True
        return Found(None)

    def _joint(self, own: Sequence[int], keep: BoolArray) -> Problem | None:
        """Return the problem of several rows; raise MemoryError where it would be very large."""
        if len(own) * sum(self.parts[row].n_leaves for row in own) > MOST_WEIGHTS:
            raise MemoryError
        return together([self.parts[row] for row in own], keep)

    def _priced(self, joint: Problem, rows: Sequence[int], keep: BoolArray) -> Smaller | None:
        """Return a problem with the mean cost of some rows, compressed, and the way back."""
        priced = replace(joint, cost=self._mean_cost(rows, keep), aggregate=self._aggregate)
        return compress(priced, keep, np.ones(joint.n_leaves, dtype=np.bool_))

    def _any_choice(
        self, problem: Problem, request: Request, deadline: float
    ) -> tuple[IntArray | None, bool]:
        """A choice that need not be the cheapest; or None, and whether there is none for sure.

        What it costs on average is at most the budget, which leaves much less to look at.
        """
        known = find_incumbent(
            problem,
            tabulate(problem),
            np.empty((0, problem.n_axes), dtype=np.int64),
            lambda: _over(request, deadline),
        )
        if known is not None:
            return known, False
        if _over(request, deadline):
            return None, False
        enough = EitherEvent(request.stop)
        outcome = find_backend("search").load()(
            problem,
            replace(
                request,
                time_limit_s=deadline - time.perf_counter(),
                cutoff=self.budget * (1 + SLACK),
                stop=enough,
                on_choice=lambda levels: enough.set(),
            ),
        )
        if outcome.choices:
            return outcome.choices[0], False
        return None, outcome.status == "infeasible"

    def cheapest(
        self, rows: Sequence[int], served: Served, request: Request, deadline: float
    ) -> Served:
        """Return an action that serves some rows at the least mean cost, as far as possible."""
        own = list(rows)[:FEW_ROWS]
        while not _over(request, deadline):
            try:
                other = self._cheaper(own, rows, served, request, deadline)
            except MemoryError:
                break
            missed = [row for row in rows if not np.isfinite(other.distance[row])]
            if not missed:
                return other
            if set(missed) & set(own):  # the model refuses what the trees allow
                break
            own = sorted([*own, *missed[: len(own)]])
        return served

    def _cheaper(
        self,
        own: Sequence[int],
        rows: Sequence[int],
        served: Served,
        request: Request,
        deadline: float,
    ) -> Served:
        """Return an action that serves a few of some rows at the least mean cost of all of them."""
        keep = np.logical_and.reduce([self.open[row] for row in rows])
        joint = self._joint(own, keep)
        smaller = None if joint is None else self._priced(joint, rows, keep)
        if joint is None or smaller is None:
            return served
        cost = replace(joint, cost=self._mean_cost(rows, keep), aggregate=self._aggregate)
        known = cost.distance(self.axes.levels_of(served.chosen))
        left_s = max(deadline - time.perf_counter(), 0.0)
        search = find_backend("search").load()
        outcome = search(smaller[0], replace(request, time_limit_s=left_s, cutoff=known))
        for choice in outcome.choices[:1]:
            return self.serve(self.axes.chosen(smaller[1].up(choice)))
        return served

    @property
    def _aggregate(self) -> Literal["sum", "max"]:
        return self.queries[0].cost.aggregate

    def _mean_cost(self, rows: Sequence[int], keep: BoolArray) -> FloatArray:
        """What each level costs the rows on average (their largest cost where that counts)."""
        own = list(rows)
        among = np.max if self._aggregate == "max" else np.mean
        cost = [among(option.cost[own], axis=0) for option in self.axes.options]
        return np.where(keep, self.axes.spread(cost, 0.0), 0.0)

    def serve(self, chosen: IntArray) -> Served:
        """Whom an action serves."""
        key = chosen.tobytes()
        if key not in self._known:
            distance = self._costs(chosen)
            able = np.flatnonzero(np.isfinite(distance))
            distance[able[~self.reached(able, self.moved(chosen)[able])]] = np.inf
            self._known[key] = Served(chosen, distance)
        return self._known[key]

    def moved(self, chosen: IntArray) -> FloatArray:
        """The rows after an action, float64 (n_rows, n_columns)."""
        after = np.array([query.row for query in self.queries])
        for feature, own, at in zip(
            self.model.space.features, self.axes.options, chosen, strict=True
        ):
            value, moves = own.value[:, at], own.moves[:, at]
            for category, column in enumerate(feature.columns):
                told = value == category if feature.one_hot else value
                after[moves, column] = told[moves]
        return after

    def _costs(self, chosen: IntArray) -> FloatArray:
        """What the action costs each row, inf where it is not admissible or too dear."""
        taken = list(zip(self.axes.options, chosen, strict=True))
        cost = np.column_stack([own.cost[:, at] for own, at in taken])
        fits = np.all([own.fits[:, at] for own, at in taken], axis=0)
        moves = np.column_stack([own.moves[:, at] for own, at in taken])
        total = cost.max(axis=1) if self.queries[0].cost.aggregate == "max" else cost.sum(axis=1)
        fits &= total <= self.budget * (1 + ROOM)
        for row, query in enumerate(self.queries):
            for limit in query.max_changes:
                counted = moves[row] if limit.features is None else moves[row, list(limit.features)]
                fits[row] &= counted.sum() <= limit.count
        return np.where(fits, total, np.inf)

    def reached(self, rows: IntArray, after: FloatArray) -> BoolArray:
        """Whether rows reach their goals, as the model itself says, bool (n_places,)."""
        return reached(self.model, [self.queries[row] for row in rows.tolist()], after)

    def _cut(self, row: int, levels: IntArray) -> None:
        """Cut off a choice that a row is not served by, with all that the model decides alike."""
        part, chosen = self.parts[row], self.axes.chosen(levels)
        if not np.isfinite(self._costs(chosen)[row]):  # too dear by what costs were rounded
            alone = Box(np.arange(levels.size), levels, levels)
            self.parts[row] = replace(part, forbidden=(*part.forbidden, alone))
            return
        goal = self.queries[row].goal
        oracle = self.model.oracle(goal.target)
        if oracle.contradicts_the_trees(self.moved(chosen)[row], goal):
            self.doubt = MISREAD
        self.parts[row] = part.without(levels)


def _over(request: Request, deadline: float) -> bool:
    return request.stop.is_set() or time.perf_counter() >= deadline


def reached(model: ExplainedModel, queries: Sequence[Query], after: FloatArray) -> BoolArray:
    """Whether rows reach their goals, as the model itself says, bool (n_rows,)."""
    goals: dict[Goal, list[int]] = {}
    for at, query in enumerate(queries):
        goals.setdefault(query.goal, []).append(at)
    good = np.zeros(len(queries), dtype=np.bool_)
    for goal, own in goals.items():
        oracle, margin = model.oracle(goal.target), queries[own[0]].margin
        good[own] = oracle.reached(after[own], goal)
        if oracle.companions or margin > 0:
            good[own] &= [oracle.accepts_with(after[at], goal, margin) for at in own]
    return good


def group_rows(
    model: ExplainedModel, queries: Sequence[Query], budget: float, over: Callable[[], bool]
) -> GroupRows:
    """Pose every row over the options of an action."""
    space = model.space
    own = np.array([space.values(query.row) for query in queries])
    views = {id(model.views[query.goal.target]) for query in queries}
    if len(views) > 1:
        raise InputError(
            "rows with different isolation forests share no action; give one target for all, or "
            "Plausibility one forest for all classes."
        )
    view, most = model.views[queries[0].goal.target], budget * (1 + ROOM)
    options = tuple(
        options_of(index, feature, view.ensemble, view.cells, queries, own[:, index])
        for index, feature in enumerate(space.features)
    )
    axes = shared_axes(space, view.cells, options)
    parts, doubt = [], ""
    for row, query in enumerate(queries):
        if over():
            break
        parts.append(pose_row(row, axes, view.ensemble, view.cells, space, query, most))
        try:
            parts[-1].check()
        except BrokenProblemError as error:
            doubt = BROKEN.format(error)
        if not parts[-1].exact:
            doubt = INEXACT
    levels = [open_levels(row, axes, query, most) for row, query in enumerate(queries)]
    return GroupRows(model, queries, axes, budget, parts, levels, doubt=doubt)
