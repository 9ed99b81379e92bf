"""Reader of ``CalibratedClassifierCV``: a threshold on one score, or a mean of curves."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.blend import Blend, Expression, Term
from encoders.trees.calibration import Turn, calibrated_curve, calibrated_lead, turn_of
from encoders.trees.curve import STEP_TERMS, Step
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_lightgbm import lightgbm_steepness
from encoders.trees.from_xgboost import xgboost_booster, xgboost_objective
from encoders.trees.kinds import kind_of
from encoders.trees.link import MEAN, Link
from encoders.trees.members import Member, Reader, answer_unit, averages, blended
from encoders.trees.refusals import require_fitted
from encoders.trees.rounding import DOUBLE, LINK, SINGLE, Rounding, rounding_of
from encoders.trees.shares import both
from encoders.trees.wrappers import predictor

PLAIN_SIGMOID = ("sigmoid", 0.0)  # an offset means that a probability threshold was set
CALIBRATION_TERMS = 4  # roundings of the score's division and of the threshold's conversion
SEVERAL_CLASSES = (
    "a CalibratedClassifierCV of several classes calibrates each class separately, which is not a "
    "sum of leaves. Explain calibrated_classifiers_[0].estimator instead."
)
OTHER_LABELS = (
    "the {} inside the CalibratedClassifierCV was fitted on other labels than the calibration. Fit "
    "both on the same labels."
)
BLENDED = (
    "a CalibratedClassifierCV cannot be read over this {}, whose members have separate sums. "
    "Calibrate the members, and combine them with VotingClassifier(voting='soft')."
)
NO_SCORE = (
    "a CalibratedClassifierCV can only be read over one tree ensemble that classifies by its "
    "score, not over this {}. {}."
)
SCORED = {  # by library, the settings of models with a supported score
    "xgboost": "Train it with objective='binary:logistic'",
    "catboost": "Train it with loss_function='Logloss' and a probability threshold of 0.5",
    "lightgbm": "Train it with objective='binary'",
}


@dataclass(frozen=True)
class Response:
    """Output of a model that is the input of its calibrator.

    Attributes
    ----------
    leads : whether the output is class 1's lead over class 0 rather than class 1's share.
    unit : leaf score per unit of the output, before the link.
    steepness : factor of the score in a sigmoid, 0 without a sigmoid.
    dtype : type of the output, float32 or float64.
    """

    leads: bool
    unit: float
    steepness: float
    dtype: np.dtype[Any]

    def before(self, sign: float) -> tuple[Step, ...]:
        """Return the steps from a leaf score to the calibrator's input, both times ``sign``."""
        unit = SINGLE if self.dtype == np.float32 else DOUBLE
        error = STEP_TERMS * unit
        scale = Step("scale", (self.steepness or 1.0) / self.unit, error=error)
        if not self.steepness:
            return (scale,)
        shares = (scale, Step("sigmoid", error=2.0 * LINK * unit))
        return shares if sign > 0 else (*shares, Step("scale", 1.0, -1.0, error))


@dataclass(frozen=True)
class Threshold:
    """Decision in units of leaf scores: class 1 where ``sign * score - at`` is 0 or more.

    Attributes
    ----------
    response : input of the calibrator.
    sign : factor of the score, 1.0 or -1.0.
    at : threshold of the signed score.
    width : distance from ``at`` within which the calibrator's rounding decides.
    grid : grid as in :class:`Rounding`, if sums of leaves are exact and none is within the width.
    """

    response: Response
    sign: float
    at: float
    width: float
    grid: float


