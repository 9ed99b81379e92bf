"""Native verification of answers, and recomputation of their costs."""

import math
from dataclasses import dataclass, replace

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.query.features import Feature, FeatureSpace, same
from encoders.query.goal import Goal
from encoders.query.grid import Grid
from encoders.query.query import Query
from portfolio.engine.onward import with_onward
from portfolio.model.oracle import Oracle
from portfolio.results.change import Change

RELATIVE_TOLERANCE = 1e-9  # of distances, which are summed in another order here
SMALLEST = 2.0**-960  # distance; below, powers of changes approach the float64 underflow


@dataclass(frozen=True, eq=False)
class Verified:
    """Row that reaches the goal according to the model itself.

    Attributes
    ----------
    row : float64 (n_columns,).
    distance : distance, recomputed from the row in float64.
    changed : changes, one per changed feature, with their costs.
    goal : goal that the row reaches.
    probabilities : float64 (2, n_classes), native probabilities of the query and the row, if the
        call that verified the row gave them, else None.
    """

    row: FloatArray
    distance: float
    changed: tuple[Change, ...]
    goal: Goal
    probabilities: FloatArray | None = None


def verify(
    row: FloatArray, claimed: float, query: Query, space: FeatureSpace, oracle: Oracle
) -> Verified | None:
    """Verify goal, plausibility, constraints and distance of a row; return None if one fails."""
    accepted, probabilities = oracle.answers(query.row, row, query.goal)
    if not accepted:
        return None
    verified = priced(row, query, space)
    if verified is None:
        return None
    close = math.isclose(verified.distance, claimed, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-300)
    if not close:
        return None
    changed = with_onward(verified.changed, row, query, space, oracle.ensemble)
    return replace(verified, changed=changed, probabilities=probabilities)


def is_too_small(verified: Verified, query: Query, space: FeatureSpace) -> bool:
    """Return whether the power of costs makes the distance too small for float64."""
    if verified.distance >= SMALLEST or not verified.changed:
        return False
    linear = priced(verified.row, replace(query, cost=replace(query.cost, power=1.0)), space)
    return linear is not None and linear.distance > verified.distance


def priced(row: FloatArray, query: Query, space: FeatureSpace) -> Verified | None:
    """Return changes and distance of a row without native verification; None if not admissible.

    Numbers are not marked as exceedable: see :mod:`portfolio.engine.onward`.
    """
    before, after = space.values(query.row), space.values(row)
    if not _admissible(before, after, row, query, space):
        return None
    changed, stays = [], same(before, after)
    for index, feature in enumerate(space.features):
        if stays[index]:
            continue
        value, admissible = float(before[index]), query.admissible[index]
        cost = query.cost.of(index, feature, value, after[index : index + 1], admissible)
        labels = feature.show(value), feature.show(float(after[index]))
        codes = value in feature.codes, float(after[index]) in feature.codes
        changed.append(Change(feature.name, *labels, float(cost[0]), False, *codes))
    costs = [change.cost for change in changed]
    if query.related is not None:
        costs += query.related.extra(after)
    distance = math.fsum(costs) if query.cost.aggregate == "sum" else max(costs, default=0.0)
    return Verified(row, distance, tuple(changed), query.goal)


def _admissible(
    before: FloatArray, after: FloatArray, row: FloatArray, query: Query, space: FeatureSpace
) -> bool:
    stays = same(before, after)
    moved = set(np.flatnonzero(~stays).tolist())
    for limit in query.max_changes:
        if len(moved if limit.features is None else moved & limit.features) > limit.count:
            return False
    if query.related is not None and not query.related.holds(after):
        return False
    return all(
        (admissible.stay and stays[index])
        or (admissible.missing is not None and np.isnan(after[index]))
        or after[index] in admissible.codes
        or (
            after[index] not in feature.codes
            and admissible.lower <= after[index] <= admissible.upper
            and (admissible.values is None or after[index] in admissible.values)
            and _on_level(feature, float(after[index]), row)
        )
        for index, (feature, admissible) in enumerate(
            zip(space.features, query.admissible, strict=True)
        )
    )


def _on_level(feature: Feature, value: float, row: FloatArray) -> bool:
    if feature.coded:
        return value in feature.values if feature.values else value.is_integer()
    if feature.kind == "categorical":
        group = row[list(feature.columns)]
        return bool(group.sum() <= 1 and ((group == 0) | (group == 1)).all())
    if feature.values:
        return value in feature.values
    if feature.step:
        return bool(Grid(feature.step).holds(np.array(value)))
    return feature.kind == "numeric" or value.is_integer()
