"""scikit-learn's ``VotingClassifier``: an average of forests, or votes of trees."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.link import Link
from encoders.trees.members import Member, Reader, answer_unit, averages, ballots, summed, thawed
from encoders.trees.refusals import no_leaf_sum, require_fitted


def read_voting(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``VotingClassifier``.

    Soft voting averages the members' probabilities in float64, with weights where there are some;
    hard voting adds up the weights of the members that predict a class. The first of the largest
    wins (``sklearn/ensemble/_voting.py``, predict and predict_proba). Members are fitted on the
    numbers of classes; dropped ones and their weights do not count.

    Parameters
    ----------
    model : fitted
    read : reads a member

    Raises
    ------
    UnsupportedModelError
        Not fitted, weights that make no average, probabilities that are no sum of leaves, or votes
        of more than one tree.
    """
    require_fitted(model, "estimators_")
    weights = _weights(model)
    member = _soft if model.voting == "soft" else _hard
    pairs = zip(map(thawed, model.estimators_), weights.tolist(), strict=True)
    members = [member(estimator, weight, model, read) for estimator, weight in pairs]
    # Hard voting has no score of its own: the unit is one vote.
    unit = float(weights.sum()) if model.voting == "soft" else 1.0
    whole = summed(members, members[0].ensemble.n_columns, len(model.classes_), unit)
    if model.voting == "soft":
        return replace(whole, link=Link("mean", divisor=unit))
    return replace(whole, votes=model.weights is None)


def _weights(model: Any) -> FloatArray:
    given = model._weights_not_none  # those of members that are not dropped
    n_members = len(model.estimators_)
    weights = np.ones(n_members) if given is None else np.asarray(given, dtype=np.float64)
    # Counts of votes end at the largest class that got one, so a negative one has no place there.
    least = 0.0 if model.voting == "hard" else -np.inf
    total = weights.sum()
    if weights.size != n_members or not np.isfinite(total) or total <= 0 or weights.min() < least:
        raise UnsupportedModelError(
            "the VotingClassifier's weights do not make an average; give each member one, none "
            "below 0, and their sum above 0."
        )
    return weights


def _soft(estimator: Any, weight: float, model: Any, read: Reader) -> Member:
    if not averages(estimator):
        raise no_leaf_sum(model, estimator)
    ensemble = read(estimator)
    n_classes = len(model.classes_)
    if ensemble.n_classes != n_classes:
        raise _other_labels()
    every, classes = np.arange(ensemble.n_columns), np.arange(n_classes)
    return Member(ensemble, every, classes, weight, answer_unit(ensemble))


def _hard(estimator: Any, weight: float, model: Any, read: Reader) -> Member:
    ensemble = read(estimator)
    n_classes = len(model.classes_)
    classes = np.asarray(estimator.classes_)
    if not np.isin(classes, np.arange(n_classes)).all():
        raise _other_labels()
    ballot = ballots(estimator, ensemble, classes.astype(np.int64), n_classes, won=weight)
    return Member(ballot, np.arange(ensemble.n_columns), np.arange(n_classes))


def _other_labels() -> UnsupportedModelError:
    return UnsupportedModelError(
        "a member of the VotingClassifier was fitted on other labels than its own; fit the "
        "VotingClassifier on the unfitted members."
    )
