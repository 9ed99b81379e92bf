"""scikit-learn's ``CalibratedClassifierCV`` over one model: a threshold on that model's score."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.calibration import Turn, calibrated_lead, turn_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_lightgbm import lightgbm_steepness
from encoders.trees.from_xgboost import xgboost_booster, xgboost_objective
from encoders.trees.link import Link
from encoders.trees.members import Reader, answer_unit, averages, thawed
from encoders.trees.refusals import MEMBERS_OF_SETS, require_fitted
from encoders.trees.rounding import DOUBLE, LINK, SINGLE, Rounding, rounding_of

CALIBRATION_TERMS = 4  # the division that makes the score, and the threshold's way back
SEVERAL_CLASSES = (
    "a CalibratedClassifierCV of several classes calibrates each by itself, which is no sum of "
    "leaves; explain the model below it, calibrated_classifiers_[0].estimator."
)
SEVERAL_FITS = (
    "the CalibratedClassifierCV averages {} models that were calibrated apart, which is no sum of "
    "leaves; fit it with ensemble=False."
)
NO_SCORE = (
    "a CalibratedClassifierCV can be read over one tree ensemble that classifies by its score, and "
    "not over this {}; calibrate a forest or a boosting of trees."
)


@dataclass(frozen=True)
class Response:
    """What of a model its calibrator sees.

    Attributes
    ----------
    leads : whether it is class 1's lead over class 0, and else class 1's share
    unit : leaf score per unit of it, before the link
    steepness : factor of the score in a sigmoid; 0 without one
    dtype : of its numbers
    """

    leads: bool
    unit: float
    steepness: float
    dtype: np.dtype[Any]


@dataclass(frozen=True)
class Threshold:
    """The decision in units of leaf scores: class 1 where ``sign * score - at`` is 0 or more.

    Attributes
    ----------
    leads : as in :class:`Response`
    sign, at : see above
    width : how far around ``at`` the calibrator's own rounding decides
    grid : as in :class:`Rounding`, if sums of leaves are exact and none lies within the width
    """

    leads: bool
    sign: float
    at: float
    width: float
    grid: float


def read_calibrated(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``CalibratedClassifierCV`` of two classes over one model.

    Its ``predict`` takes the class with the larger calibrated probability, the first one on a tie
    (``sklearn/calibration.py``). That is monotone in what the calibrator sees: the model's
    ``decision_function`` if it has one, else class 1's probability.

    Parameters
    ----------
    model : fitted, with ``ensemble=False``, over a ``FrozenEstimator``, or of a single fold
    read : reads the model below

    Raises
    ------
    UnsupportedModelError
        Not fitted, several classes or folds, or a model below that is not read or has no score.
    """
    member, threshold = calibrated_threshold(model, read)
    sign = threshold.sign
    score, bias = _one_score(member, threshold.leads)
    score = np.column_stack([np.zeros(len(score)), sign * score])
    bias_of_1 = sign * bias - threshold.at
    if threshold.grid:
        rounding = Rounding(0.0, threshold.grid, upper_wins=True)
    else:
        magnitude = np.array([0.0, abs(bias) + abs(threshold.at)])
        terms = CALIBRATION_TERMS
        own = rounding_of(score, member.root, magnitude, terms=terms, may_be_exact=False)
        band = own.band + member.rounding.band + threshold.width
        rounding = Rounding(band, 0.0, upper_wins=True)
    return replace(
        member,
        score=frozen(score),
        bias=frozen(np.array([0.0, bias_of_1])),
        votes=False,
        margin_unit=answer_unit(member),
        rounding=rounding,
        link=Link(),  # its probabilities are the calibrator's, which is followed at ½ only
    )


