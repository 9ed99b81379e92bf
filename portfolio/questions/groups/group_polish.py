"""Simpler actions: lower cost, fewer steps and digits for the same rows; each is verified."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.interface import Request
from portfolio.questions.groups.group_action import Limit, applied, shorter
from portfolio.questions.groups.group_rows import ROOM, GroupRows, Served
from portfolio.solving.verify import priced

DIGITS = 1e-3  # share of a feature's range by which rounding may move a limit


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
