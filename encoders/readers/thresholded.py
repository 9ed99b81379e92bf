"""Reader of scikit-learn's classifiers whose threshold was set or tuned."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import is_pipeline, unwrapped
from encoders.readers.limit import ResponseLimit
from encoders.readers.read import native_leaves, native_scores, read_alone
from encoders.readers.reader import Reader, ReadMember, reader_of
from encoders.readers.refusals import require_fitted
from encoders.readers.response_limit import (
    cut_of,
    decided,
    raw_score,
)
from encoders.trees.ensemble import Ensemble


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
        needed = "one above 0 and up to 1" if probable else "a finite one"
        raise UnsupportedModelError(
            f"this {type(model).__name__} predicts the same class for every row, because of its "
            f"threshold {limit:g}. Set {needed}."
        )
    return ResponseLimit(float(limit), 1 if label is None else classes.index(label), probable)


def read_thresholded(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``FixedThresholdClassifier`` or ``TunedThresholdClassifierCV``.

    ``predict`` returns the positive class where the response is at least the threshold
    (``sklearn/metrics/_scorer.py``, _threshold_scores_to_class_labels). Probabilities are those of
    the estimator (``sklearn/model_selection/_classification_threshold.py``).
    """
    return decided(model, model.estimator_, read(model.estimator_), threshold_of(model))


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
        member = read_alone(model.estimator_)
        sums = native_scores(model.estimator_, rows, member.margin_unit)
        return cut_of(model, model.estimator_, member, threshold_of(model)).beyond(sums)

    def limit(self, model: Any) -> ResponseLimit:
        """Return the threshold."""
        return threshold_of(model)

    def takes_arrays(self, model: Any) -> bool:
        """Return whether the estimator does, which gets the rows as they are."""
        below = unwrapped(model.estimator_)
        return not is_pipeline(below) and reader_of(below).takes_arrays(below)

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the raw score of the estimator; that of the first class is the negated score."""
        score = raw_score(model.estimator_, rows)
        return score if output == 1 else -score


READERS: dict[str, Reader] = dict.fromkeys(
    ("FixedThresholdClassifier", "TunedThresholdClassifierCV"), ThresholdedReader()
)
