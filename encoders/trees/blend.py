"""Outputs that add up rising curves of several sums: votes and averages of ensembles."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray
from encoders.trees.arithmetic import DOUBLE, Link
from encoders.trees.normalisation import Normalisation

StepKind = Literal["scale", "sigmoid", "logit", "points", "jump", "exp"]
STEP_TERMS = 8.0  # unit roundoffs of a product, a sum and an interpolation
BESIDE = 64.0  # distance of knots from a corner, in units of the last place
BISECTIONS = 120
STEEPEST, MOST_CURVED = 0.25, 0.1  # largest slope and second derivative of a sigmoid


@dataclass(frozen=True, eq=False)
class Step:
    """Function of one number, a link of a chain.

    Attributes
    ----------
    kind : kind of function. "scale" is ``factor * x + shift``. "logit" is taken of a probability
        after ``shift`` is added to both shares. "points" is linear between points. "jump" is 0
        below 0 and 1 from there on. "exp" is the exponential below 0, and ``1 + factor * x`` above.
    factor : factor of a scale or slope of an exponential above 0, at least 0.
    shift : summand of a scale or a logit.
    error : rounding error of the library, relative for a scale, a logit and an exponential.
    x, y : coordinates of points, float64 (n_points,), ascending.
    """

    kind: StepKind
    factor: float = 1.0
    shift: float = 0.0
    error: float = 0.0
    x: FloatArray | None = None
    y: FloatArray | None = None

    def of(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the exact values, and bounds on the library's error, float64 (n,) each."""
        match self.kind:
            case "scale":
                y = self.factor * x + self.shift
                return y, self.error * (np.abs(self.factor * x) + abs(self.shift))
            case "sigmoid":
                small = np.exp(-np.abs(x))
                share = np.where(x >= 0, 1.0 / (1.0 + small), small / (1.0 + small))
                return share, np.full(share.shape, self.error)
            case "logit":
                share = np.clip(x, 0.0, 1.0)
                y = np.log(share + self.shift) - np.log(1.0 - share + self.shift)
                return y, self.error * (1.0 + np.abs(y))
            case "points":
                assert self.x is not None and self.y is not None
                y = np.interp(x, self.x, self.y)
                return y, np.full(y.shape, self.error)
            case "jump":
                return (x >= 0.0).astype(np.float64), np.zeros(x.shape)
            case "exp":
                y = np.exp(np.minimum(x, 0.0)) + self.factor * np.maximum(x, 0.0)
                return y, self.error * y

    def back(self, limit: FloatArray, way: float) -> FloatArray:
        """Return approximate inputs at which a limit has given values; not finite if it never has.

        ``way`` is -1 for the lower limit and 1 for the upper one.
        """
        with np.errstate(all="ignore"):
            match self.kind:
                case "scale":
                    moved = limit - self.shift - way * self.error * abs(self.shift)
                    return moved / (1.0 + way * self.error * np.sign(moved)) / self.factor
                case "sigmoid":
                    moved = limit - way * self.error
                    return np.log(moved) - np.log1p(-moved)
                case "logit":
                    return 1.0 / (1.0 + np.exp(-limit))
        return np.full(limit.shape, np.inf)

    def bends(self, x: FloatArray, slope: FloatArray, curved: FloatArray) -> "Bends":
        """Return bounds on slope and curvature of the chain up to here, between adjacent points."""
        low, high = x[:-1], x[1:]
        match self.kind:
            case "scale":
                factor = self.factor * (1.0 + self.error)
                return factor * slope, factor * curved
            case "sigmoid":
                nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(abs(low), abs(high)))
                flat = np.exp(-nearest)
                steepest, bent = np.minimum(flat, STEEPEST), np.minimum(flat, MOST_CURVED)
                with np.errstate(invalid="ignore"):  # 0 * inf: unknown
                    rise, bend = steepest * slope, steepest * curved + bent * slope**2
                return np.where(np.isnan(rise), np.inf, rise), np.where(
                    np.isnan(bend), np.inf, bend
                )
            case "points":
                assert self.x is not None and self.y is not None
                inside = np.searchsorted(self.x, high, "left") > np.searchsorted(
                    self.x, low, "right"
                )
                with np.errstate(divide="ignore", invalid="ignore"):
                    rise = (np.interp(high, self.x, self.y) - np.interp(low, self.x, self.y)) / (
                        high - low
                    )
                steepest = np.where(inside | ~np.isfinite(rise), np.inf, rise)
            case "exp":
                steepest = np.where(low < 0, np.exp(np.minimum(high, 0.0)), self.factor)
                corner = (low < 0) & (high > 0) & (self.factor < 1.0)
                return steepest * slope, np.where(corner, np.inf, steepest * (curved + slope**2))
        if self.kind in ("logit", "jump"):
            steepest = np.full(slope.shape, np.inf)
        with np.errstate(invalid="ignore"):  # 0 * inf: unknown
            after = steepest * curved
        bent = np.where(np.isinf(steepest), np.inf, np.nan_to_num(after, nan=np.inf))
        return np.where(np.isinf(steepest), np.inf, steepest * slope), bent


