"""scikit-learn's ``BaggingClassifier``: an average of trees or forests on parts of the columns."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.link import Link
from encoders.trees.members import Member, Reader, answer_unit, averages, ballots, summed, thawed
from encoders.trees.refusals import no_leaf_sum, require_fitted


def read_bagging(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``BaggingClassifier``.

    Probabilities of members are added in float64 and divided by their number, votes of members
    that have no probabilities are counted with them; the first of the largest wins
    (``sklearn/ensemble/_bagging.py``, _parallel_predict_proba and predict). Members see columns
    ``estimators_features_``, which may repeat, and maybe not all classes.

    Parameters
    ----------
    model : fitted
    read : reads a member

    Raises
    ------
    UnsupportedModelError
        Not fitted, or a member whose answer is no sum of its leaves.
    """
    require_fitted(model, "estimators_")
    # Its predict goes through as many; set_params may have lowered the number since.
    estimators = model.estimators_[: model.n_estimators]
    pairs = zip(estimators, model.estimators_features_, strict=False)
    members = [_member(estimator, columns, model, read) for estimator, columns in pairs]
    count = float(model.n_estimators)
    whole = summed(members, int(model.n_features_in_), len(model.classes_), count)
    return replace(whole, link=Link("mean", divisor=count))


def _member(estimator: Any, features: Any, model: Any, read: Reader) -> Member:
    member = thawed(estimator)
    votes = not hasattr(member, "predict_proba")
    if not votes and not averages(member):
        raise no_leaf_sum(model, member)
    ensemble = read(member)
    columns = np.asarray(features, dtype=np.int64)
    classes = np.asarray(member.classes_)
    n_classes = len(model.classes_)
    if not np.isin(classes, np.arange(n_classes)).all():
        raise UnsupportedModelError(
            "a member of the BaggingClassifier was fitted on other labels than its own; fit the "
            "BaggingClassifier again."
        )
    classes = classes.astype(np.int64)
    if votes:
        ballot = ballots(member, ensemble, classes, n_classes, won=1.0)
        return Member(ballot, columns, np.arange(n_classes))
    return Member(ensemble, columns, classes, whole=answer_unit(ensemble))
