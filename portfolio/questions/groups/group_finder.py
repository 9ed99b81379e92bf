"""Search for group recourse: reads the rows, solves and builds the result."""

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from encoders.backends.interface import Request, Status, StopReason
from encoders.backends.stopping import why
from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import InputError
from encoders.query.constraints import AllowMissing
from encoders.query.query import Query
from encoders.query.relations import Relation
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import LONGEST_S, OWN, Question, check_progress
from portfolio.engine.verify import priced
from portfolio.engine.warm_up import warm_up
from portfolio.model.batch_rows import BatchRows, rows_of
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.frames import FrameForm, form_of
from portfolio.model.goals import goal_of
from portfolio.model.row import Row
from portfolio.questions.groups.group import GroupAction, GroupMember, GroupRecourse, State
from portfolio.questions.groups.group_action import Limit, applied, shorter
from portfolio.questions.groups.group_rows import (
    MOST_REFUSED,
    ROOM,
    GroupRows,
    Served,
    group_rows,
    reached,
)
from portfolio.questions.groups.group_search import GroupSearch
from portfolio.questions.records import GroupQuestion

DIGITS = 1e-3  # share of a feature's range by which rounding may move a limit

MOST_ACTIONS = 20

TIES = f"The model rejected more than {MOST_REFUSED} candidates near a tie. Set a margin."

POLISH_SHARE = 0.1  # share of the time limit for simpler and cheaper actions


@dataclass(frozen=True, eq=False)
class Polished:
    """Action in its final form.

    Attributes
    ----------
    limits : tuple of Limit, its steps.
    rows : mapping of the place of each row that takes it to its cost and the row after it.
    """

    limits: tuple[Limit, ...]
    rows: Mapping[int, tuple[float, FloatArray]]


def polish(
    rows: GroupRows, best: Sequence[Served], request: Request, deadline: float
) -> list[Polished]:
    """Return cheaper and simpler actions that together serve the same rows."""
    if not best:
        return []
    distance = np.array([served.distance for served in best])
    nearest = np.where(np.isfinite(distance).any(axis=0), distance.argmin(axis=0), -1)
    actions = []
    for at, served in enumerate(best):
        takers = np.flatnonzero(nearest == at).tolist()
        if not takers:
            continue
        left_s = deadline - time.perf_counter()
        until = time.perf_counter() + left_s / (len(best) - at)
        cheaper = rows.cheapest(takers, served, request, until)

        def over(until: float = until) -> bool:
            return request.stop.is_set() or time.perf_counter() >= until

        needed = _without_idle(rows, takers, cheaper.chosen, over)
        actions.append(_shortened(rows, takers, needed, over))
    return actions


def _without_idle(
    rows: GroupRows, takers: Sequence[int], chosen: IntArray, over: Callable[[], bool]
) -> IntArray:
    """Return the action without steps that none of the rows needs."""
    for index, option in enumerate(rows.axes.options):
        if chosen[index] == option.none:
            continue
        if over():
            break
        less = chosen.copy()
        less[index] = option.none
        if rows.serve(less).rows >= set(takers):
            chosen = less
    return chosen


def _shortened(
    rows: GroupRows, takers: Sequence[int], chosen: IntArray, over: Callable[[], bool]
) -> Polished:
    """Return the action with the fewest digits that still serves its rows."""
    limits: list[Limit] = []
    for index, option in enumerate(rows.axes.options):
        way = option.way[chosen[index]]
        if way != "none":
            limits.append(Limit(index, way, float(option.limit[chosen[index]])))
    verified = _verified(rows, takers, limits)
    assert verified is not None
    for at, limit in enumerate(limits):
        feature = rows.model.space.features[limit.index]
        if not rows.queries[takers[0]].any_number(limit.index, feature):
            continue
        for tried in shorter(limit, feature, DIGITS * (feature.upper - feature.lower)):
            if over():
                break
            other = [*limits[:at], tried, *limits[at + 1 :]]
            outcome = _verified(rows, takers, other)
            if outcome is not None:
                limits, verified = other, outcome
                break
    return Polished(tuple(limits), verified)


