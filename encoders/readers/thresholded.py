"""Reader of scikit-learn's classifiers whose threshold was set or tuned."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import is_pipeline, predictor, unwrapped
from encoders.readers.read import native_leaves, native_scores, native_values, read_ensemble
from encoders.readers.reader import Reader, ReadMember, averages, reader_of
from encoders.readers.refusals import require_fitted
from encoders.readers.score_cut import TERMS, ScoreCut, first_sum, reach_of
from encoders.readers.shares import answer_unit, both
from encoders.trees.arithmetic import DOUBLE, MEAN, Link
from encoders.trees.blend import Blend, Expression
from encoders.trees.ensemble import Ensemble

FARTHEST = 1.5  # share of the reach of scores to which infinite thresholds are cut


@dataclass(frozen=True)
class ResponseLimit:
    """Limit of a response from which the positive class is predicted.

    Attributes
    ----------
    limit : least response of the positive class.
    positive : index of the positive class, 0 or 1.
    probable : whether the response is the probability of the positive class. Otherwise it is
        ``decision_function``, negated if the positive class is the first one.
    """

    limit: float
    positive: int
    probable: bool

    @property
    def sign(self) -> float:
        """1.0 if a large response is class 1, else -1.0."""
        return 1.0 if self.positive == 1 else -1.0


def threshold_of(model: Any) -> ResponseLimit:
    """Return the threshold that ``predict`` applies (``_classification_threshold.py``)."""
    require_fitted(model, "estimator_")
    estimator, method = model.estimator_, model.response_method
    if method == "auto":
        method = "predict_proba" if hasattr(estimator, "predict_proba") else "decision_function"
    if not hasattr(estimator, method):
        raise UnsupportedModelError(
            f"this {type(model).__name__} has response_method={method!r}, which its "
            f"{type(estimator).__name__} does not have. Set response_method to 'auto'."
        )
    probable = method == "predict_proba"
    limit = getattr(model, "best_threshold_", getattr(model, "threshold", "auto"))
    if isinstance(limit, str):  # "auto"
        limit = 0.5 if probable else 0.0
    # The positive label of a tuned threshold is that of its scorer.
    scorer = getattr(model, "_curve_scorer", None)
    label = getattr(model, "pos_label", None) if scorer is None else scorer._get_pos_label()
    classes = np.asarray(model.classes_).tolist()
    if label is not None and label not in classes:
        raise UnsupportedModelError(
            f"this {type(model).__name__} has pos_label={label!r}, but its classes are {classes}. "
            "Set pos_label to one of them."
        )
    if not np.isfinite(limit) or (probable and not 0.0 < limit <= 1.0):
        raise _constant(model, limit)
    return ResponseLimit(float(limit), 1 if label is None else classes.index(label), probable)


def read_thresholded(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``FixedThresholdClassifier`` or ``TunedThresholdClassifierCV``.

    ``predict`` returns the positive class where the response is at least the threshold
    (``sklearn/metrics/_scorer.py``, _threshold_scores_to_class_labels). Probabilities are those of
    the estimator (``sklearn/model_selection/_classification_threshold.py``).
    """
    threshold = threshold_of(model)
    member = read(model.estimator_)
    if isinstance(member.link, Blend):
        return _blended(model, member, member.link, threshold)
    cut = cut_of(model, member, threshold)
    return replace(cut.of(member), link=_link(model, member, cut))


def _blended(model: Any, member: Ensemble, link: Blend, threshold: ResponseLimit) -> Ensemble:
    """Return a member whose probability is an expression over its sums, with the threshold."""
    if not threshold.probable or link.counts:
        raise _unknown(model)
    limit = Expression(np.zeros(member.n_sums), threshold.limit)
    share = link.shares[threshold.positive]
    compared = (limit, share) if threshold.positive == 1 else (share, limit)
    return replace(member, link=replace(link, decides=True, compared=compared))


def cut_of(model: Any, member: Ensemble, threshold: ResponseLimit) -> ScoreCut:
    """Return the threshold in units of leaf scores; UnsupportedModelError if it is out of reach."""
    if not threshold.probable:
        cut = _of_score(model, member, threshold)
    elif averages(model.estimator_):
        cut = _of_average(member, threshold)
    else:
        cut = _of_sigmoid(model, member, threshold)
    reach = reach_of(member, cut.weights)
    if not -reach - cut.width <= cut.at <= reach + cut.width:
        raise _constant(model, threshold.limit)
    if threshold.positive == 1:
        return cut
    return replace(cut, weights=-cut.weights, at=-cut.at, upper_wins=False)


