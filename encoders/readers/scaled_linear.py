"""Linear models behind scalers, as one linear model of the numbers before these."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import (
    is_pipeline,
    kind_of,
    last_step,
    require_inherited,
    steps_before,
    unwrapped,
)
from encoders.readers.linear import LinearScores, linear_of

CLIPPED = (
    "a step of the final estimator is a {}, which is not a linear function of the outputs of the "
    "members. Use StandardScaler, MinMaxScaler without clip, MaxAbsScaler or RobustScaler there."
)


def scaled_linear_of(final: Any, unit: float) -> LinearScores:
    """Return the scores of a linear model, or of a pipeline of scalers that ends with one.

    ``unit`` is the unit roundoff of the numbers before the scalers.
    """
    final = unwrapped(final)
    if not is_pipeline(final):
        return linear_of(final)
    require_inherited(final)
    scores = scaled_linear_of(last_step(final), unit)
    steps = [each for _, step in steps_before(final) for each in _in_turn(step)]
    for step in reversed(steps):
        scores = _behind(scores, *_affine(step, scores.factors.shape[1]), unit)
    return scores


def _in_turn(step: Any) -> list[Any]:
    """Return the steps of a pipeline of scalers; any other step alone."""
    if not is_pipeline(step):
        return [] if step is None or step == "passthrough" else [step]
    require_inherited(step)
    return [each for _, inner in step.steps for each in _in_turn(inner)]


def _behind(
    scores: LinearScores, factor: FloatArray, shift: FloatArray, unit: float
) -> LinearScores:
    """Return the scores of the numbers before a scaler, which maps x to ``factor * x + shift``."""
    factors = scores.factors
    return replace(
        scores,
        factors=factors * factor,
        constants=scores.constants + factors @ shift,
        unit=max(scores.unit, unit),
        shifts=scores.shifts + float((np.abs(factors) @ np.abs(shift)).max()),
        scalers=scores.scalers + 1,
    )


def _affine(step: Any, width: int) -> tuple[FloatArray, FloatArray]:
    """Return factor and shift of each column of a scaler; UnsupportedModelError for other steps."""
    kind = kind_of(step)
    if kind.library != "sklearn" or kind.name not in SCALERS or getattr(step, "clip", False):
        raise UnsupportedModelError(CLIPPED.format(type(step).__name__))
    require_inherited(step)
    scale, center = np.ones(width), np.zeros(width)
    match kind.name:
        case "MinMaxScaler":
            return np.asarray(step.scale_, np.float64), np.asarray(step.min_, np.float64)
        case "StandardScaler":
            scale = step.scale_ if step.with_std else scale
            center = step.mean_ if step.with_mean else center
        case "RobustScaler":
            scale = step.scale_ if step.with_scaling else scale
            center = step.center_ if step.with_centering else center
        case "MaxAbsScaler":
            scale = step.scale_
    factor = 1.0 / np.asarray(scale, np.float64)
    return factor, -np.asarray(center, np.float64) * factor


SCALERS = ("StandardScaler", "RobustScaler", "MaxAbsScaler", "MinMaxScaler")
