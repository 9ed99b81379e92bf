"""Rising functions of one number, with bounds on the computed values and on curvature.

A curve is a chain of steps, such as a sigmoid, then a calibrator. Each step has a bound on the
rounding of its library. Both limits of a curve rise as well, so between two points the curve is
within the limits of these points.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoders.arrays import FloatArray
from encoders.trees.rounding import DOUBLE

StepKind = Literal["scale", "sigmoid", "logit", "points", "jump"]
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
        below 0 and 1 from there on.
    factor : factor of a scale, at least 0.
    shift : summand of a scale or a logit.
    error : absolute rounding error of the library; relative for a scale and a logit.
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
                return steepest * slope, steepest * curved + bent * slope**2
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
            if step.kind in ("points", "jump"):
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


def vote_of(width: float) -> Curve:
    """Return the curve of a vote: 1 where a number is at least 0, else 0."""
    return Curve((Step("jump"),), width)
