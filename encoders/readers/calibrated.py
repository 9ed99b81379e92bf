"""Reader of CalibratedClassifierCV: a threshold on one score, or a mean of curves."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import predictor
from encoders.readers.read import leaves_of_members, native_scores, read_alone
from encoders.readers.reader import Reader, ReadMember, averages, reader_of
from encoders.readers.refusals import require_fitted
from encoders.readers.score_cut import TERMS, ScoreCut, first_sum, reach_of
from encoders.readers.shares import answer_unit, both
from encoders.trees.arithmetic import DOUBLE, LINK, MEAN, SINGLE
from encoders.trees.blend import STEP_TERMS, Blend, Curve, Expression, Step, Term
from encoders.trees.ensemble import Ensemble
from encoders.trees.joining import Member, blended

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


@dataclass(frozen=True)
class Response:
    """Output of a model that is the input of its calibrator."""

    leads: bool  # whether the output is class 1's lead over class 0 rather than class 1's share
    unit: float  # leaf score per unit of the output, before the link
    steepness: float  # factor of the score in a sigmoid, 0 without a sigmoid
    dtype: np.dtype[Any]  # type of the output, float32 or float64

    @property
    def weights(self) -> FloatArray:
        """Factors of the two sums in the output, float64 (2,)."""
        return np.array([-1.0 if self.leads else 0.0, 1.0])

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
    """Score that a calibrator reads, and where its decision turns."""

    response: Response
    sign: float  # factor of the score in the decision, 1.0 or -1.0
    cut: ScoreCut


def read_calibrated(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``CalibratedClassifierCV`` of two classes over one model.

    Its ``predict`` takes the class with the larger calibrated probability, the first one on a tie
    (``sklearn/calibration.py``). The decision is monotone in the calibrator's input: the model's
    ``decision_function`` if it has one, else class 1's probability.
    """
    require_fitted(model, "calibrated_classifiers_")
    if len(model.classes_) == 2 and len(model.calibrated_classifiers_) > 1:
        return _averaged(model, read)
    member, threshold = calibrated_threshold(model, read)
    pair = model.calibrated_classifiers_[0]
    return replace(threshold.cut.of(member), link=_probabilities(pair, member, threshold))


def _averaged(model: Any, read: ReadMember) -> Ensemble:
    """Read several calibrated models (``ensemble=True``): the mean of their probabilities."""
    pairs, members = model.calibrated_classifiers_, []
    for pair in pairs:
        member, response = _below(model, pair, read)
        sign = _sign(pair)
        width = max(member.rounding.band, member.rounding.sums)
        lead = sign * response.weights[None, :]
        curve = calibrated_curve(pair, response.before(sign), sign, response.dtype, width)
        upper = Expression(np.zeros(2), 0.0, (Term(1.0, curve, lead, np.zeros(1)),))
        sums = Member(member, np.arange(2))
        members.append((sums, [add.times(1.0 / len(pairs)) for add in both(upper)]))
    error = DOUBLE * (len(pairs) + MEAN)
    return blended(members, lambda shares: Blend(tuple(shares), error))


def _probabilities(pair: Any, member: Ensemble, threshold: Threshold) -> Blend:
    """Return the blend of calibrated probabilities, over sums that include the threshold."""
    sign, response = threshold.sign, threshold.response
    bias = float(np.abs(member.bias).sum()) + abs(threshold.cut.at)
    width = max(member.rounding.band, member.rounding.sums) + TERMS * DOUBLE * bias
    curve = calibrated_curve(pair, response.before(sign), sign, response.dtype, width)
    lead = Term(1.0, curve, np.array([[0.0, 1.0]]), np.array([-threshold.cut.at]))
    return Blend(both(Expression(np.zeros(2), 0.0, (lead,))), MEAN * DOUBLE, decides=False)


def _sign(pair: Any) -> float:
    """Return -1 if low scores are class 1, else 1."""
    return -1.0 if pair.method == "sigmoid" and pair.calibrators[0].a_ > 0 else 1.0