def read_calibrated(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``CalibratedClassifierCV`` of two classes over one model.

    Its ``predict`` takes the class with the larger calibrated probability, the first one on a tie
    (``sklearn/calibration.py``). The decision is monotone in the calibrator's input: the model's
    ``decision_function`` if it has one, else class 1's probability.
    """
    require_fitted(model, "calibrated_classifiers_")
    if len(model.classes_) == 2 and len(model.calibrated_classifiers_) > 1:
        return _averaged(model, read)
    member, threshold = calibrated_threshold(model, read)
    sign = threshold.sign
    score, bias = _one_score(member, threshold.response.leads)
    score = np.column_stack([np.zeros(len(score)), sign * score])
    bias_of_1 = sign * bias - threshold.at
    if threshold.grid:
        rounding = Rounding(0.0, threshold.grid, upper_wins=True)
    else:
        magnitude = np.array([0.0, abs(bias) + abs(threshold.at)])
        terms = CALIBRATION_TERMS
        added = rounding_of(score, member.root, magnitude, terms=terms, may_be_exact=False)
        band = added.band + member.rounding.band + threshold.width
        rounding = Rounding(band, 0.0, upper_wins=True)
    return replace(
        member,
        score=frozen(score),
        bias=frozen(np.array([0.0, bias_of_1])),
        votes=False,
        margin_unit=answer_unit(member),
        rounding=rounding,
        link=_probabilities(model.calibrated_classifiers_[0], member, threshold),
    )


def _averaged(model: Any, read: Reader) -> Ensemble:
    """Read several calibrated models (``ensemble=True``): the mean of their probabilities."""
    pairs, members = model.calibrated_classifiers_, []
    for pair in pairs:
        member, response = _below(model, pair, read)
        sign = _sign(pair)
        width = max(member.rounding.band, member.rounding.sums)
        lead = sign * np.array([[-1.0 if response.leads else 0.0, 1.0]])
        curve = calibrated_curve(pair, response.before(sign), sign, response.dtype, width)
        upper = Expression(np.zeros(2), 0.0, (Term(1.0, curve, lead, np.zeros(1)),))
        sums = Member(member, np.arange(2))
        members.append((sums, [add.times(1.0 / len(pairs)) for add in both(upper)]))
    error = DOUBLE * (len(pairs) + MEAN)
    return blended(members, lambda shares: Blend(tuple(shares), error))


def _probabilities(pair: Any, member: Ensemble, threshold: Threshold) -> Blend:
    """Return the blend of calibrated probabilities, over sums that include the threshold."""
    sign, response = threshold.sign, threshold.response
    bias = float(np.abs(member.bias).sum()) + abs(threshold.at)
    width = max(member.rounding.band, member.rounding.sums) + CALIBRATION_TERMS * DOUBLE * bias
    curve = calibrated_curve(pair, response.before(sign), sign, response.dtype, width)
    lead = Term(1.0, curve, np.array([[0.0, 1.0]]), np.array([-threshold.at]))
    return Blend(both(Expression(np.zeros(2), 0.0, (lead,))), MEAN * DOUBLE, decides=False)


def _sign(pair: Any) -> float:
    """Return -1 if low scores are class 1, else 1."""
    return -1.0 if pair.method == "sigmoid" and pair.calibrators[0].a_ > 0 else 1.0


def calibrated_threshold(model: Any, read: Reader) -> tuple[Ensemble, Threshold]:
    """Return the ensemble of the calibrated model, and the threshold on its score."""
    require_fitted(model, "calibrated_classifiers_")
    if len(model.calibrated_classifiers_) != 1:
        raise UnsupportedModelError(SEVERAL_CLASSES)
    pair = model.calibrated_classifiers_[0]
    member, response = _below(model, pair, read)
    score, bias = _one_score(member, response.leads)
    reach = float(np.maximum.reduceat(np.abs(score), member.root).sum()) + abs(bias)
    lead = calibrated_lead(pair, not hasattr(predictor(pair.estimator), "decision_function"))
    low, high = _range(pair, response, reach)
    turn = turn_of(pair, lead, low, high, response.dtype)
    return member, _threshold(turn, response, member, reach)


def _below(model: Any, pair: Any, read: Reader) -> tuple[Ensemble, Response]:
    """Return the ensemble of a calibrated model, and the input of its calibrator."""
    if len(model.classes_) != 2:
        raise UnsupportedModelError(SEVERAL_CLASSES)
    below, member = predictor(pair.estimator), read(pair.estimator)
    # Temperature scaling uses positions of classes: the model may have numbers for text labels.
    alike = (
        len(below.classes_) == 2
        if pair.method == "temperature"
        else np.array_equal(below.classes_, model.classes_)
    )
    if not alike:
        raise UnsupportedModelError(OTHER_LABELS.format(type(below).__name__))
    if member.blend is not None:
        raise UnsupportedModelError(BLENDED.format(type(below).__name__))
    return member, _response(below, member)


def _response(below: Any, member: Ensemble) -> Response:
    """Return the calibrator's input as scikit-learn's ``_get_response_values`` chooses it."""
    package = kind_of(below).library
    double = np.dtype(np.float64)
    if averages(below):
        return Response(False, answer_unit(member), 0.0, double)
    if hasattr(below, "decision_function"):
        # LightGBM's decision_function is never averaged, whatever its boosting type.
        unit = 1.0 if package == "lightgbm" else member.margin_unit
        return Response(True, unit, 0.0, double)
    if package == "lightgbm":
        return Response(True, member.margin_unit, lightgbm_steepness(below), double)
    if package == "xgboost" and xgboost_objective(xgboost_booster(below)) == "binary:logistic":
        return Response(True, 1.0, 1.0, np.dtype(np.float32))
    link = member.link
    if (
        package == "catboost"
        and isinstance(link, Link)
        and (link.kind, link.offset) == PLAIN_SIGMOID
    ):
        return Response(True, 1.0, 1.0, double)
    advice = SCORED.get(package, "Calibrate a forest or gradient boosting of trees")
    raise UnsupportedModelError(NO_SCORE.format(type(below).__name__, advice))


def _one_score(member: Ensemble, leads: bool) -> tuple[FloatArray, float]:
    """Return each node's contribution to the score, float64 (n_nodes,), and the bias."""
    if leads:
        return member.score[:, 1] - member.score[:, 0], float(member.bias[1] - member.bias[0])
    return member.score[:, 1], float(member.bias[1])


def _range(pair: Any, response: Response, reach: float) -> tuple[float, float]:
    """Return an interval of scores that is wider than the scores of all rows."""
    if response.steepness or (not response.leads and pair.method == "temperature"):
        return 0.0, 1.0
    if not response.leads:
        return -0.5, 1.5
    most = 1.5 * reach / response.unit + 1.0
    return -most, most


def _threshold(turn: Turn, response: Response, member: Ensemble, reach: float) -> Threshold:
    sign, unit = turn.sign, response.unit
    if response.steepness:
        lower = _raw(turn.lower, -1.0, sign, response) * unit / response.steepness
        upper = _raw(turn.upper, 1.0, sign, response) * unit / response.steepness
        beyond = 1.5 * reach + 1.0
        lower, upper = (float(np.clip(end, -beyond, beyond)) for end in (lower, upper))
    else:
        lower, upper = turn.lower * unit, turn.upper * unit
        grid = member.rounding.grid
        if grid:  # sums are multiples of the grid: find the first multiple of class 1
            first, surely = (_first_sum(end, unit, grid) for end in (turn.lower, turn.upper))
            if first == surely:
                return Threshold(response, sign, first * grid, 0.0, grid)
    return Threshold(response, sign, (lower + upper) / 2, (upper - lower) / 2, 0.0)


def _first_sum(score: float, unit: float, grid: float) -> int:
    """Return the least integer ``k`` with ``k * grid / unit >= score``, divided as the library."""
    k = math.floor(score * unit / grid) - 2
    while k * grid / unit < score:
        k += 1
    return k


def _raw(turn: float, side: float, sign: float, response: Response) -> float:
    """Return a signed raw score, times steepness, whose sigmoid is surely beyond ``turn``."""
    unit = SINGLE if response.dtype == np.float32 else DOUBLE
    share = sign * turn * (1.0 + sign * side * LINK * unit)
    if share <= 0.0:
        return -sign * math.inf
    if share >= 1.0:
        return sign * math.inf
    return sign * (math.log(share) - math.log1p(-share))