def _of_score(model: Any, member: Ensemble, threshold: ResponseLimit) -> ScoreCut:
    """Return the threshold of ``decision_function``."""
    below, link = predictor(model.estimator_), member.link
    if member.n_sums != 2 or isinstance(link, Blend):
        raise _unknown(model)
    unit = reader_of(below).decision_unit(below, member)
    at = threshold.limit * unit - threshold.sign * link.offset
    return ScoreCut(threshold.sign * np.array([-1.0, 1.0]), at, TERMS * DOUBLE * abs(at))


def _of_average(member: Ensemble, threshold: ResponseLimit) -> ScoreCut:
    """Return the threshold of an averaged probability."""
    unit, grid = answer_unit(member), member.rounding.grid
    weights, limit = np.eye(2)[threshold.positive], threshold.limit
    if grid:  # sums are exact
        return ScoreCut(weights, first_sum(limit, unit, grid) * grid, grid=grid)
    at = limit * unit
    return ScoreCut(weights, at, MEAN * DOUBLE * (abs(at) + unit))


def _of_sigmoid(model: Any, member: Ensemble, threshold: ResponseLimit) -> ScoreCut:
    """Return the threshold of a probability that is a sigmoid of one sum or lead."""
    link, n_sums = _as_sigmoid(member), member.n_sums
    if link is None:
        raise _unknown(model)
    link = link.of_output(n_sums, threshold.positive)
    weights = link.weights(n_sums, threshold.positive)
    reach = reach_of(member, weights) + 1.0
    ends = [link.least(threshold.limit, n_sums, sure) for sure in (False, True)]
    least, sure = np.clip(ends, -FARTHEST * reach, FARTHEST * reach).tolist()
    return ScoreCut(weights, (least + sure) / 2, (sure - least) / 2)


def _as_sigmoid(member: Ensemble) -> Link | None:
    """Return the link of two classes as a sigmoid; None if it is none."""
    link = member.link
    if isinstance(link, Blend) or member.n_sums != 2 or link.kind not in ("sigmoid", "softmax"):
        return None
    return replace(link, kind="sigmoid")  # a softmax of two sums is the sigmoid of their lead


def _link(model: Any, member: Ensemble, cut: ScoreCut) -> Link | Blend:
    """Return the link from the sums beyond the threshold to the estimator's outputs."""
    sigmoid = _as_sigmoid(member)
    if sigmoid is not None:
        return replace(sigmoid, offset=sigmoid.offset + cut.at)
    if not averages(model.estimator_) or member.link.kind == "none":
        return Link()
    unit, width = answer_unit(member), max(member.rounding.sums, member.rounding.band)
    above = cut.at / unit + (0.0 if cut.upper_wins else 1.0)
    error = width / unit + (MEAN + member.root.size) * DOUBLE
    upper = Expression(np.array([0.0, 1.0 / unit]), above, error=error)
    raw = Link("mean", divisor=unit, offset=above)
    return Blend(both(upper), MEAN * DOUBLE, decides=False, score=raw)


def _constant(model: Any, limit: float) -> UnsupportedModelError:
    return UnsupportedModelError(
        f"this {type(model).__name__} predicts the same class for every row, because of its "
        f"threshold {limit:g}. Set a threshold that some rows reach and others do not."
    )


def _unknown(model: Any) -> UnsupportedModelError:
    name, below = type(model).__name__, type(predictor(model.estimator_)).__name__
    return UnsupportedModelError(
        f"the threshold of this {name} is on a number of its {below} that is not a supported "
        "function of its leaves. Set a threshold on the probability of trees, forests or boosting."
    )


class ThresholdedReader(Reader):
    """Reader of classifiers whose threshold was set or tuned."""

    reads_members = owns = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_thresholded`."""
        return read_thresholded(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, None, str]]:
        """Yield the estimator."""
        require_fitted(model, "estimator_")
        yield model.estimator_, None, "estimator"

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the estimator."""
        return native_leaves(model.estimator_, rows)

    def scores(self, model: Any, rows: Any, margin_unit: float) -> FloatArray:
        """Return the score of the estimator beyond the threshold."""
        member = read_ensemble(model.estimator_)
        sums = native_scores(model.estimator_, rows, member.margin_unit)
        return cut_of(model, member, threshold_of(model)).beyond(sums)

    def takes_arrays(self, model: Any) -> bool:
        """Return whether the estimator does, which gets the rows as they are."""
        below = unwrapped(model.estimator_)
        return not is_pipeline(below) and reader_of(below).takes_arrays(below)

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the raw score of the estimator."""
        return native_values(model.estimator_, rows, "raw", output)


READERS: dict[str, Reader] = dict.fromkeys(
    ("FixedThresholdClassifier", "TunedThresholdClassifierCV"), ThresholdedReader()
)
