"""The score at which a calibrated binary classifier turns from class 0 to class 1, in floats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.trees.curve import STEP_TERMS, Curve, Step
from encoders.trees.rounding import DOUBLE, LINK, SINGLE

Lead = Callable[[FloatArray], FloatArray]

NO_LOG_OF_0 = 1e-12  # scikit-learn adds it to probabilities before it takes logarithms
NEAR = 32.0  # unit roundoffs by which a computed lead may differ from a monotone one


@dataclass(frozen=True)
class Turn:
    """Decision about one score ``s``: class 1 where ``sign * s`` is large.

    Attributes
    ----------
    sign : factor of the score, 1.0, or -1.0 where low scores are class 1.
    lower : limit of ``sign * s`` below which the class is 0.
    upper : limit of ``sign * s`` from which the class is 1; rounding decides between the two.
    """

    sign: float
    lower: float
    upper: float


def calibrated_lead(pair: Any, sees_probability: bool) -> Lead:
    """Return the function from scores to class 1's calibrated probability less class 0's.

    It computes as _CalibratedClassifier.predict_proba in ``sklearn/calibration.py`` does.
    """
    calibrator = pair.calibrators[0]

    def lead(score: FloatArray) -> FloatArray:
        if pair.method == "temperature":
            inputs = score.reshape(-1, 1)
            if sees_probability:
                inputs = np.concatenate([1 - inputs, inputs], axis=1)
            both = np.asarray(calibrator.predict(inputs), dtype=np.float64)
            return both[:, 1] - both[:, 0]
        share = np.asarray(calibrator.predict(score), dtype=np.float64)
        share = np.where((share > 1.0) & (share <= 1.0 + 1e-5), 1.0, share)
        return share - (1.0 - share)

    return lead


def calibrated_curve(
    pair: Any, before: tuple[Step, ...], sign: float, dtype: np.dtype[Any], width: float
) -> Curve:
    """Return class 1's probability as a rising curve of a leaf score times ``sign``.

    The functions of ``sklearn/calibration.py``: ``expit(-(a_ * score + b_))``, linear between the
    points of an isotonic regression, and ``softmax(beta_ * logits)``.
    """
    calibrator = pair.calibrators[0]
    unit = SINGLE if dtype == np.float32 else DOUBLE
    scale_error, error = STEP_TERMS * unit, 2.0 * LINK * unit
    steps: tuple[Step, ...]
    if pair.method == "sigmoid":
        a, b = float(calibrator.a_), float(calibrator.b_)
        steps = (Step("scale", abs(a), -b, scale_error), Step("sigmoid", error=error))
    elif pair.method == "isotonic":
        points = (np.asarray(p, dtype=np.float64) for p in (calibrator.X_thresholds_,
                                                            calibrator.y_thresholds_))  # fmt: skip
        x, y = points
        steps = (Step("points", error=error * (1.0 + float(np.abs(y).max())), x=x, y=y),)
    else:
        sees_probability = not hasattr(pair.estimator, "decision_function")
        beta = float(np.ravel(calibrator.beta_)[0])
        logits = Step("logit", shift=NO_LOG_OF_0, error=scale_error) if sees_probability else None
        steep = Step("scale", beta if sees_probability else 2.0 * beta, error=scale_error)
        steps = (*([logits] if logits else []), steep, Step("sigmoid", error=error))
    return Curve((*before, *steps), width)


def turn_of(pair: Any, lead: Lead, low: float, high: float, dtype: np.dtype[Any]) -> Turn:
    """Find the score at which the decision turns, by bisection over the floats.

    Sigmoids and softmaxes are monotone except for rounding. Two bisections, for a lead slightly
    below and slightly above 0, enclose all scores that rounding decides. Between two of its points,
    an isotonic regression is monotone to the last bit: it only subtracts, multiplies and adds. If
    its decisions at all points and their neighbours are in order, it turns at exactly one score.
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
    """Return the first float from ``least`` to ``most`` that holds; the one after, if none does."""
    below, at = _rank(least, dtype) - 1, _rank(most, dtype) + 1
    while at - below > 1:
        middle = (at + below) // 2
        if holds(_ranked(middle, dtype)):
            at = middle
        else:
            below = middle
    return _ranked(at, dtype)


def _rank(value: float, dtype: np.dtype[Any]) -> int:
    """Return the rank of a float among those of its type: neighbours differ by 1, 0 has rank 0."""
    whole = np.int64 if dtype == np.float64 else np.int32
    bits = int(np.abs(dtype.type(value)).view(whole))
    return bits if value >= 0 else -bits


def _ranked(rank: int, dtype: np.dtype[Any]) -> float:
    whole = np.int64 if dtype == np.float64 else np.int32
    value = float(whole(abs(rank)).view(dtype))
    return value if rank >= 0 else -value