def _verified(
    rows: GroupRows, takers: Sequence[int], limits: Sequence[Limit]
) -> dict[int, tuple[float, FloatArray]] | None:
    """Return cost and row after the action, by place, as verified by the model; or None."""
    space = rows.model.space
    after = np.array([applied(space, rows.queries[row].row, limits) for row in takers])
    cost = []
    for row, moved in zip(takers, after, strict=True):
        paid = priced(moved, rows.queries[row], space)
        if paid is None or paid.distance > rows.budget * (1 + ROOM):
            return None
        cost.append(paid.distance)
    if not rows.reached(np.array(takers), after).all():
        return None
    return {row: (cost[at], after[at]) for at, row in enumerate(takers)}


@dataclass(frozen=True, eq=False)
class GroupQuery:
    """Rows of a group as read from the user's frame.

    Attributes
    ----------
    ids : sequence of object, one per row.
    queries : sequence of Query, one per row; None if constraints leave a feature without any value.
    there : frozenset of int, places of the rows that already reach the target.
    rows : BatchRows, in the user's values.
    form : FrameForm of the user's frame.
    """

    ids: Sequence[Any]
    queries: Sequence[Query | None]
    there: frozenset[int]
    rows: BatchRows
    form: FrameForm

    @cached_property
    def open(self) -> list[int]:
        """Places of the rows that an action may serve."""
        every = enumerate(self.queries)
        return [at for at, query in every if query is not None and at not in self.there]


@interruptible
def find_group(
    asker: Asker, x: Any, question: GroupQuestion, on_progress: OnProgress | None = None
) -> GroupRecourse:
    """Find actions that give recourse to as many rows as possible."""
    n_actions, budget = question.actions, question.budget
    settings, options = question.settings, question.options
    warm_up()
    began = time.perf_counter()
    check_progress(on_progress)
    _check(n_actions, budget, settings)
    asker.check_classes()
    group = _read(asker.model, x, settings)
    stop = asker.stop or threading.Event()
    limit_s = float(min(options.time_limit_s, LONGEST_S))
    request = Request(limit_s, int(options.threads or 1), int(options.seed), stop=stop)
    most = math.inf if budget is None else float(budget)

    def report(bound: int, covered: int) -> None:
        if on_progress is not None:
            on_progress(time.perf_counter() - began, float(bound), float(covered))

    def solve() -> tuple[GroupSearch, list[Polished]] | None:
        if not group.open:
            return None
        queries = [group.queries[at] for at in group.open]
        polish_s, end = POLISH_SHARE * limit_s, began + limit_s
        deadline = end - polish_s

        def over() -> bool:
            return stop.is_set() or time.perf_counter() >= deadline

        rows = group_rows(asker.model, [q for q in queries if q is not None], most, over)
        search = GroupSearch(rows, n_actions, asker, request, deadline, report)
        search.run()
        until = min(time.perf_counter() + polish_s, end)
        return search, polish(rows, search.best, request, until)

    outcome = solve()
    return _recourse(asker.model, group, outcome, settings.target, most, request, began)


def _check(n_actions: int, budget: float | None, question: Question) -> None:
    whole = isinstance(n_actions, int) and not isinstance(n_actions, bool)
    if not whole or not 1 <= n_actions <= MOST_ACTIONS:
        raise InputError(
            f"actions must be a whole number from 1 to {MOST_ACTIONS}, got {n_actions!r}."
        )
    number = isinstance(budget, int | float | np.number) and not isinstance(budget, bool)
    if budget is not None and not (number and 0 <= budget < math.inf):
        raise InputError(
            f"budget must be a number of at least 0, or None for no limit, got {budget!r}."
        )
    for rule in question.constraints:
        if isinstance(rule, Relation | AllowMissing):
            raise InputError(
                f"explain_group() does not support {rule}. Use constraints on one feature, or "
                "MaxChanges."
            )
    if question.measure == OWN:
        raise InputError(
            "explain_group() does not support a function or a mapping as norm. Use a number or "
            "'inf'."
        )


