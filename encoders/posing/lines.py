"""Straight lines above or below a curve, and planes above or below a minimum, within a box.

A line over an interval is a majorant: it is nowhere below the curve's upper limit. Between two
points a curve is above its chord by at most an eighth of its curvature times the squared width. It
is nowhere above its value at the right point. So points, lifted by the lesser of the two, suffice.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from encoders.arrays import FloatArray
from encoders.trees.blend import Term
from encoders.trees.curve import Curve

POINTS = 65  # of a curve that are looked at, in addition to its corners; more take longer
LIFT = 1e-13  # share of a line's numbers that it is lifted by, for float64's own rounding


@dataclass(frozen=True, eq=False)
class Plane:
    """``slope @ leads + level``, above or below a term within a box of its leads.

    Attributes
    ----------
    slope : float64 (n_leads,)
    level : float, height at leads of 0
    """

    slope: FloatArray
    level: float

    def at(self, leads: FloatArray) -> float:
        """Its height."""
        return float(self.slope @ leads) + self.level

    def times(self, factor: float) -> "Plane":
        """Return the plane multiplied by a factor."""
        return Plane(factor * self.slope, factor * self.level)


def above(term: Term, low: FloatArray, high: FloatArray, at: FloatArray) -> Plane:
    """Return a plane that is nowhere below a term within a box, and close to it at ``at``."""
    ends = term.inner(np.stack([low, high, at]))
    if term.weight > 0:
        slope, level = line_above(term.curve, *ends)
        inner = _minimum_below_plane(term, at)
        return Plane(term.weight * slope * inner.slope, term.weight * (level + slope * inner.level))
    inner = _plane_below_minimum(term, low, high, at)
    slope, level = line_below(term.curve, ends[0], ends[1], min(inner.at(at), ends[1]))
    return Plane(term.weight * slope * inner.slope, term.weight * (level + slope * inner.level))


def line_above(curve: Curve, low: float, high: float, at: float) -> tuple[float, float]:
    """Slope and level of a line nowhere below a curve's upper limit."""
    if not curve.steps:
        return 1.0, curve.width
    points = _points(curve, low, high, at)
    heights = curve.limits(points)[1]
    if points.size == 1:
        return 0.0, float(heights[0]) + LIFT * (1.0 + abs(float(heights[0])))
    lift = _lift(curve, points)
    left, right = heights[:-1] + lift, heights[1:] + lift
    stepped = lift >= heights[1:] - heights[:-1]  # so much does it rise at most in between
    left, right = np.where(stepped, heights[1:], left), np.where(stepped, heights[1:], right)
    x = np.concatenate([points[:-1], points[1:]])
    y = np.concatenate([left, right])
    slope = max(0.0, _hull_slope(x, y, at))
    level = float((y - slope * x).max())
    return slope, level + LIFT * (1.0 + abs(level) + slope * float(np.abs(x).max()))


def line_below(curve: Curve, low: float, high: float, at: float) -> tuple[float, float]:
    """Slope and level of a line nowhere above a curve's lower limit."""
    if not curve.steps:
        return 1.0, -curve.width
    points = _points(curve, low, high, at)
    heights = curve.limits(points)[0]
    if points.size == 1:
        return 0.0, float(heights[0]) - LIFT * (1.0 + abs(float(heights[0])))
    lift = _lift(curve, points)
    left, right = heights[:-1] - lift, heights[1:] - lift
    stepped = lift >= heights[1:] - heights[:-1]
    left, right = np.where(stepped, heights[:-1], left), np.where(stepped, heights[:-1], right)
    x = np.concatenate([points[:-1], points[1:]])
    y = np.concatenate([left, right])
    slope = max(0.0, _hull_slope(x, -y, at) * -1.0)
    level = float((y - slope * x).min())
    return slope, level - LIFT * (1.0 + abs(level) + slope * float(np.abs(x).max()))


def _points(curve: Curve, low: float, high: float, at: float) -> FloatArray:
    """Return points of a curve: both ends, evenly between, around ``at``, and its corners."""
    even = np.linspace(low, high, POINTS)
    inside = np.array([min(max(at, low), high)])
    return np.unique(np.concatenate([even, inside, curve.knots(low, high)]))


def _lift(curve: Curve, points: FloatArray) -> FloatArray:
    """By how much the curve may be off its chords; infinite where that is not known."""
    curved = curve.bends(points)
    known = np.isfinite(curved)
    return np.where(known, np.where(known, curved, 0.0) * np.diff(points) ** 2 / 8.0, np.inf)


def _hull_slope(x: FloatArray, y: FloatArray, at: float) -> float:
    """Slope of the upper hull of points at a place; between two edges the mean of both."""
    order = np.lexsort((-y, x))
    hull: list[tuple[float, float]] = []
    for point in zip(x[order].tolist(), y[order].tolist(), strict=True):
        if hull and point[0] == hull[-1][0]:
            continue
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    edges = [(a, b) for a, b in pairwise(hull) if a[0] <= at <= b[0]]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in edges]
    return sum(slopes) / len(slopes) if slopes and np.isfinite(slopes).all() else 0.0


def _turns_left(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    return (b[0] - a[0]) * (c[1] - a[1]) >= (c[0] - a[0]) * (b[1] - a[1])


def _minimum_below_plane(term: Term, at: FloatArray) -> Plane:
    """Return a plane nowhere below the minimum of leads: its tangent, as it is concave."""
    if at.size == 1:
        return Plane(np.ones(1), 0.0)
    if term.minimum == "plain":
        return Plane((np.arange(at.size) == at.argmin()).astype(np.float64), 0.0)
    share = np.exp(at.min() - at)
    share /= share.sum()
    level = float(term.inner(at[None, :])[0]) - float(share @ at)
    return Plane(share, level + LIFT * (1.0 + float(np.abs(at).max())))


def _plane_below_minimum(term: Term, low: FloatArray, high: FloatArray, at: FloatArray) -> Plane:
    """Return a plane nowhere above the minimum, by chords of exponentials and a tangent of log.

    Within the box ``exp(-lead)`` is below its chord, so their sum is below a plane W, and
    ``-log W`` is above its tangent, as the logarithm is concave.
    """
    if at.size == 1:
        return Plane(np.ones(1), 0.0)
    if term.minimum == "plain":
        return Plane(np.zeros(at.size), float(low.min()))
    base = low.min()  # so that no exponential overflows
    left, right, wide = np.exp(base - low), np.exp(base - high), high > low
    fall = np.where(wide, (left - right) / np.where(wide, high - low, 1.0), left)
    whole = float((left - fall * (at - low)).sum())
    whole = max(whole, float(right.sum()), np.finfo(np.float64).tiny)
    slope = fall / whole
    value = float((left - fall * (at - low)).sum())
    level = base - np.log(whole) - (value - whole) / whole - float(slope @ at)
    size = 1.0 + abs(level) + float(slope @ np.maximum(np.abs(low), np.abs(high)))
    return Plane(slope, float(level) - LIFT * size)
