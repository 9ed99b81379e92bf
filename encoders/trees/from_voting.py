"""Reader of scikit-learn's ``VotingClassifier``: averages of probabilities, or votes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import UnsupportedModelError
from encoders.trees.blend import Blend
from encoders.trees.ensemble import Ensemble
from encoders.trees.kinds import kind_of
from encoders.trees.link import MEAN, Link
from encoders.trees.members import (
    Member,
    Reader,
    answer_unit,
    averages,
    ballots,
    blended,
    summed,
)
from encoders.trees.refusals import no_leaf_sum, require_fitted
from encoders.trees.rounding import DOUBLE, SINGLE
from encoders.trees.shares import shares_of, total_error, votes_of
from encoders.trees.wrappers import predictor


def read_voting(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``VotingClassifier``.

    Soft voting averages the members' probabilities in float64, with weights if there are some. Hard
    voting adds up the weights of the members that predict a class. The first of the largest wins
    (``sklearn/ensemble/_voting.py``, predict and predict_proba). Members are fitted on indices of
    classes. Dropped members and their weights do not count.
    """
    require_fitted(model, "estimators_")
    weights = _weights(model)
    estimators = [predictor(estimator) for estimator in model.estimators_]
    if model.voting == "hard":
        _check_votes(estimators)
    read_once = {id(estimator): read(estimator) for estimator in model.estimators_}
    ensembles = [read_once[id(estimator)] for estimator in model.estimators_]
    if not _summable(model, estimators, ensembles):
        return _blended(model, estimators, ensembles, weights)
    member = _soft if model.voting == "soft" else _hard
    triples = zip(estimators, ensembles, weights.tolist(), strict=True)
    members = [member(*triple, model) for triple in triples]
    # Hard voting has no score: the unit is one vote.
    unit = float(weights.sum()) if model.voting == "soft" else 1.0
    whole = summed(members, len(model.classes_), unit)
    if model.voting == "soft":
        return replace(whole, link=Link("mean", divisor=unit))
    return replace(whole, votes=model.weights is None)


def _weights(model: Any) -> FloatArray:
    user_weights = model._weights_not_none  # weights of the members that are not dropped
    n_members = len(model.estimators_)
    if user_weights is None:
        weights = np.ones(n_members)
    else:
        weights = np.asarray(user_weights, dtype=np.float64)
    # np.bincount omits classes above the last one with a vote, which would beat negative sums.
    least = 0.0 if model.voting == "hard" else -np.inf
    total = weights.sum()
    if weights.size != n_members or not np.isfinite(total) or total <= 0 or weights.min() < least:
        raise UnsupportedModelError(
            f"the VotingClassifier's weights {weights.tolist()} do not define an average. Give "
            "each member one weight of at least 0, with a positive sum."
        )
    return weights


def _summable(model: Any, estimators: Sequence[Any], ensembles: Sequence[Ensemble]) -> bool:
    """Return whether one sum over all leaves decides: averages, or votes of single trees."""
    if model.voting == "soft":
        pairs = zip(estimators, ensembles, strict=True)
        return all(averages(e) and not isinstance(read.link, Blend) for e, read in pairs)
    return all(ensemble.root.size == 1 for ensemble in ensembles)


def _blended(
    model: Any, estimators: Sequence[Any], ensembles: Sequence[Ensemble], weights: FloatArray
) -> Ensemble:
    n_classes, soft = len(model.classes_), model.voting == "soft"
    members = []
    for estimator, ensemble, weight in zip(estimators, ensembles, weights.tolist(), strict=True):
        classes = np.asarray(estimator.classes_)
        if not np.isin(classes, np.arange(n_classes)).all() or (soft and classes.size != n_classes):
            raise _other_labels()
        if soft:
            adds = shares_of(estimator, ensemble)
        else:
            adds = votes_of(ensemble, classes.astype(np.int64), n_classes)
        if adds is None:
            raise no_leaf_sum(model, estimator)
        factor = weight / float(weights.sum()) if soft else weight
        every = Member(ensemble, np.arange(ensemble.n_sums))
        members.append((every, [add.times(factor) for add in adds]))
    counted = not soft and bool((weights == np.rint(weights)).all())
    single = soft and _narrow(model) and all(_single(e.link) for e in ensembles)
    rounded = (SINGLE if single else DOUBLE) * (len(members) + MEAN)
    size = float(np.abs(weights).sum()) / (float(weights.sum()) if soft else 1.0)
    error = 0.0 if counted else rounded * size
    off = total_error(ensembles) if soft else 0.0
    total = 0.0 if off is None else 1.0 if soft else float(weights.sum())
    missed = (off or 0.0) * size + 2.0 * error
    whole = blended(
        members,
        lambda shares: Blend(tuple(shares), error, True, not soft, total, missed),
    )
    return replace(whole, votes=not soft and model.weights is None)


def _narrow(model: Any) -> bool:
    """Return whether weighted float32 probabilities are float32."""
    weights = model._weights_not_none
    return weights is None or np.result_type(np.float32, np.asarray(weights).dtype) == np.float32


def _single(link: Link | Blend) -> bool:
    """Return whether a member's probabilities are float32."""
    return isinstance(link, Link) and link.unit == SINGLE


def _soft(estimator: Any, ensemble: Ensemble, weight: float, model: Any) -> Member:
    n_classes = len(model.classes_)
    if ensemble.n_classes != n_classes:
        raise _other_labels()
    return Member(ensemble, np.arange(n_classes), weight, answer_unit(ensemble))


def _hard(estimator: Any, ensemble: Ensemble, weight: float, model: Any) -> Member:
    n_classes = len(model.classes_)
    classes = np.asarray(estimator.classes_)
    if not np.isin(classes, np.arange(n_classes)).all():
        raise _other_labels()
    ballot = ballots(estimator, ensemble, classes.astype(np.int64), n_classes, won=weight)
    return Member(ballot, np.arange(n_classes))


def _check_votes(estimators: Sequence[Any]) -> None:
    """Raise UnsupportedModelError if VotingClassifier.predict cannot count the members' labels."""
    if any(kind_of(e).name == "CatBoostClassifier" and len(e.classes_) > 2 for e in estimators):
        raise UnsupportedModelError(
            "scikit-learn cannot count the votes of a CatBoostClassifier with three or more "
            "classes, whose predict returns a 2-dimensional array. Use "
            'VotingClassifier(voting="soft").'
        )


def _other_labels() -> UnsupportedModelError:
    return UnsupportedModelError(
        "a member of the VotingClassifier was fitted on labels that the VotingClassifier does not "
        "have. Fit the VotingClassifier on the unfitted members."
    )