def calibrated_threshold(model: Any, read: Reader) -> tuple[Ensemble, Threshold]:
    """The model below as read, and the threshold that calibration puts on its score.

    Parameters
    ----------
    model, read : as in :func:`read_calibrated`

    Raises
    ------
    UnsupportedModelError
        As :func:`read_calibrated`.
    """
    require_fitted(model, "calibrated_classifiers_")
    if len(model.classes_) != 2:
        raise UnsupportedModelError(SEVERAL_CLASSES)
    if len(model.calibrated_classifiers_) != 1:
        raise UnsupportedModelError(SEVERAL_FITS.format(len(model.calibrated_classifiers_)))
    pair = model.calibrated_classifiers_[0]
    below = thawed(pair.estimator)
    member = read(below)
    if member.sets is not None:
        raise UnsupportedModelError(MEMBERS_OF_SETS)
    if not np.array_equal(below.classes_, model.classes_):
        raise UnsupportedModelError(NO_SCORE.format(type(below).__name__))
    response = _response(below, member)
    score, bias = _one_score(member, response.leads)
    reach = float(np.maximum.reduceat(np.abs(score), member.root).sum()) + abs(bias)
    lead = calibrated_lead(pair, not hasattr(below, "decision_function"))
    low, high = _range(pair, response, reach)
    turn = turn_of(pair, lead, low, high, response.dtype)
    return member, _threshold(turn, response, member, reach)


def _response(below: Any, member: Ensemble) -> Response:
    """See :class:`Response`; as ``_get_response_values`` of scikit-learn takes it."""
    package = type(below).__module__.split(".")[0]
    double = np.dtype(np.float64)
    if averages(below):
        return Response(False, answer_unit(member), 0.0, double)
    if hasattr(below, "decision_function"):
        # LightGBM's is not averaged, whatever its boosting.
        unit = 1.0 if package == "lightgbm" else member.margin_unit
        return Response(True, unit, 0.0, double)
    if package == "lightgbm":
        return Response(True, member.margin_unit, lightgbm_steepness(below), double)
    if package == "xgboost" and xgboost_objective(xgboost_booster(below)) == "binary:logistic":
        return Response(True, 1.0, 1.0, np.dtype(np.float32))
    raise UnsupportedModelError(NO_SCORE.format(type(below).__name__))


def _one_score(member: Ensemble, leads: bool) -> tuple[FloatArray, float]:
    """Of each node what it adds to the score, float64 (n_nodes,), and the bias."""
    if leads:
        return member.score[:, 1] - member.score[:, 0], float(member.bias[1] - member.bias[0])
    return member.score[:, 1], float(member.bias[1])


def _range(pair: Any, response: Response, reach: float) -> tuple[float, float]:
    """Where scores can be, with room on both sides, so that what is beyond is never reached."""
    if response.steepness or (not response.leads and pair.method == "temperature"):
        return 0.0, 1.0
    if not response.leads:
        return -0.5, 1.5
    most = 1.5 * reach / response.unit + 1.0
    return -most, most


def _threshold(turn: Turn, response: Response, member: Ensemble, reach: float) -> Threshold:
    leads, sign, unit = response.leads, turn.sign, response.unit
    if response.steepness:
        lower = _raw(turn.lower, -1.0, sign, response) * unit / response.steepness
        upper = _raw(turn.upper, 1.0, sign, response) * unit / response.steepness
        beyond = 1.5 * reach + 1.0
        lower, upper = (float(np.clip(end, -beyond, beyond)) for end in (lower, upper))
    else:
        lower, upper = turn.lower * unit, turn.upper * unit
        grid = member.rounding.grid
        if grid:  # the sums that there are lie apart: which is the first of class 1?
            first, surely = (_first_sum(end, unit, grid) for end in (turn.lower, turn.upper))
            if first == surely:
                return Threshold(leads, sign, first * grid, 0.0, grid)
    return Threshold(leads, sign, (lower + upper) / 2, (upper - lower) / 2, 0.0)


def _first_sum(score: float, unit: float, grid: float) -> int:
    """The least whole number ``k`` with ``k * grid / unit >= score``, as the library divides."""
    k = math.floor(score * unit / grid) - 2
    while k * grid / unit < score:
        k += 1
    return k


def _raw(turn: float, side: float, sign: float, response: Response) -> float:
    """A raw score, signed and steep, that the sigmoid surely takes beyond ``turn`` on that side."""
    unit = SINGLE if response.dtype == np.float32 else DOUBLE
    share = sign * turn * (1.0 + sign * side * LINK * unit)
    if share <= 0.0:
        return -sign * math.inf
    if share >= 1.0:
        return sign * math.inf
    return sign * (math.log(share) - math.log1p(-share))
