"""Search for one action that serves several rows, and the rows that an action serves."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np

from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.core.errors import BrokenProblemError, InputError
from encoders.formulation.shared_axes import SharedAxes, shared_axes
from encoders.formulation.shared_options import options_of
from encoders.formulation.shared_rows import open_levels, pose_row, together
from encoders.presolve.compress import Smaller, compress
from encoders.presolve.incumbent import find_incumbent
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Box, Problem
from encoders.query.goal import Goal
from encoders.query.query import Query
from portfolio.engine.findings import BROKEN, INEXACT, MISREAD
from portfolio.model.explained_model import ExplainedModel
from portfolio.questions.any_choice import any_choice, find_accepted

FEW_ROWS = 8  # rows in the first joint problem
MOST_WEIGHTS = 2**24  # weights of leaves in all rows of a problem
MOST_REFUSED = 50  # choices that the model rejects before a problem counts as undecided
ROOM = 1e-9  # relative tolerance of the budget: costs are summed in another order here
SLACK = 1e-6  # relative tolerance of the budget, above rounding errors of a mean cost


@dataclass(frozen=True, eq=False)
class Served:
    """Action with the rows that it serves, as verified by the model.

    Attributes
    ----------
    chosen : int64 (n_features,), option of each feature.
    distance : float64 (n_rows,), cost for each row, inf for rows that it does not serve.
    """

    chosen: IntArray
    distance: FloatArray

    @property
    def rows(self) -> frozenset[int]:
        """Places of the rows that it serves."""
        return frozenset(np.flatnonzero(np.isfinite(self.distance)).tolist())


@dataclass(frozen=True)
class Found:
    """Result of a search for an action that serves all of some rows.

    Attributes
    ----------
    served : Served or None, such an action.
    conflict : frozenset of int, rows proved to have no action in common; empty without a proof.
    """

    served: Served | None
    conflict: frozenset[int] = frozenset()

    @property
    def none(self) -> bool:
        """True if it is proved that no such action exists."""
        return bool(self.conflict)


@dataclass(eq=False)
class GroupRows:
    """Rows and the actions that they may share.

    Attributes
    ----------
    model : ExplainedModel.
    queries : sequence of Query, one per row.
    axes : SharedAxes of an action.
    budget : float, largest cost for each row, inf for none.
    parts : list of Problem, one per row over these axes, without cells that the model rejected.
    open : list of bool (n_levels,), levels that an action serving the row may use.
    asked : int, number of problems solved.
    doubt : str, reason why nothing is proved, "" if proofs hold.
    gave_up : bool, whether the model rejected more than ``MOST_REFUSED`` choices of a problem.
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
        """Return an action that serves all of some rows, or what is proved about them.

        The size of the joint problem is quadratic in the number of rows. Therefore a few rows are
        solved first, and those that their action misses join them. The loop ends when no row is
        missed or some rows are proved to have no action in common.
        """
        every = sorted(rows)
        few = every[:FEW_ROWS]
        while True:
            outcome = self._find_for_all(few, request, deadline)
            if outcome.served is None:
                return outcome
            missed = [row for row in every if not np.isfinite(outcome.served.distance[row])]
            if not missed:
                return outcome
            few = sorted([*few, *missed[: len(few)]])

    def _find_for_all(self, rows: list[int], request: Request, deadline: float) -> Found:
        """Return an action that serves all rows, from one joint problem."""
        keep = np.logical_and.reduce([self.open[row] for row in rows])

        def reduced() -> Smaller | None:
            joint = self._joint(rows, keep)
            return None if joint is None else self._priced(joint, rows, keep)

        def accept(levels: IntArray) -> Served | None:
            served = self.serve(self.axes.chosen(levels))
            missed = [row for row in rows if not np.isfinite(served.distance[row])]
            for row in missed:
                self._cut(row, levels)
            return None if missed else served

        limited = replace(request, cutoff=self.budget * (1 + SLACK))
        try:
            served, end = find_accepted(
                reduced, accept, limited, deadline, MOST_REFUSED, self._any_choice
            )
        except MemoryError:
            return Found(None)
        self.gave_up |= end == "rejected"
        proved = end == "none" and not self.doubt
        return Found(served, frozenset(rows if proved else ()))

    def _joint(self, rows: Sequence[int], keep: BoolArray) -> Problem | None:
        """Return the problem of several rows; raise MemoryError if it would be very large."""
        if len(rows) * sum(self.parts[row].n_leaves for row in rows) > MOST_WEIGHTS:
            raise MemoryError
        return together([self.parts[row] for row in rows], keep)

    def _priced(self, joint: Problem, rows: Sequence[int], keep: BoolArray) -> Smaller | None:
        """Return the compressed problem with the mean cost of some rows, and the way back."""
        priced = replace(joint, cost=self._mean_cost(rows, keep), aggregate=self._aggregate)
        return compress(priced, keep, np.ones(joint.n_leaves, dtype=np.bool_))

    def _any_choice(self, problem: Problem, request: Request) -> tuple[IntArray | None, bool]:
        """Return any choice or None, and whether none exists (proved).

        Its mean cost is limited by the budget, which prunes much of the search.
        """
        self.asked += 1
        deadline = time.perf_counter() + request.time_limit_s

        def over() -> bool:
            return _over(request, deadline)

        nothing = np.empty((0, problem.n_axes), dtype=np.int64)
        incumbent = find_incumbent(problem, tabulate(problem), nothing, over)
        if incumbent is not None or over():
            return incumbent, False
        left_s = deadline - time.perf_counter()
        return any_choice(problem, replace(request, time_limit_s=left_s))

    def cheapest(
        self, rows: Sequence[int], served: Served, request: Request, deadline: float
    ) -> Served:
        """Return an action that serves some rows at minimal mean cost, as far as possible."""
        few = list(rows)[:FEW_ROWS]
        while not _over(request, deadline):
            try:
                other = self._cheaper(few, rows, served, request, deadline)
            except MemoryError:
                break
            missed = [row for row in rows if not np.isfinite(other.distance[row])]
            if not missed:
                return other
            if set(missed) & set(few):  # the model rejects what the trees allow
                break
            few = sorted([*few, *missed[: len(few)]])
        return served

    def _cheaper(
        self,
        few: Sequence[int],
        rows: Sequence[int],
        served: Served,
        request: Request,
        deadline: float,
    ) -> Served:
        """Return an action for a few of some rows at minimal mean cost of all of them."""
        keep = np.logical_and.reduce([self.open[row] for row in rows])
        joint = self._joint(few, keep)
        smaller = None if joint is None else self._priced(joint, rows, keep)
        if joint is None or smaller is None:
            return served
        cost = replace(joint, cost=self._mean_cost(rows, keep), aggregate=self._aggregate)
        cutoff = cost.distance(self.axes.levels_of(served.chosen))
        left_s = max(deadline - time.perf_counter(), 0.0)
        search = find_backend("search").load()
        outcome = search(smaller[0], replace(request, time_limit_s=left_s, cutoff=cutoff))
        for choice in outcome.choices[:1]:
            return self.serve(self.axes.chosen(smaller[1].up(choice)))
        return served

    @property
    def _aggregate(self) -> Literal["sum", "max"]:
        return self.queries[0].cost.aggregate

    def _mean_cost(self, rows: Sequence[int], keep: BoolArray) -> FloatArray:
        """Return the mean cost of each level over the rows (the largest for norm "inf")."""
        places = list(rows)
        among = np.max if self._aggregate == "max" else np.mean
        cost = [among(option.cost[places], axis=0) for option in self.axes.options]
        return np.where(keep, self.axes.spread(cost, 0.0), 0.0)

    def serve(self, chosen: IntArray) -> Served:
        """Return which rows an action serves, cached."""
        key = chosen.tobytes()
        if key not in self._known:
            distance = self._costs(chosen)
            able = np.flatnonzero(np.isfinite(distance))
            distance[able[~self.reached(able, self.moved(chosen)[able])]] = np.inf
            self._known[key] = Served(chosen, distance)
        return self._known[key]

    def moved(self, chosen: IntArray) -> FloatArray:
        """Return the rows after an action, float64 (n_rows, n_columns)."""
        after = np.array([query.row for query in self.queries])
        for feature, option, at in zip(
            self.model.space.features, self.axes.options, chosen, strict=True
        ):
            value, moves = option.value[:, at], option.moves[:, at]
            for category, column in enumerate(feature.columns):
                cells = value == category if feature.one_hot else value
                after[moves, column] = cells[moves]
        return after

    def _costs(self, chosen: IntArray) -> FloatArray:
        """Return the cost for each row, inf if the action is inadmissible or over the budget."""
        pairs = list(zip(self.axes.options, chosen, strict=True))
        cost = np.column_stack([option.cost[:, at] for option, at in pairs])
        fits = np.all([option.fits[:, at] for option, at in pairs], axis=0)
        moves = np.column_stack([option.moves[:, at] for option, at in pairs])
        total = cost.max(axis=1) if self.queries[0].cost.aggregate == "max" else cost.sum(axis=1)
        fits &= total <= self.budget * (1 + ROOM)
        for row, query in enumerate(self.queries):
            for limit in query.max_changes:
                counted = moves[row] if limit.features is None else moves[row, list(limit.features)]
                fits[row] &= counted.sum() <= limit.count
        return np.where(fits, total, np.inf)

    def reached(self, rows: IntArray, after: FloatArray) -> BoolArray:
        """Return whether the model confirms that rows reach their goals, bool (n_places,)."""
        return reached(self.model, [self.queries[row] for row in rows.tolist()], after)

    def _cut(self, row: int, levels: IntArray) -> None:
        """Exclude a choice that does not serve a row, with the cell that the model treats alike."""
        part, chosen = self.parts[row], self.axes.chosen(levels)
        if not np.isfinite(self._costs(chosen)[row]):  # over budget by rounding
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
    """Return whether the model confirms that rows reach their goals, bool (n_rows,)."""
    goals: dict[Goal, list[int]] = {}
    for at, query in enumerate(queries):
        goals.setdefault(query.goal, []).append(at)
    good = np.zeros(len(queries), dtype=np.bool_)
    for goal, places in goals.items():
        oracle, margin = model.oracle(goal.target), queries[places[0]].margin
        good[places] = oracle.reached(after[places], goal)
        if oracle.companions or margin > 0:
            good[places] &= [oracle.accepts_with(after[at], goal, margin) for at in places]
    return good


def group_rows(
    model: ExplainedModel, queries: Sequence[Query], budget: float, over: Callable[[], bool]
) -> GroupRows:
    """Encode every row over the options of an action."""
    space = model.space
    values = np.array([space.values(query.row) for query in queries])
    views = {id(model.views[query.goal.target]) for query in queries}
    if len(views) > 1:
        raise InputError(
            "explain_group() needs one isolation forest for all rows. Give one target for all "
            "rows, or one forest for all classes to Plausibility."
        )
    view, most = model.views[queries[0].goal.target], budget * (1 + ROOM)
    options = tuple(
        options_of(index, feature, view.ensemble, view.cells, queries, values[:, index])
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
