"""Where a calibrator of one score turns from class 0 to class 1, in floats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.trees.curve import STEP_TERMS, Curve, Step
from encoders.trees.rounding import DOUBLE, LINK, SINGLE

Lead = Callable[[FloatArray], FloatArray]

NO_LOG_OF_0 = 1e-12  # scikit-learn adds it to probabilities before it takes logarithms
NEAR = 32.0  # roundings that may stand between a computed lead and one that is monotone


@dataclass(frozen=True)
class Turn:
    """A decision about one score ``s``: class 1 where ``sign * s`` is large.

    Attributes
    ----------
    sign : 1.0, or -1.0 where low scores are class 1
    lower : below it the class is 0
    upper : from it on the class is 1; rounding decides what is between the two
    """

    sign: float
    lower: float
    upper: float


def calibrated_lead(pair: Any, sees_probability: bool) -> Lead:
    """What the calibrator itself makes of scores: class 1's probability less class 0's.

    As in ``sklearn/calibration.py``, _CalibratedClassifier.predict_proba.
    """
    calibrator = pair.calibrators[0]

    def lead(score: FloatArray) -> FloatArray:
        if pair.method == "temperature":
            given = score.reshape(-1, 1)
            if sees_probability:
                given = np.concatenate([1 - given, given], axis=1)
            both = np.asarray(calibrator.predict(given), dtype=np.float64)
            return both[:, 1] - both[:, 0]
        share = np.asarray(calibrator.predict(score), dtype=np.float64)
        share = np.where((share > 1.0) & (share <= 1.0 + 1e-5), 1.0, share)
        return share - (1.0 - share)

    return lead


def calibrated_curve(
    pair: Any, before: tuple[Step, ...], sign: float, dtype: np.dtype[Any], width: float
) -> Curve:
    """Class 1's probability as a rising curve of a leaf score times ``sign``.

    As in ``sklearn/calibration.py``: ``expit(-(a_ * score + b_))``, linear between the points of an
    isotonic regression, ``softmax(beta_ * logits)``.
    """
    calibrator = pair.calibrators[0]
    unit = SINGLE if dtype == np.float32 else DOUBLE
    scale_error, error = STEP_TERMS * unit, 2.0 * LINK * unit
    own: tuple[Step, ...]
    if pair.method == "sigmoid":
        a, b = float(calibrator.a_), float(calibrator.b_)
        own = (Step("scale", abs(a), -b, scale_error), Step("sigmoid", error=error))
    elif pair.method == "isotonic":
        points = (np.asarray(p, dtype=np.float64) for p in (calibrator.X_thresholds_,
                                                            calibrator.y_thresholds_))  # fmt: skip
        x, y = points
        own = (Step("points", error=error * (1.0 + float(np.abs(y).max())), x=x, y=y),)
    else:
        sees_probability = not hasattr(pair.estimator, "decision_function")
        beta = float(np.ravel(calibrator.beta_)[0])
        logits = Step("logit", shift=NO_LOG_OF_0, error=scale_error) if sees_probability else None
        steep = Step("scale", beta if sees_probability else 2.0 * beta, error=scale_error)
        own = (*([logits] if logits else []), steep, Step("sigmoid", error=error))
    return Curve((*before, *own), width)


def turn_of(pair: Any, lead: Lead, low: float, high: float, dtype: np.dtype[Any]) -> Turn:
    """Find by bisection over the floats where the decision turns.

    Sigmoids and softmaxes are monotone but for their rounding: two bisections, for a lead a little
    below and a little above 0, enclose all scores about which rounding decides. An isotonic
    regression is monotone to the last bit between two of its points, since it only subtracts,
    multiplies and adds there; so if its decisions at the points and right beside them are in order,
    there is one score at which it turns, flat parts and ties included.
    """
    ends = lead(np.array([low, high], dtype=dtype))
    sign = 1.0 if ends[1] >= ends[0] else -1.0
    least, most = (low, high) if sign > 0 else (-high, -low)

    def first(bound: float) -> float:
        return _first(
            lambda t: bool(lead(np.array([sign * t], dtype=dtype))[0] > bound), least, most, dtype
        )

    points = getattr(pair.calibrators[0], "X_thresholds_", None)
    if points is not None and sign > 0 and _in_order(lead, points, dtype):
        at = first(0.0)
        return Turn(sign, at, at)
    near = NEAR * float(np.finfo(dtype).eps)
    return Turn(sign, first(-near), first(near))


def _in_order(lead: Lead, points: FloatArray, dtype: np.dtype[Any]) -> bool:
    points = points.astype(dtype)
    sides = [np.nextafter(points, dtype.type(side)) for side in (-np.inf, np.inf)]
    wins = lead(np.unique(np.concatenate([points, *sides]))) > 0
    return bool((np.diff(wins.astype(np.int64)) >= 0).all())


def _first(
    holds: Callable[[float], bool], least: float, most: float, dtype: np.dtype[Any]
) -> float:
    """The least float from ``least`` on for which it holds; the one after ``most`` if none does."""
    below, at = _rank(least, dtype) - 1, _rank(most, dtype) + 1
    while at - below > 1:
        middle = (at + below) // 2
        if holds(_ranked(middle, dtype)):
            at = middle
        else:
            below = middle
    return _ranked(at, dtype)


def _rank(value: float, dtype: np.dtype[Any]) -> int:
    """Floats of a type are as many whole numbers, in order."""
    whole = np.int64 if dtype == np.float64 else np.int32
    bits = int(np.abs(dtype.type(value)).view(whole))
    return bits if value >= 0 else -bits


def _ranked(rank: int, dtype: np.dtype[Any]) -> float:
    whole = np.int64 if dtype == np.float64 else np.int32
    value = float(whole(abs(rank)).view(dtype))
    return value if rank >= 0 else -value