def calibrated_threshold(model: Any, read: ReadMember) -> tuple[Ensemble, Threshold]:
    """Return the ensemble of the calibrated model, and the threshold on its score."""
    require_fitted(model, "calibrated_classifiers_")
    if len(model.calibrated_classifiers_) != 1:
        raise UnsupportedModelError(SEVERAL_CLASSES)
    pair = model.calibrated_classifiers_[0]
    member, response = _below(model, pair, read)
    reach = reach_of(member, response.weights)
    lead = calibrated_lead(pair, not hasattr(predictor(pair.estimator), "decision_function"))
    low, high = _range(pair, response, reach)
    turn = turn_of(pair, lead, low, high, response.dtype)
    return member, _threshold(turn, response, member, reach)


def _below(model: Any, pair: Any, read: ReadMember) -> tuple[Ensemble, Response]:
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
    reader, double = reader_of(below), np.dtype(np.float64)
    if averages(below):
        return Response(False, answer_unit(member), 0.0, double)
    if hasattr(below, "decision_function"):
        return Response(True, reader.decision_unit(below, member), 0.0, double)
    sigmoid = reader.sigmoid_unit(below, member)
    if sigmoid is None:
        raise UnsupportedModelError(
            NO_SCORE.format(type(below).__name__, reader.calibration_remedy)
        )
    return Response(True, *sigmoid)


def _range(pair: Any, response: Response, reach: float) -> tuple[float, float]:
    """Return an interval of scores that is wider than the scores of all rows."""
    if response.steepness or (not response.leads and pair.method == "temperature"):
        return 0.0, 1.0
    if not response.leads:
        return -0.5, 1.5
    most = 1.5 * reach / response.unit + 1.0
    return -most, most


def _threshold(turn: Turn, response: Response, member: Ensemble, reach: float) -> Threshold:
    sign, unit, weights = turn.sign, response.unit, turn.sign * response.weights
    if response.steepness:
        lower = _raw(turn.lower, -1.0, sign, response) * unit / response.steepness
        upper = _raw(turn.upper, 1.0, sign, response) * unit / response.steepness
        beyond = 1.5 * reach + 1.0
        lower, upper = (float(np.clip(end, -beyond, beyond)) for end in (lower, upper))
    else:
        lower, upper = turn.lower * unit, turn.upper * unit
        grid = member.rounding.grid
        if grid:  # sums are multiples of the grid: find the first multiple of class 1
            first, surely = (first_sum(end, unit, grid) for end in (turn.lower, turn.upper))
            if first == surely:
                return Threshold(response, sign, ScoreCut(weights, first * grid, grid=grid))
    return Threshold(response, sign, ScoreCut(weights, (lower + upper) / 2, (upper - lower) / 2))


def _raw(turn: float, side: float, sign: float, response: Response) -> float:
    """Return a signed raw score, times steepness, whose sigmoid is surely beyond ``turn``."""
    unit = SINGLE if response.dtype == np.float32 else DOUBLE
    share = sign * turn * (1.0 + sign * side * LINK * unit)
    if share <= 0.0:
        return -sign * math.inf
    if share >= 1.0:
        return sign * math.inf
    return sign * (math.log(share) - math.log1p(-share))


class CalibratedReader(Reader):
    """Reader of calibrated models of two classes."""

    reads_members = owns = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_calibrated`."""
        return read_calibrated(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, None, str]]:
        """Yield the model of each fold."""
        require_fitted(model, "calibrated_classifiers_")
        for pair in model.calibrated_classifiers_:
            yield pair.estimator, None, "estimator"

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the models of all folds."""
        return leaves_of_members((pair.estimator, rows) for pair in model.calibrated_classifiers_)

    def scores(self, model: Any, rows: Any, margin_unit: float) -> FloatArray:
        """Return the score of the calibrated model beyond its calibrated threshold."""
        member, threshold = calibrated_threshold(model, read_alone)
        below = model.calibrated_classifiers_[0].estimator
        scores = native_scores(below, rows, member.margin_unit)
        return threshold.cut.beyond(scores)


READERS: dict[str, Reader] = {"CalibratedClassifierCV": CalibratedReader()}