def _read(model: ExplainedModel, X: Any, question: Question) -> GroupQuery:
    """Return the rows, each with its query."""
    rows = rows_of(model, X)
    ids, values_of_rows = list(rows.index), rows.values
    if not ids:
        raise InputError("X has no rows. Give at least one.")
    queries: list[Query | None] = []
    unchanged, failed = [], []
    for at, (name, values) in enumerate(zip(ids, values_of_rows, strict=True)):
        if isinstance(values, str):
            raise InputError(f"row {name}: {values}")
        goal = goal_of(model, question.target, values, "explain_group()")
        try:
            query = question.query(model, Row(values), goal)
        except InputError as error:
            failed.append(error)
            queries.append(None)
            continue
        queries.append(query)
        if all(admissible.stay for admissible in query.admissible):
            unchanged.append((at, query))
    if len(failed) == len(ids):
        raise failed[0]
    model.check_decisions(np.array(values_of_rows))
    rows_before = np.array([query.row for _, query in unchanged])
    good = reached(model, [query for _, query in unchanged], rows_before)
    places = zip(unchanged, good, strict=True)
    there = frozenset(at for (at, _), already in places if already)
    return GroupQuery(ids, queries, there, rows, form_of(X))


def _recourse(
    model: ExplainedModel,
    group: GroupQuery,
    outcome: tuple[GroupSearch, list[Polished]] | None,
    target: Any,
    budget: float,
    request: Request,
    began: float,
) -> GroupRecourse:
    search, polished = outcome or (None, [])
    doubt = "" if search is None else search.rows.doubt
    polished = sorted(polished, key=lambda action: -len(action.rows))
    takes: dict[int, tuple[int, float, FloatArray]] = {}
    for at, action in enumerate(polished, 1):
        for place, (distance, after) in action.rows.items():
            takes[group.open[place]] = (at, distance, after)
    n_open = 0 if search is None else len(group.open)
    bound = 0 if search is None else n_open if doubt else search.bound
    able = set(range(n_open)) if search is None or doubt else set(search.able)
    members = []
    for row, name in enumerate(group.ids):
        state: State = "not served"
        if row in group.there:
            state = "already there"
        elif row in takes:
            state = "served"
        elif group.queries[row] is None or group.open.index(row) not in able:
            state = "out of reach"
        members.append(GroupMember(name, state, *takes.get(row, (0, math.inf))[:2]))
    proved = not doubt and len(takes) == bound
    status: Status = "optimal" if proved else "feasible"
    if not takes and len(group.there) < len(group.ids):
        status = "infeasible" if proved else "unknown"
    gave_up = search is not None and search.rows.gave_up and not proved
    stopped: StopReason = "error" if doubt or gave_up else why(request)
    return GroupRecourse(
        status=status,
        stop_reason="proved" if proved else stopped,
        target=target,
        budget=budget,
        actions=tuple(_action(model, action, group) for action in polished),
        members=tuple(members),
        covered=len(takes),
        bound=bound,
        asked=0 if search is None else search.rows.asked,
        seconds=time.perf_counter() - began,
        message=doubt or (TIES if gave_up else ""),
        counterfactuals=_frame(model, group, {row: take[2] for row, take in takes.items()}),
    )


def _action(model: ExplainedModel, action: Polished, group: GroupQuery) -> GroupAction:
    costs = [distance for distance, _ in action.rows.values()]
    return GroupAction(
        steps=tuple(limit.step(model.space.features[limit.index]) for limit in action.limits),
        rows=tuple(group.ids[group.open[place]] for place in action.rows),
        mean_cost=math.fsum(costs) / len(costs),
    )


def _frame(model: ExplainedModel, group: GroupQuery, after: dict[int, FloatArray]) -> Any:
    """Return the rows after their action, by id, in the library of the user's frame."""
    places = sorted(after)
    ids = [group.ids[place] for place in places]
    rows = group.rows.some(places)
    frame = rows.answered([after[place] for place in places]).set_axis(ids, axis=0)
    return group.form.of(frame)
