"""Reader of scikit-learn's ``BaggingClassifier``: an average of models on parts of the columns."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import IntArray
from encoders.errors import UnsupportedModelError
from encoders.trees.blend import Blend, Expression
from encoders.trees.ensemble import Ensemble
from encoders.trees.link import MEAN, Link
from encoders.trees.members import (
    ColumnReader,
    Member,
    answer_unit,
    averages,
    ballots,
    blended,
    summed,
)
from encoders.trees.refusals import no_leaf_sum, require_fitted
from encoders.trees.rounding import DOUBLE
from encoders.trees.shares import shares_of, total_error, votes_of
from encoders.trees.wrappers import predictor


def read_bagging(model: Any, read: ColumnReader) -> Ensemble:
    """Read a fitted ``BaggingClassifier``.

    Probabilities of members are added in float64 and divided by their number. Members without
    probabilities add a vote instead. The first of the largest sums wins
    (``sklearn/ensemble/_bagging.py``, _parallel_predict_proba and predict). Members read the
    columns ``estimators_features_``, which may repeat, and may lack some of the classes.
    """
    require_fitted(model, "estimators_")
    # predict uses the first n_estimators; set_params may have lowered the number after fit.
    estimators = model.estimators_[: model.n_estimators]
    behind = [predictor(estimator) for estimator in estimators]
    features = [np.asarray(each, dtype=np.int64) for each in model.estimators_features_]
    ensembles = [read(*pair) for pair in zip(estimators, features, strict=False)]
    pairs = list(zip(behind, ensembles, strict=True))
    count = float(model.n_estimators)
    if all(_summable(member, ensemble) for member, ensemble in pairs):
        members = [_member(*pair, model) for pair in pairs]
        whole = summed(members, len(model.classes_), count)
        return replace(whole, link=Link("mean", divisor=count))
    parts = [_part(*pair, model) for pair in pairs]
    error = DOUBLE * (count + MEAN)
    off = total_error(ensembles)
    total, missed = (0.0, 0.0) if off is None else (1.0, off + 2.0 * error)
    return blended(parts, lambda shares: Blend(tuple(shares), error, True, False, total, missed))


def _summable(member: Any, ensemble: Ensemble) -> bool:
    """Return whether a member's probability, or vote if it has none, is a sum of leaves."""
    votes = not hasattr(member, "predict_proba")
    return (votes or averages(member)) and not isinstance(ensemble.link, Blend)


def _part(member: Any, ensemble: Ensemble, model: Any) -> tuple[Member, list[Expression]]:
    """Return a member with separate sums, and the expressions that it adds to each class."""
    classes, n_classes = _classes(member, model), len(model.classes_)
    votes = not hasattr(member, "predict_proba")
    if votes:
        adds: Sequence[Expression] | None = votes_of(ensemble, classes, n_classes)
    else:
        adds = shares_of(member, ensemble)
    if adds is None:
        raise no_leaf_sum(model, member)
    if not votes:
        every = [Expression(np.zeros(ensemble.n_sums)) for _ in range(n_classes)]
        for label, add in zip(classes.tolist(), adds, strict=True):
            every[label] = add
        adds = every
    own_sums = Member(ensemble, np.arange(ensemble.n_sums))
    return own_sums, [add.times(1.0 / float(model.n_estimators)) for add in adds]


def _member(member: Any, ensemble: Ensemble, model: Any) -> Member:
    classes, n_classes = _classes(member, model), len(model.classes_)
    if not hasattr(member, "predict_proba"):
        ballot = ballots(member, ensemble, classes, n_classes, won=1.0)
        return Member(ballot, np.arange(n_classes))
    return Member(ensemble, classes, whole=answer_unit(ensemble))


def _classes(member: Any, model: Any) -> IntArray:
    """Return the index of each of the member's classes among the model's, int64 (n,)."""
    classes = np.asarray(member.classes_)
    if not np.isin(classes, np.arange(len(model.classes_))).all():
        raise UnsupportedModelError(
            "a member of the BaggingClassifier was fitted on labels that the BaggingClassifier "
            "does not have. Fit the BaggingClassifier again."
        )
    return classes.astype(np.int64)