Bends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Curve:
    """Rising function of one number.

    Attributes
    ----------
    steps : functions that are applied in turn; the identity if empty.
    width : largest difference between the input that the library computes and the exact one.
    """

    steps: tuple[Step, ...] = ()
    width: float = 0.0

    def limits(self, exact: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the library's values, float64 (n,) each."""
        low, high = exact - self.width, exact + self.width
        for step in self.steps:
            (low, below), (high, above) = step.of(low), step.of(high)
            low, high = low - below, high + above
        return low, high

    def bends(self, points: FloatArray) -> FloatArray:
        """Return bounds on the limits' second derivative between points, float64 (n_points - 1,).

        Unknown bounds are inf.
        """
        worst = np.zeros(points.size - 1)
        for way in (-1.0, 1.0):
            slope, curved = np.ones_like(worst), np.zeros_like(worst)
            inputs = points + way * self.width
            for step in self.steps:
                slope, curved = step.bends(inputs, slope, curved)
                exact, error = step.of(inputs)
                inputs = exact + way * error
            worst = np.maximum(worst, curved)
        return worst

    def knots(self, low: float, high: float) -> FloatArray:
        """Return points on both sides of each bend or jump of a limit, float64 (n,), ascending."""
        corners = [np.zeros(0)]
        for depth, step in enumerate(self.steps):
            if step.kind in ("points", "jump", "exp"):
                for way in (-1.0, 1.0):
                    at = np.zeros(1) if step.x is None else step.x
                    for earlier in reversed(self.steps[:depth]):
                        at = earlier.back(at, way)
                    corners.append(at - way * self.width)
        knots = np.concatenate(corners)
        near = BESIDE * np.spacing(np.abs(knots))
        knots = np.concatenate([knots - near, knots, knots + near])
        return np.unique(knots[(knots > low) & (knots < high)])

    def between(self, bound: float, low: float, high: float, upper: bool) -> tuple[float, float]:
        """Return two close numbers between which a limit of the curve reaches ``bound``."""
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if self.limits(np.array([middle]))[int(upper)][0] >= bound:
                high = middle
            else:
                low = middle
        return low, high


def sigmoid_of(steepness: float, error: float, width: float = 0.0) -> Curve:
    """Return the curve of the sigmoid of a number times ``steepness``."""
    scale = Step("scale", steepness, error=STEP_TERMS * DOUBLE)
    return Curve((scale, Step("sigmoid", error=error)), width)


def odds_of(slope: float) -> Curve:
    """Return the exponential of a number up to 0, which goes on with a slope of 0 or 1."""
    return Curve((Step("exp", slope, error=STEP_TERMS * DOUBLE),))


def vote_of(width: float) -> Curve:
    """Return the curve of a vote: 1 where a number is at least 0, else 0."""
    return Curve((Step("jump"),), width)


@dataclass(frozen=True, eq=False)
class Term:
    """Weight times a curve of the minimum of leads.

    Attributes
    ----------
    weight : factor of the curve, not 0.
    curve : function of the minimum.
    leads : coefficients of each lead, float64 (n_leads, n_sums). Lead j is
        ``leads[j] @ sums - offset[j]``.
    offset : offset of each lead, float64 (n_leads,).
    minimum : kind of minimum, "smooth" for ``-log(sum of exp(-lead))``. Both kinds of a single lead
        are the lead itself.
    """

    weight: float
    curve: Curve
    leads: FloatArray
    offset: FloatArray
    minimum: Literal["smooth", "plain"] = "smooth"

    @property
    def votes(self) -> bool:
        """True if the term is a vote, which is either cast or not."""
        return any(step.kind == "jump" for step in self.curve.steps)

    def inner(self, leads: FloatArray) -> FloatArray:
        """Return the minimum of each row's leads, float64 (n_rows,)."""
        least: FloatArray = leads.min(axis=1)
        if self.minimum == "plain" or leads.shape[1] == 1:
            return least
        return np.asarray(least - np.log(np.exp(least[:, None] - leads).sum(axis=1)))

    def limits(self, sums: FloatArray, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the term, float64 (n_rows,) each."""
        least = self.inner(sums @ self.leads.T - self.offset)
        shift = band * float(np.abs(self.leads).sum(axis=1).max())
        low, high = self.curve.limits(least - shift)[0], self.curve.limits(least + shift)[1]
        if self.weight < 0:
            low, high = high, low
        return self.weight * low, self.weight * high


@dataclass(frozen=True, eq=False)
class Expression:
    """Sum of a linear part, a constant and terms."""

    linear: FloatArray  # factors of the sums, float64 (n_sums,)
    constant: float = 0.0  # constant summand
    terms: tuple[Term, ...] = ()  # nonlinear summands
    error: float = 0.0  # absolute rounding error of the library outside of the curves
    nested: tuple["Nested", ...] = ()  # curves of other expressions

    @property
    def curved(self) -> bool:
        """True if the expression is not linear."""
        return bool(self.terms or self.nested)

    def limits(self, sums: FloatArray, band: float = 0.0) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the expression, float64 (n_rows,) each."""
        middle = sums @ self.linear + self.constant
        slack = band * float(np.abs(self.linear).sum()) + self.error
        low, high = middle - slack, middle + slack
        sides = [term.limits(sums, band) for term in self.terms]
        sides += [each.limits(sums, band) for each in self.nested]
        for below, above in sides:
            low, high = low + below, high + above
        return low, high

    def times(self, weight: float) -> "Expression":
        """Return the expression times a factor."""
        terms = tuple(replace(term, weight=term.weight * weight) for term in self.terms)
        nested = tuple(replace(each, weight=each.weight * weight) for each in self.nested)
        return Expression(
            self.linear * weight,
            self.constant * weight,
            terms if weight else (),
            self.error * abs(weight),
            nested if weight else (),
        )

    def plus(self, other: "Expression") -> "Expression":
        """Return the sum of two expressions; terms of the same curve are merged."""
        terms = list(self.terms)
        for term in other.terms:
            for at, existing in enumerate(terms):
                if existing.curve is term.curve and existing.leads is term.leads:
                    terms[at] = replace(existing, weight=existing.weight + term.weight)
                    break
            else:
                terms.append(term)
        nonzero = tuple(term for term in terms if term.weight != 0.0)
        return Expression(
            self.linear + other.linear,
            self.constant + other.constant,
            nonzero,
            self.error + other.error,
            _merged((*self.nested, *other.nested)),
        )


@dataclass(frozen=True, eq=False)
class Nested:
    """Weight times a curve of an expression.

    Attributes
    ----------
    weight : factor of the curve, not 0.
    curve : function of the expression.
    inner : the expression, without nested ones.
    """

    weight: float
    curve: Curve
    inner: Expression

    def limits(self, sums: FloatArray, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the term, float64 (n_rows,) each."""
        least, most = self.inner.limits(sums, band)
        low, high = self.curve.limits(least)[0], self.curve.limits(most)[1]
        if self.weight < 0:
            low, high = high, low
        return self.weight * low, self.weight * high


def _merged(nested: Sequence[Nested]) -> tuple[Nested, ...]:
    """Return curves of distinct expressions, with the sum of their weights."""
    by_inner: dict[int, Nested] = {}
    for each in nested:
        same = by_inner.get(id(each.inner))
        weight = each.weight + (0.0 if same is None else same.weight)
        by_inner[id(each.inner)] = replace(each, weight=weight)
    return tuple(each for each in by_inner.values() if each.weight != 0.0)


def among(shares: Sequence[Expression], n_sums: int, first: int) -> tuple[Expression, ...]:
    """Return expressions over ``n_sums`` sums, of which theirs begin at ``first``."""
    padded: dict[int, FloatArray] = {}  # by id: merging terms compares arrays by identity

    def placed(array: FloatArray) -> FloatArray:
        if id(array) not in padded:
            after = n_sums - first - array.shape[-1]
            padded[id(array)] = np.pad(array, [(0, 0)] * (array.ndim - 1) + [(first, after)])
        return padded[id(array)]

    inner: dict[int, Expression] = {}  # by id, for the same reason

    def moved(share: Expression) -> Expression:
        if id(share) not in inner:
            inner[id(share)] = Expression(
                placed(share.linear),
                share.constant,
                tuple(replace(term, leads=placed(term.leads)) for term in share.terms),
                share.error,
                tuple(replace(each, inner=moved(each.inner)) for each in share.nested),
            )
        return inner[id(share)]

    return tuple(moved(share) for share in shares)


@dataclass(frozen=True, eq=False)
class Blend:
    """Link that computes the outputs of several classes from several sums of leaves.

    Attributes
    ----------
    shares : output of each class as an expression over the sums.
    error : absolute rounding error of the library when it adds up the shares.
    decides : whether the class with the largest output wins; otherwise sums are compared.
    counts : whether outputs are votes rather than probabilities.
    total : sum of all outputs, 0 if it is not fixed.
    total_error : largest difference between the library's sum of outputs and ``total``.
    compared : numbers whose largest decides the class, if they are not the outputs.
    score : link of the raw score, if the sums decide.
    scored : whether ``score`` is the raw score although outputs decide.
    normalisation : function from all outputs to probabilities; None if outputs are probabilities,
        or if there are none.
    """

    shares: tuple[Expression, ...]
    error: float = 0.0
    decides: bool = True
    counts: bool = False
    total: float = 0.0
    total_error: float = 0.0
    compared: tuple[Expression, ...] = ()
    score: Link = field(default_factory=lambda: Link("mean"))
    scored: bool = False
    normalisation: Normalisation | None = None
    kind: str = "blend"

    @property
    def n_classes(self) -> int:
        """Number of outputs."""
        return len(self.shares)

    def of_output(self, n_sums: int, output: int) -> "Blend":
        """Return the blend itself: its outputs differ in their expressions, not in the link."""
        del n_sums, output
        return self

    @property
    def raw(self) -> "Blend | Link":
        """Link of the raw scores: votes, or the sum that is compared."""
        if self.decides and not self.scored:
            return replace(self, normalisation=None)
        return self.score

    @property
    def probable(self) -> bool:
        """True if outputs lie between 0 and 1."""
        return not self.counts

    @property
    def has_probabilities(self) -> bool:
        """True if probabilities follow from the outputs."""
        return not self.counts or self.normalisation is not None

    def limits(self, sums: FloatArray, output: int, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the library's output, float64 (n_rows,) each."""
        normalisation = self.normalisation
        if normalisation is None:
            low, high = self.shares[output].limits(sums, band)
            return low - self.error, high + self.error
        sides = [share.limits(sums, band) for share in self.shares]
        lowest = np.column_stack([low for low, _ in sides]) - self.error
        highest = np.column_stack([high for _, high in sides]) + self.error
        return normalisation.limits(lowest, highest, output)

    def at_least(self, output: int, low: float, margin: float) -> tuple[Expression, float]:
        """Return an expression, and the minimum that it has where an output is at least ``low``."""
        share, room, normalisation = self.shares[output], margin - self.error, self.normalisation
        if normalisation is None:
            return share, low + room
        if normalisation.kind == "sigmoid":
            return share, normalisation.link.least(low, self.n_classes, margin > 0) + room
        if normalisation.kind == "softmax":
            lead = normalisation.link.least(low, self.n_classes, margin > 0) + margin
            if math.isinf(lead):
                return share, lead
            return self._odds(output, lead, 1.0).times(-1.0), -1.0
        return self._above_ratio(output, low + margin), -self._slack

    def at_most(self, output: int, high: float, margin: float) -> tuple[Expression, float]:
        """Return an expression, and the minimum that it has where an output is at most ``high``."""
        share, room, normalisation = self.shares[output], margin - self.error, self.normalisation
        below = share.times(-1.0)
        if normalisation is None:
            return below, room - high
        if normalisation.kind == "sigmoid":
            return below, room - normalisation.link.most(high, self.n_classes, margin > 0)
        if normalisation.kind == "softmax":
            lead = normalisation.link.most(high, self.n_classes, margin > 0) - margin
            return (below, -lead) if math.isinf(lead) else (self._odds(output, lead, 0.0), 1.0)
        return self._above_ratio(output, high - margin).times(-1.0), -self._slack

    def _odds(self, output: int, lead: float, slope: float) -> Expression:
        """Return the sum of ``exp(score - score of the output + lead)`` over all other classes.

        It is at most 1 where the output leads the smooth maximum of the others by ``lead``. So
        exponentials above 1 may be replaced by any number above 1: a line with a slope of 1 for
        convexity, or 1 itself.
        """
        every, curve = Expression(np.zeros(self.shares[output].linear.size)), odds_of(slope)
        for rival in range(self.n_classes):
            if rival != output:
                behind = self.shares[rival].plus(self.shares[output].times(-1.0))
                moved = replace(
                    behind,
                    constant=behind.constant + lead,
                    error=behind.error + 2.0 * self.error,
                )
                every = replace(every, nested=(*every.nested, Nested(1.0, curve, moved)))
        return every

    def _above_ratio(self, output: int, ratio: float) -> Expression:
        """Return the difference between an output and its ratio of the sum of all outputs."""
        above = self.shares[output].times(1.0 - ratio)
        for at, share in enumerate(self.shares):
            above = above if at == output else above.plus(share.times(-ratio))
        return above

    @property
    def _slack(self) -> float:
        """Bound on the rounding of an output and of its ratio to the sum of all."""
        assert self.normalisation is not None
        return self.normalisation.error(self.n_classes) + self.n_classes * self.error

    def leads(self, output: int, low: float, margin: float) -> list[tuple[Expression, float]]:
        """Return expressions and their minima that follow from a softmax of at least ``low``.

        The output leads each rival at least as far as the smooth maximum. It leads the mean of the
        rivals further, by the logarithm of their number: an exponential is convex.
        """
        normalisation = self.normalisation
        if normalisation is None or normalisation.kind != "softmax":
            return []
        least = normalisation.link.least(low, self.n_classes, margin > 0) + margin
        rivals = [rival for rival in range(self.n_classes) if rival != output]
        leads = [self.lead(output, rival) for rival in rivals]
        count, needed = float(len(rivals)), least - 2.0 * self.error
        mean = reduce(Expression.plus, leads).times(1.0 / count)
        more = (1.0 - STEP_TERMS * DOUBLE) * math.log(count)
        return [(lead, needed) for lead in leads] + [(mean, needed + more)]

    def lead(self, target: int, rival: int) -> Expression:
        """Return the difference between the compared numbers of two classes."""
        compared = self.compared or self.shares
        return compared[target].plus(compared[rival].times(-1.0))

    def implied(self, target: int, margin: float) -> list[tuple[Expression, float]]:
        """Return expressions and their minima that follow from all leads; they tighten bounds.

        A rival's output is the total less all other outputs, and the largest output is at least the
        mean. Both give sums of outputs without a difference.
        """
        if self.total == 0.0 or self.n_classes == 2:
            return []
        others = [c for c in range(self.n_classes) if c != target]
        every = self.shares[target].times(float(self.n_classes))
        implied = [(every, self.total - self.total_error + len(others) * margin)]
        for rival in others:
            rest = self.shares[target].times(2.0)
            for third in others:
                rest = rest if third == rival else rest.plus(self.shares[third])
            implied.append((rest, self.total - self.total_error + margin))
        return implied

    def outputs(self, sums: FloatArray) -> FloatArray:
        """Return approximations of the compared numbers, float64 (n_rows, n_classes)."""
        sides = [share.limits(sums) for share in self.compared or self.shares]
        return np.column_stack([(low + high) / 2 for low, high in sides])

    def clear(self, sums: FloatArray, band: FloatArray) -> BoolArray:
        """Return whether the largest output leads despite all rounding errors, bool (n_rows,)."""
        best = self.outputs(sums).argmax(axis=1)
        sure = np.ones(len(sums), dtype=np.bool_)
        slack = float(band.max(initial=0.0))
        for target in range(self.n_classes):
            rows = np.flatnonzero(best == target)
            for rival in range(self.n_classes):
                if rival != target and rows.size:
                    low, _ = self.lead(target, rival).limits(sums[rows], slack)
                    ahead = low - 2.0 * self.error
                    sure[rows] &= (ahead >= 0.0) if self._wins(target, rival) else (ahead > 0.0)
        return sure

    def needed(self, target: int, rival: int) -> float:
        """Return the smallest lead with which the library may prefer one class to another."""
        if self.error == 0.0 and not self._wins(target, rival):
            return SMALLEST_VOTE
        return -2.0 * self.error

    def _wins(self, target: int, rival: int) -> bool:
        """Return whether the target wins a tie of exact outputs: the first of the largest wins."""
        return self.error == 0.0 and target < rival


SMALLEST_VOTE = 0.5  # less than the smallest difference between counts of votes
