"""Rising functions of one number, as libraries compute them: between which limits, how curved.

A curve is a chain of steps, such as a sigmoid, then a calibrator. Each step knows what its library
may round. The two limits of a curve rise, too; so between two points it is within their limits.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from encoders.arrays import FloatArray
from encoders.trees.rounding import DOUBLE

StepKind = Literal["scale", "sigmoid", "logit", "points", "jump"]
STEP_TERMS = 8.0  # roundings of a product, a sum, and of an interpolation
BESIDE = 64.0  # last bits to each side of a corner
BISECTIONS = 120
STEEPEST, MOST_CURVED = 0.25, 0.1  # of a sigmoid: its slope, and its second derivative


@dataclass(frozen=True, eq=False)
class Step:
    """One function of a chain.

    Attributes
    ----------
    kind : str
        "scale": ``factor * x + shift``, "sigmoid", "logit": of a probability with ``shift`` added
        to both shares, "points": linear between points, "jump": 0 below 0 and else 1.
    factor : of a scale, at least 0
    shift : of a scale or a logit
    error : what the library may round, absolute; of a scale and a logit a share of its numbers
    x, y : float64 (n_points,), ascending, of points
    """

    kind: StepKind
    factor: float = 1.0
    shift: float = 0.0
    error: float = 0.0
    x: FloatArray | None = None
    y: FloatArray | None = None

    def of(self, given: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The exact value, and what the library's may be off by."""
        match self.kind:
            case "scale":
                found = self.factor * given + self.shift
                return found, self.error * (np.abs(self.factor * given) + abs(self.shift))
            case "sigmoid":
                small = np.exp(-np.abs(given))
                share = np.where(given >= 0, 1.0 / (1.0 + small), small / (1.0 + small))
                return share, np.full(share.shape, self.error)
            case "logit":
                share = np.clip(given, 0.0, 1.0)
                found = np.log(share + self.shift) - np.log(1.0 - share + self.shift)
                return found, self.error * (1.0 + np.abs(found))
            case "points":
                assert self.x is not None and self.y is not None
                found = np.interp(given, self.x, self.y)
                return found, np.full(found.shape, self.error)
            case "jump":
                return (given >= 0.0).astype(np.float64), np.zeros(given.shape)

    def back(self, taken: FloatArray, way: float) -> FloatArray:
        """About what the step was given where a limit of it is so; not finite where it never is."""
        with np.errstate(all="ignore"):
            match self.kind:
                case "scale":
                    moved = taken - self.shift - way * self.error * abs(self.shift)
                    return moved / (1.0 + way * self.error * np.sign(moved)) / self.factor
                case "sigmoid":
                    moved = taken - way * self.error
                    return np.log(moved) - np.log1p(-moved)
                case "logit":
                    return 1.0 / (1.0 + np.exp(-taken))
        return np.full(taken.shape, np.inf)

    def bends(self, given: FloatArray, slope: FloatArray, curved: FloatArray) -> "Bends":
        """Slope and curvature of the chain up to this step between neighbouring points."""
        low, high = given[:-1], given[1:]
        match self.kind:
            case "scale":
                steepest = self.factor * (1.0 + self.error)
                return steepest * slope, steepest * curved
            case "sigmoid":
                nearest = np.where((low <= 0) & (high >= 0), 0.0, np.minimum(abs(low), abs(high)))
                flat = np.exp(-nearest)
                own, bent = np.minimum(flat, STEEPEST), np.minimum(flat, MOST_CURVED)
                return own * slope, own * curved + bent * slope**2
            case "points":
                assert self.x is not None and self.y is not None
                inside = np.searchsorted(self.x, high, "left") > np.searchsorted(
                    self.x, low, "right"
                )
                with np.errstate(divide="ignore", invalid="ignore"):
                    rise = (np.interp(high, self.x, self.y) - np.interp(low, self.x, self.y)) / (
                        high - low
                    )
                own = np.where(inside | ~np.isfinite(rise), np.inf, rise)
        if self.kind in ("logit", "jump"):
            own = np.full(slope.shape, np.inf)
        with np.errstate(invalid="ignore"):  # 0 * inf: nothing is known
            after = own * curved
        bent = np.where(np.isinf(own), np.inf, np.nan_to_num(after, nan=np.inf))
        return np.where(np.isinf(own), np.inf, own * slope), bent


Bends = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Curve:
    """A rising function of one number.

    Attributes
    ----------
    steps : are taken one after the other; none leaves the number as it is
    width : how far the number, as the library computes it, may be from the exact one
    """

    steps: tuple[Step, ...] = ()
    width: float = 0.0

    def limits(self, exact: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Between which numbers the library's value is."""
        low, high = exact - self.width, exact + self.width
        for step in self.steps:
            (low, below), (high, above) = step.of(low), step.of(high)
            low, high = low - below, high + above
        return low, high

    def bends(self, points: FloatArray) -> FloatArray:
        """How curved its limits are at most between neighbouring points, float64 (n_points - 1,).

        Infinite where it is not known.
        """
        worst = np.zeros(points.size - 1)
        for way in (-1.0, 1.0):
            slope, curved = np.ones_like(worst), np.zeros_like(worst)
            given = points + way * self.width
            for step in self.steps:
                slope, curved = step.bends(given, slope, curved)
                found, error = step.of(given)
                given = found + way * error
            worst = np.maximum(worst, curved)
        return worst

    def knots(self, low: float, high: float) -> FloatArray:
        """Points on both sides of where a limit bends or jumps, float64 (n_knots,), rising."""
        found = [np.zeros(0)]
        for depth, step in enumerate(self.steps):
            if step.kind in ("points", "jump"):
                for way in (-1.0, 1.0):
                    at = np.zeros(1) if step.x is None else step.x
                    for earlier in reversed(self.steps[:depth]):
                        at = earlier.back(at, way)
                    found.append(at - way * self.width)
        there = np.concatenate(found)
        near = BESIDE * np.spacing(np.abs(there))
        there = np.concatenate([there - near, there, there + near])
        return np.unique(there[(there > low) & (there < high)])

    def between(self, bound: float, low: float, high: float, upper: bool) -> tuple[float, float]:
        """Two numbers close together between which a limit of the curve comes to ``bound``."""
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            if self.limits(np.array([middle]))[int(upper)][0] >= bound:
                high = middle
            else:
                low = middle
        return low, high


def sigmoid_of(steepness: float, error: float, width: float = 0.0) -> Curve:
    """The sigmoid of a number times its steepness."""
    scale = Step("scale", steepness, error=STEP_TERMS * DOUBLE)
    return Curve((scale, Step("sigmoid", error=error)), width)


def vote_of(width: float) -> Curve:
    """1 where a number is at least 0, else 0."""
    return Curve((Step("jump"),), width)
