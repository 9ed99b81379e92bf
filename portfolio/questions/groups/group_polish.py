"""Actions that serve the same rows for less, with fewer steps and digits; each is verified."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.interface import Request
from portfolio.questions.groups.group_action import Limit, applied, shorter
from portfolio.questions.groups.group_rows import ROOM, GroupRows, Served
from portfolio.solving.verify import priced

DIGITS = 1e-3  # of a feature's range: how far a number with fewer digits may be from the limit


@dataclass(frozen=True, eq=False)
class Polished:
    """An action as it is told.

    Attributes
    ----------
    limits : its steps
    rows : for each row that takes it, by place, what it costs and the row after it
    """

    limits: tuple[Limit, ...]
    rows: Mapping[int, tuple[float, FloatArray]]


def polish(
    rows: GroupRows, best: Sequence[Served], request: Request, deadline: float
) -> list[Polished]:
    """Cheaper and shorter actions that serve the same rows together."""
    if not best:
        return []
    distance = np.array([served.distance for served in best])
    nearest = np.where(np.isfinite(distance).any(axis=0), distance.argmin(axis=0), -1)
    found = []
    for at, served in enumerate(best):
        own = np.flatnonzero(nearest == at).tolist()
        if not own:
            continue
        left = deadline - time.perf_counter()
        until = time.perf_counter() + left / (len(best) - at)
        cheaper = rows.cheapest(own, served, request, until)

        def over(until: float = until) -> bool:
            return request.stop.is_set() or time.perf_counter() >= until

        needed = _without_idle(rows, own, cheaper.chosen, over)
        found.append(_shortened(rows, own, needed, over))
    return found


def _without_idle(
    rows: GroupRows, own: Sequence[int], chosen: IntArray, over: Callable[[], bool]
) -> IntArray:
    """The action without steps that none of the rows needs."""
    for index, option in enumerate(rows.axes.options):
        if chosen[index] == option.none:
            continue
        if over():
            break
        less = chosen.copy()
        less[index] = option.none
        if rows.serve(less).rows >= set(own):
            chosen = less
    return chosen


def _shortened(
    rows: GroupRows, own: Sequence[int], chosen: IntArray, over: Callable[[], bool]
) -> Polished:
    """The action with the fewest digits with which it still serves its rows."""
    limits: list[Limit] = []
    for index, option in enumerate(rows.axes.options):
        way = option.way[chosen[index]]
        if way != "none":
            limits.append(Limit(index, way, float(option.limit[chosen[index]])))
    held = _verified(rows, own, limits)
    assert held is not None
    for at, limit in enumerate(limits):
        feature = rows.model.space.features[limit.index]
        if not rows.queries[own[0]].any_number(limit.index, feature):
            continue
        for tried in shorter(limit, feature, DIGITS * (feature.upper - feature.lower)):
            if over():
                break
            other = [*limits[:at], tried, *limits[at + 1 :]]
            kept = _verified(rows, own, other)
            if kept is not None:
                limits, held = other, kept
                break
    return Polished(tuple(limits), held)


def _verified(
    rows: GroupRows, own: Sequence[int], limits: Sequence[Limit]
) -> dict[int, tuple[float, FloatArray]] | None:
    """Each row after the action, as the model itself confirms it; None if one is not served."""
    space = rows.model.space
    after = np.array([applied(space, rows.queries[row].row, limits) for row in own])
    cost = []
    for row, moved in zip(own, after, strict=True):
        paid = priced(moved, rows.queries[row], space)
        if paid is None or paid.distance > rows.budget * (1 + ROOM):
            return None
        cost.append(paid.distance)
    if not rows.reached(np.array(own), after).all():
        return None
    return {row: (cost[at], after[at]) for at, row in enumerate(own)}
