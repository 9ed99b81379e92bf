"""Readers of scikit-learn's bagging, voting and AdaBoost: averages and votes of other models."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, frozen
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import kind_of, predictor
from encoders.readers.layout import as_bagging_passes
from encoders.readers.read import leaves_of_members, native_leaves, read_ensemble
from encoders.readers.reader import Reader, ReadMember, averages
from encoders.readers.refusals import no_leaf_sum, require_fitted
from encoders.readers.shares import answer_unit, ballots, shares_of, total_error, votes_of
from encoders.trees.arithmetic import DOUBLE, MEAN, SINGLE, Link, LinkKind, Rounding
from encoders.trees.blend import Blend, Expression
from encoders.trees.ensemble import Ensemble, as_votes
from encoders.trees.joining import (
    Member,
    blended,
    summed,
)


def read_bagged_regressor(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``BaggingRegressor``.

    Predictions of members are added in their own type and divided by their number
    (``sklearn/ensemble/_bagging.py``, _parallel_predict_regression and predict). Members read the
    columns ``estimators_features_``, which may repeat.
    """
    members = _bagged(model)
    ensembles = [read(member, columns) for member, columns in members]
    links = _links(model, [member for member, _ in members], ensembles)
    weights = np.full(len(members), 1.0 / float(model.n_estimators))
    return _mean(list(zip(ensembles, links, strict=True)), weights, narrow=True)


