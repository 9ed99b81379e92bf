"""Relaxation of a nonlinear goal: linear rows that every answer in a part of the goal keeps.

Curves are functions of *leads*, which are linear in the sums. A part of the goal is a range of each
lead. Within it every term of a requirement has a plane nowhere below it, and the sum of planes is a
row. The narrower the part, the closer its planes. A choice that a part's rows admit and the goal
rejects gives a row that cuts it off. Otherwise it splits the part into two that cover it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, starts
from encoders.formulation.requirements import (
    CLOSE,
    Halfspace,
    Part,
    Placed,
    PlacedNested,
    Requirement,
    linear_row,
)
from encoders.problem.problem import LeafRow, Problem
from encoders.trees.arithmetic import DOUBLE
from encoders.trees.blend import Curve, Nested, Term

POINTS = 65  # of a curve that are looked at, in addition to its corners; more take longer

LIFT = 1e-13  # share of a line's numbers that it is lifted by, for float64's own rounding

EDGE = 0.05  # of a range: splits keep so far away from its ends; less takes more splits

WIDTH = 0.01  # share of the range of a nested term that counts beside the gap of its plane

KEPT = 1  # refused points whose planes a part inherits; more make larger problems


@dataclass(frozen=True, eq=False)
class Plane:
    """``slope @ leads + level``, above or below a term within a box of its leads."""

    slope: FloatArray  # float64 (n_leads,)
    level: float  # height at leads of 0

    def at(self, leads: FloatArray) -> float:
        """Its height."""
        return float(self.slope @ leads) + self.level

    def times(self, factor: float) -> "Plane":
        """Return the plane multiplied by a factor."""
        return Plane(factor * self.slope, factor * self.level)


@dataclass(frozen=True, eq=False)
class SumPlane:
    """``weights @ sums + level``, above a term in a part.

    Attributes
    ----------
    weights : factors of the sums, float64 (n_sums,).
    level : height where all sums are 0.
    size : sum of the absolute numbers that the level adds up.
    """

    weights: FloatArray
    level: float
    size: float


@dataclass(frozen=True, eq=False)
class Planes:
    """Planes above terms in a part, close to them at a point; requirements share many."""

    part: Part  # the part
    point: FloatArray  # leads, float64 (n_leads,)
    by_term: dict[tuple[int, int, bool], Plane] = field(default_factory=dict)  # planes so far

    def of(self, placed: Placed) -> Plane:
        """Return the plane of a term."""
        term, up = placed.term, placed.term.weight > 0
        key = (id(term.curve), id(term.leads), up)
        if key not in self.by_term:
            whole = replace(term, weight=1.0 if up else -1.0)
            self.by_term[key] = above(whole, *placed.range(self.part), placed.own(self.point))
        return self.by_term[key].times(abs(term.weight))


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


class Relaxation:
    """Rows for the parts of a goal.

    Attributes
    ----------
    whole : the part that is the whole goal
    """

    def __init__(
        self,
        score: FloatArray,
        tree_start: IntArray,
        bias: FloatArray,
        requirements: Sequence[Requirement],
    ) -> None:
        self._score, self._tree_start, self._bias = score, tree_start, bias
        self._conditions = tuple(requirements)
        self._leads: list[FloatArray] = []
        self._placed = [
            [self._place(term) for term in requirement.expression.terms]
            for requirement in requirements
        ]
        self._nested = [
            [self._place_nested(each) for each in requirement.expression.nested]
            for requirement in requirements
        ]
        self.whole = self._whole()

    def only(self, alive: BoolArray) -> "Relaxation":
        """Return the same goal with fewer leaves, which narrows the ranges of leads."""
        left = np.add.reduceat(alive, self._tree_start[:-1], dtype=np.int64)
        return Relaxation(self._score[alive], starts(left), self._bias, self._conditions)

    def rows(self, part: Part) -> tuple[LeafRow, ...]:
        """Rows that every answer in a part keeps."""
        points = [*part.refused, (part.low + part.high) / 2]
        spaces = []
        for point in points:
            planes = Planes(part, point)
            spaces += [self._space(number, planes) for number in range(len(self._conditions))]
        for index, lead in enumerate(self._leads):
            if part.low[index] > self.whole.low[index]:
                spaces.append((lead, float(part.low[index])))
            if part.high[index] < self.whole.high[index]:
                spaces.append((-lead, -float(part.high[index])))
        spaces = spaces or [(np.zeros(self._bias.size), -np.inf)]
        told = {(weights.tobytes(), needed): (weights, needed) for weights, needed in spaces}
        return tuple(self._row(space) for space in told.values())

    def cut(self, part: Part, problem: Problem, levels: IntArray) -> LeafRow | None:
        """Return a row that a choice violates and every answer in the part satisfies, or None."""
        leaves = problem.active_leaves(levels)
        planes = Planes(part, self._point(part, self._sums(leaves)))
        for number in range(len(self._conditions)):
            row = self._row(self._space(number, planes))
            if int(row.weight[leaves].sum()) < row.minimum:
                return row
        return None

    def split(self, part: Part, problem: Problem, levels: IntArray) -> tuple[Part, Part] | None:
        """Two parts that make up one, closer to the goal at a refused choice.

        None where the goal holds there but for rounding, or the part is as narrow as can be.
        """
        sums = self._sums(problem.active_leaves(levels))
        point = self._point(part, sums)
        gaps = [
            (self._gap(placed, part, point), at, placed)
            for at, (requirement, terms) in enumerate(
                zip(self._conditions, self._placed, strict=True)
            )
            if requirement.misses(sums)
            for placed in terms
        ]
        for at, requirement in enumerate(self._conditions):
            if requirement.misses(sums):
                planes = Planes(part, point)
                for nested in self._nested[at]:
                    gap = self._gap_of_nested(nested, planes, sums)
                    inner = sorted(nested.signed, key=partial(self._looseness, part, point))
                    gaps += [(gap, at, placed) for placed in reversed(inner)]
        for gap, _, placed in sorted(gaps, key=lambda entry: -entry[0]):
            if gap > CLOSE * (1.0 + abs(placed.term.weight)):
                halves = self._halves(placed, part, point)
                if halves is not None:
                    return halves
        return None

    def _place_nested(self, nested: Nested) -> PlacedNested:
        """Return a nested curve over the leads; its linear part is a term without a curve."""
        inner, linear = nested.inner, nested.inner.linear
        plain = [Term(1.0, Curve(), linear[None, :], np.zeros(1))] if linear.any() else []
        return PlacedNested(nested, [self._place(term) for term in (*plain, *inner.terms)])

    def _place(self, term: Term) -> Placed:
        index, sign = [], []
        for lead in term.leads:
            first = lead[np.flatnonzero(lead)[:1]]
            own = -1.0 if first.size and first[0] < 0 else 1.0
            same = [at for at, known in enumerate(self._leads) if np.array_equal(known, own * lead)]
            if not same:
                self._leads.append(own * lead)
            index.append(same[0] if same else len(self._leads) - 1)
            sign.append(own)
        return Placed(term, np.array(index), np.array(sign))

    def _whole(self) -> Part:
        """Return the range of each lead over all choices, widened by a rounding margin."""
        first = self._tree_start[:-1]
        low, high = np.zeros(len(self._leads)), np.zeros(len(self._leads))
        for index, lead in enumerate(self._leads):
            given, bias = self._score @ lead, float(self._bias @ lead)
            least = np.minimum.reduceat(given, first)
            most = np.maximum.reduceat(given, first)
            room = 4.0 * (first.size + lead.size) * DOUBLE
            room *= float(np.maximum(np.abs(least), np.abs(most)).sum()) + abs(bias)
            low[index], high[index] = (
                bias + float(least.sum()) - room,
                bias + float(most.sum()) + room,
            )
        return Part(low, high)

    def _sums(self, leaves: IntArray) -> FloatArray:
        found: FloatArray = self._bias + self._score[leaves].sum(axis=0)
        return found

    def _point(self, part: Part, sums: FloatArray) -> FloatArray:
        leads = np.array([lead @ sums for lead in self._leads])
        return np.asarray(np.clip(leads, part.low, part.high))

    def _space(self, number: int, planes: Planes) -> Halfspace:
        requirement, terms = self._conditions[number], self._placed[number]
        expression = requirement.expression
        if requirement.needed == np.inf:
            return np.zeros(self._bias.size), np.inf
        alone = len(terms) == 1 and not expression.linear.any() and not expression.nested
        single = terms[0] if alone else None
        if single is not None and single.index.size == 1:
            return self._inverted(single, requirement)
        weights, level = expression.linear.copy(), expression.constant + expression.error
        size = abs(level) + abs(requirement.needed)
        every = [self._sum_plane(placed, planes.of(placed)) for placed in terms]
        every += [self._above_nested(each, planes) for each in self._nested[number]]
        for plane in every:
            weights, level = weights + plane.weights, level + plane.level
            size += plane.size
        return weights, requirement.needed - level - LIFT * size * (1 + len(every))

    def _sum_plane(self, placed: Placed, plane: Plane) -> SumPlane:
        """Return the plane of a term as one over the sums."""
        weights = np.zeros(self._bias.size)
        for index, sign, slope in zip(placed.index, placed.sign, plane.slope, strict=True):
            weights = weights + slope * sign * self._leads[index]
        moved = float(plane.slope @ placed.term.offset)
        return SumPlane(weights, plane.level - moved, abs(plane.level) + abs(moved))

    def _above_nested(self, nested: PlacedNested, planes: Planes) -> SumPlane:
        """Return a plane that is nowhere below the curve of an expression in a part.

        The curve is below a line of a slope of at least 0, and the expression below its planes. A
        negative weight needs the line below the curve, and planes below the expression.
        """
        term, sign = nested.nested, 1.0 if nested.nested.weight > 0 else -1.0
        low, high = nested.range(planes.part)
        at = min(max(nested.at(planes.point), low), high)
        each = [self._sum_plane(placed, planes.of(placed)) for placed in nested.signed]
        slope, level = (line_above if sign > 0 else line_below)(term.curve, low, high, at)
        constant = sign * term.inner.constant + term.inner.error
        factor = abs(term.weight)
        return SumPlane(
            factor * slope * sum((plane.weights for plane in each), np.zeros(self._bias.size)),
            factor * (slope * (constant + sum(plane.level for plane in each)) + sign * level),
            factor * (slope * (abs(constant) + sum(plane.size for plane in each)) + abs(level)),
        )

    def _gap_of_nested(self, nested: PlacedNested, planes: Planes, sums: FloatArray) -> float:
        """Return by how much the plane of a nested curve is above it."""
        plane = self._above_nested(nested, planes)
        exact = float(nested.nested.limits(sums[None, :], 0.0)[1][0])
        return float(plane.weights @ sums) + plane.level - exact

    def _inverted(self, placed: Placed, requirement: Requirement) -> Halfspace:
        """Return the half-space in which one curve of one lead satisfies a requirement."""
        term, lead = placed.term, placed.term.leads[0]
        low, high = (float(end[0]) for end in placed.range(self.whole))
        level = requirement.expression.constant + requirement.expression.error
        share = (requirement.needed - level) / abs(term.weight)
        share -= LIFT * (1.0 + abs(share) + abs(level / term.weight))
        if term.weight > 0:
            below, reached = term.curve.limits(np.array([low, high]))[1]
            if reached < share:
                return lead, np.inf
            edge = low if below >= share else term.curve.between(share, low, high, True)[0]
            return lead, edge + float(term.offset[0])
        # At most -share: as far as the lower limit is not above it.
        lowest, most = term.curve.limits(np.array([low, high]))[0]
        if lowest > -share:
            return -lead, np.inf
        beyond = np.nextafter(-share, np.inf)
        edge = high if most <= -share else term.curve.between(beyond, low, high, False)[1]
        return -lead, -edge - float(term.offset[0])

    def _row(self, space: Halfspace) -> LeafRow:
        return linear_row(self._score, self._tree_start, self._bias, space)

    def _gap(self, placed: Placed, part: Part, point: FloatArray) -> float:
        """By how much the plane of a term is above it."""
        own, term = placed.own(point), placed.term
        plane = above(term, *placed.range(part), own)
        exact = term.curve.limits(term.inner(own[None, :]))[int(term.weight > 0)][0]
        return plane.at(own) - term.weight * float(exact)

    def _looseness(self, part: Part, point: FloatArray, placed: Placed) -> float:
        """Return how far a term's plane is above it, and a share of the width of its range."""
        low, high = placed.heights(part)
        return self._gap(placed, part, point) + WIDTH * (high - low)

    def _halves(self, placed: Placed, part: Part, point: FloatArray) -> tuple[Part, Part] | None:
        if placed.term.votes:
            chosen = self._jump(placed, part, point)
            if chosen is None:
                return None
            index, last, first = chosen
        else:
            index = self._widest(placed, part, point)
            low, high = float(part.low[index]), float(part.high[index])
            room = EDGE * (high - low)
            at = min(max(float(point[index]), low + room), high - room)
            last, first = at, at
        if not (part.low[index] <= last and first <= part.high[index]):
            return None
        if part.low[index] == first or part.high[index] == last:
            return None  # as narrow as can be
        upper, lower = part.high.copy(), part.low.copy()
        upper[index], lower[index] = last, first
        sides = Part(part.low, upper), Part(lower, part.high)
        seen = (point, *part.refused)[:KEPT]
        left, right = (
            Part(s.low, s.high, tuple(np.clip(seen_at, s.low, s.high) for seen_at in seen))
            for s in sides
        )
        return left, right

    def _jump(
        self, placed: Placed, part: Part, point: FloatArray
    ) -> tuple[int, float, float] | None:
        """Return where a vote turns: the lead, its last number before, and its first from there."""
        term = placed.term
        turn = -term.curve.width if term.weight > 0 else term.curve.width
        low, high = placed.range(part)
        own = placed.own(point)
        open_ = (low < turn) & (high >= turn)
        if term.weight > 0:
            open_ &= own < turn
        if not open_.any():
            return None
        j = int(np.flatnonzero(open_)[own[open_].argmin()])
        at = float(placed.sign[j] * (turn + term.offset[j]))
        if placed.sign[j] > 0:
            return int(placed.index[j]), float(np.nextafter(at, -np.inf)), at
        return int(placed.index[j]), at, float(np.nextafter(at, np.inf))

    def _widest(self, placed: Placed, part: Part, point: FloatArray) -> int:
        """Return the index of the lead whose range matters most to a term's plane."""
        plane = above(placed.term, *placed.range(part), placed.own(point))
        wide = (part.high - part.low)[placed.index]
        matters = np.abs(plane.slope) * wide
        return int(placed.index[(matters if matters.any() else wide).argmax()])