def read_voting_regressor(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``VotingRegressor``.

    Predictions of members are averaged by ``np.average``, with weights if there are some
    (``sklearn/ensemble/_voting.py``, predict). Dropped members and their weights do not count.
    """
    require_fitted(model, "estimators_")
    members, weights = model.estimators_, _weights_of_members(model)
    total = weights.sum()
    if weights.size != len(members) or not np.isfinite(weights).all() or total == 0:
        raise UnsupportedModelError(
            f"the VotingRegressor's weights {weights.tolist()} do not define an average. Give each "
            "member one finite weight, with a sum other than 0."
        )
    ensembles = [read(member) for member in members]
    parts = list(zip(ensembles, _links(model, members, ensembles), strict=True))
    singles = np.zeros((1, weights.size), dtype=np.float32)
    narrow = np.average(singles, axis=1, weights=model._weights_not_none).dtype == np.float32
    return _mean(parts, weights / total, narrow)


def _links(owner: Any, members: Sequence[Any], ensembles: Sequence[Ensemble]) -> list[Link]:
    """Return the link of each member; UnsupportedModelError unless all predict their sum itself."""
    links = [
        each.link for each in ensembles if isinstance(each.link, Link) and each.link.kind == "mean"
    ]
    if len(links) < len(ensembles) or not all(each.regression for each in ensembles):
        names = ", ".join(sorted({type(predictor(member)).__name__ for member in members}))
        raise UnsupportedModelError(
            f"a {type(owner).__name__} averages predictions, but one of its members ({names}) "
            "predicts a function of its sum, as with a poisson, gamma, tweedie or logistic "
            "objective, or a median or quantile. Use members that predict their sum, as with "
            "squared error."
        )
    return links


def _mean(parts: Sequence[tuple[Ensemble, Link]], weights: FloatArray, narrow: bool) -> Ensemble:
    """Return the weighted sum of members, each with its link.

    ``narrow`` is whether the average of float32 predictions is float32.
    """
    only = np.zeros(1, dtype=np.int64)
    members = [
        Member(each, only, weight, link.divisor)
        for (each, link), weight in zip(parts, weights.tolist(), strict=True)
    ]
    whole = summed(members, 1, 1.0)
    single = narrow and all(link.unit == SINGLE for _, link in parts)
    unit, off = SINGLE if single else DOUBLE, whole.rounding.sums
    for (each, link), weight in zip(parts, np.abs(weights).tolist(), strict=True):
        largest = np.maximum.reduceat(np.abs(each.score[:, 0]), each.root).sum()
        size = float(largest + abs(each.bias[0])) / link.divisor
        rounded = each.rounding.sums / link.divisor + MEAN * link.unit * size
        off += weight * (rounded + (len(parts) + MEAN) * unit * size)
    return replace(
        whole, rounding=Rounding(off, sums=off), link=Link("mean", unit=unit), regression=True
    )


def _bagged(model: Any) -> list[tuple[Any, IntArray]]:
    """Return the members that predict of a bagging uses, each with the columns that it reads."""
    require_fitted(model, "estimators_")
    # predict uses the first n_estimators; set_params may have lowered the number after fit.
    members = model.estimators_[: model.n_estimators]
    columns = [np.asarray(each, dtype=np.int64) for each in model.estimators_features_]
    return list(zip(members, columns, strict=False))


def _weights_of_members(model: Any) -> FloatArray:
    """Return the weights of the members of a voting that are not dropped, 1 without weights."""
    weights = model._weights_not_none
    return np.ones(len(model.estimators_)) if weights is None else np.asarray(weights, np.float64)


def read_bagging(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``BaggingClassifier``.

    Probabilities of members are added in float64 and divided by their number. Members without
    probabilities add a vote instead. The first of the largest sums wins
    (``sklearn/ensemble/_bagging.py``, _parallel_predict_proba and predict). Members read the
    columns ``estimators_features_``, which may repeat, and may lack some of the classes.
    """
    members = _bagged(model)
    ensembles = [read(member, columns) for member, columns in members]
    pairs = [
        (predictor(member), each) for (member, _), each in zip(members, ensembles, strict=True)
    ]
    count = float(model.n_estimators)
    if all(_summable(member, ensemble) for member, ensemble in pairs):
        whole = summed([_member(*pair, model) for pair in pairs], len(model.classes_), count)
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
        raise no_leaf_sum(model, member, _function(ensemble))
    if not votes:
        every = [Expression(np.zeros(ensemble.n_sums)) for _ in range(n_classes)]
        for label, add in zip(classes.tolist(), adds, strict=True):
            every[label] = add
        adds = every
    own_sums = Member(ensemble, np.arange(ensemble.n_sums))
    return own_sums, [add.times(1.0 / float(model.n_estimators)) for add in adds]


def _function(ensemble: Ensemble) -> str | None:
    """Return the kind of function of other numbers that a model's probabilities are, or None."""
    normalisation = ensemble.link.normalisation if isinstance(ensemble.link, Blend) else None
    return None if normalisation is None else normalisation.kind


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


def read_voting(model: Any, read: ReadMember) -> Ensemble:
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
    if not _one_sum(model, estimators, ensembles):
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
    weights, n_members = _weights_of_members(model), len(model.estimators_)
    # np.bincount omits classes above the last one with a vote, which would beat negative sums.
    least = 0.0 if model.voting == "hard" else -np.inf
    total = weights.sum()
    if weights.size != n_members or not np.isfinite(total) or total <= 0 or weights.min() < least:
        raise UnsupportedModelError(
            f"the VotingClassifier's weights {weights.tolist()} do not define an average. Give "
            "each member one weight of at least 0, with a positive sum."
        )
    return weights


def _one_sum(model: Any, estimators: Sequence[Any], ensembles: Sequence[Ensemble]) -> bool:
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
            raise no_leaf_sum(model, estimator, _function(ensemble))
        factor = weight / float(weights.sum()) if soft else weight
        every = Member(ensemble, np.arange(ensemble.n_sums))
        members.append((every, [add.times(factor) for add in adds]))
    counted = not soft and bool((weights == np.rint(weights)).all())
    single = soft and _narrow(model) and all(_single(e) for e in ensembles)
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


def _single(member: Ensemble) -> bool:
    """Return whether a member's probabilities are float32."""
    return isinstance(member.link, Link) and member.link.unit == SINGLE


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


def read_adaboost(model: Any, read: ReadMember) -> Ensemble:
    """Read a fitted ``AdaBoostClassifier`` (SAMME) over single trees.

    A tree of weight ``w`` adds ``w`` to the class that it predicts and ``-1 / (K - 1) * w`` to each
    other class, in float64. Sums are divided by the sum of the weights
    (``sklearn/ensemble/_weight_boosting.py``, decision_function). With several classes, the first
    of the largest sums wins. With two classes, one score is exactly the negative of the other, so
    their difference is twice the second score; class 1 needs a score above 0.
    """
    require_fitted(model, "estimators_")
    n_classes = len(model.classes_)
    total = float(model.estimator_weights_.sum())
    if not (np.isfinite(total) and total > 0):
        raise UnsupportedModelError(
            f"the AdaBoostClassifier's estimator_weights_ add up to {total:g}, not to a positive "
            "number. Fit it again."
        )
    pairs = zip(model.estimators_, model.estimator_weights_.tolist(), strict=False)
    members = [_boosted_member(tree, weight, model, read) for tree, weight in pairs]
    whole = summed(members, n_classes, total)
    # predict_proba takes the sums over ``total``, and for two classes half the lead.
    kind: LinkKind = "sigmoid" if n_classes == 2 else "softmax"
    steepness = 1.0 / total / max(n_classes - 1, 1)
    link = Link(kind, steepness=steepness, raw_unit=total) if n_classes > 1 else Link()
    return replace(whole, link=link, default_left=None)  # predict rejects missing values


def _boosted_member(tree: Any, weight: float, model: Any, read: ReadMember) -> Member:
    n_classes = len(model.classes_)
    classes = np.searchsorted(model.classes_, tree.classes_)
    inside = classes < n_classes
    if not (inside.all() and np.array_equal(model.classes_[classes], tree.classes_)):
        raise UnsupportedModelError(
            "a member of the AdaBoostClassifier was fitted on labels that the AdaBoostClassifier "
            "does not have. Fit the AdaBoostClassifier again."
        )
    others = -1 / max(n_classes - 1, 1) * weight  # the same rounding as in scikit-learn
    ensemble = read(tree)
    ballot = ballots(tree, ensemble, classes, n_classes, won=weight, lost=others)
    if n_classes == 2:  # one raw score, of class 1
        ballot = replace(ballot, score=frozen(ballot.score * np.array([0.0, 2.0])))
    return Member(ballot, np.arange(n_classes))


class BaggingRegressorReader(Reader):
    """Reader of bagged regressors, whose members read parts of the columns."""

    reads_members = owns = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_bagged_regressor`."""
        return read_bagged_regressor(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, IntArray | None, str]]:
        """Yield the members that predict uses, with their columns."""
        for member, columns in _bagged(model):
            yield member, columns, "estimator"

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the members, which get arrays."""
        return leaves_of_members((each, as_bagging_passes(rows, at)) for each, at in _bagged(model))


class BaggingReader(BaggingRegressorReader):
    """Reader of bagged classifiers."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_bagging`."""
        return read_bagging(model, read)

    def averages(self, model: Any) -> bool:
        """Return True: probabilities of members are averaged."""
        return True


class VotingRegressorReader(Reader):
    """Reader of averaged regressors."""

    reads_members = owns = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_voting_regressor`."""
        return read_voting_regressor(model, read)

    def members(self, model: Any) -> Iterator[tuple[Any, IntArray | None, str]]:
        """Yield the members that are not dropped."""
        require_fitted(model, "estimators_")
        names = [name for name, member in model.estimators if not isinstance(member, str)]
        for member, name in zip(model.estimators_, names, strict=False):
            yield member, None, name

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the members, which get frames unchanged."""
        return leaves_of_members((member, rows) for member in model.estimators_)


class VotingReader(VotingRegressorReader):
    """Reader of soft and hard voting."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_voting`."""
        return read_voting(model, read)

    def averages(self, model: Any) -> bool:
        """Return whether probabilities are averaged."""
        return bool(model.voting == "soft")

    def scores(self, model: Any, rows: Any, margin_unit: float) -> FloatArray:
        """Return probabilities, or the weighted votes of the members."""
        if model.voting == "soft":
            return np.asarray(model.predict_proba(rows), dtype=np.float64) * margin_unit
        votes = np.zeros((rows.shape[0], len(model.classes_)))
        weights = model._weights_not_none or [1.0] * len(model.estimators_)
        for predicted, weight in zip(model.transform(rows).T, weights, strict=True):
            votes[np.arange(len(votes)), predicted] += weight
        return votes

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the probability or the votes of one class."""
        return self.scores(model, rows, 1.0)[:, output]


class AdaBoostReader(Reader):
    """Reader of AdaBoost over single trees."""

    reads_members = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_adaboost`."""
        return read_adaboost(model, read)

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the trees, which get arrays."""
        table = rows if hasattr(rows, "toarray") else np.asarray(rows)
        return leaves_of_members((member, table) for member in model.estimators_)


class HardVotingReader(Reader):
    """Reader of HardVotingClassifier: one vote per tree of a forest."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """Return the forest's trees with votes at their leaves."""
        require_fitted(model, "forest_")
        return as_votes(read_ensemble(model.forest_))

    def averages(self, model: Any) -> bool:
        """Return True: probabilities are shares of votes."""
        return True

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the forest."""
        return native_leaves(model.forest_, rows)

    def scores(self, model: Any, rows: Any, margin_unit: float) -> FloatArray:
        """Return numbers of votes."""
        votes: FloatArray = np.rint(model.predict_proba(rows) * len(model.forest_.estimators_))
        return votes

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return votes."""
        return self.scores(model, rows, 1.0)[:, output]


READERS: dict[str, Reader] = {
    "AdaBoostClassifier": AdaBoostReader(),
    "BaggingClassifier": BaggingReader(),
    "BaggingRegressor": BaggingRegressorReader(),
    "HardVotingClassifier": HardVotingReader(),
    "VotingClassifier": VotingReader(),
    "VotingRegressor": VotingRegressorReader(),
}
