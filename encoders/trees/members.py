"""Joining of several ensembles into one: members have weights, parts of the columns, or votes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Protocol

import numpy as np

from encoders.arrays import IntArray, frozen, starts
from encoders.errors import UnsupportedModelError
from encoders.trees.blend import Blend, Expression, among
from encoders.trees.ensemble import Ensemble
from encoders.trees.from_sklearn import FORESTS
from encoders.trees.kinds import kind_of
from encoders.trees.rounding import Rounding, rounding_of
from encoders.trees.shared_sets import with_shared_sets
from encoders.trees.wrappers import predictor

Reader = Callable[[Any], Ensemble]
BlendOf = Callable[[list[Expression]], Blend]

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
AVERAGES = FORESTS | {"HardVotingClassifier", "BaggingClassifier"}
MEMBER_TERMS = 4  # roundings per member: average and weight, in the library and here


class ColumnReader(Protocol):
    """Reader of a member, which may use a part of the columns."""

    def __call__(self, model: Any, columns: IntArray | None = None, /) -> Ensemble:
        """Return the member's trees; ``columns`` are the owner's columns that it reads."""


@dataclass(frozen=True, eq=False)
class Member:
    """Ensemble among several that are added up.

    Its summand is its leaf scores times ``weight``, divided by ``whole``.

    Attributes
    ----------
    ensemble : trees of the member, over the columns of the sum.
    classes : index of each of its classes among those of the sum, int64 (n_own_classes,).
    weight : factor of the member's output in the library.
    whole : leaf score per unit of the member's output, such as its number of trees.
    """

    ensemble: Ensemble
    classes: IntArray
    weight: float = 1.0
    whole: float = 1.0

    @property
    def exact(self) -> bool:
        """True if the library's sum of sums rounds no more than one sum over all trees."""
        if self.ensemble.root.size == 1 and self.whole == 1.0:
            return True  # the leaf's score times the weight, rounded once in both cases
        powers = np.frexp([self.weight, self.whole])[0] == 0.5
        return bool(powers.all()) and self.ensemble.rounding.grid > 0.0


def summed(members: Sequence[Member], n_classes: int, margin_unit: float) -> Ensemble:
    """Return the sum of members, in float64; the first of the largest sums wins.

    If input types differ, thresholds are converted to float64 such that every value takes the same
    way as in the member, which rounds it.
    """
    if not members:
        raise UnsupportedModelError(
            "the model has no fitted members. Fit it with at least one member."
        )
    dtype = SINGLE if all(m.ensemble.dtype == SINGLE for m in members) else DOUBLE
    ensembles = [member.ensemble for member in members]
    first = starts(np.array([ensemble.column.size for ensemble in ensembles]))[:-1]
    score = np.zeros((sum(e.column.size for e in ensembles), n_classes))
    bias = np.zeros(n_classes)
    for member, at in zip(members, first, strict=True):
        scaled = member.ensemble.score * member.weight / member.whole
        score[at : at + len(scaled), member.classes] = scaled
        bias[member.classes] += member.ensemble.bias * member.weight / member.whole
    if not np.isfinite(score).all():
        raise UnsupportedModelError(
            "some weights of the model's members are not finite. Use finite weights."
        )

    def moved(field: str) -> IntArray:
        nodes = [(getattr(e, field), at) for e, at in zip(ensembles, first, strict=True)]
        return frozen(np.concatenate([np.where(n >= 0, n + at, n) for n, at in nodes]))

    ways = [e.default_left for e in ensembles if e.default_left is not None]
    root = moved("root")
    exact = all(member.exact for member in members)
    plain = Ensemble(
        n_columns=ensembles[0].n_columns,
        root=root,
        column=frozen(np.concatenate([e.column for e in ensembles])),
        last_left=frozen(np.concatenate([e.last_left_as(dtype) for e in ensembles])),
        left=moved("left"),
        right=moved("right"),
        score=frozen(score),
        bias=frozen(bias),
        dtype=dtype,
        margin_unit=margin_unit,
        votes=False,
        rounding=rounding_of(
            score, root, bias, terms=MEMBER_TERMS + len(members), may_be_exact=exact
        ),
        default_left=frozen(np.concatenate(ways)) if len(ways) == len(ensembles) else None,
    )
    return with_shared_sets(plain, ensembles, first)


def blended(members: Sequence[tuple[Member, Sequence[Expression]]], blend: BlendOf) -> Ensemble:
    """Return members whose outputs are blended: each has separate sums."""
    widths = [member.ensemble.n_sums for member, _ in members]
    first, n_sums = starts(np.array(widths))[:-1].tolist(), sum(widths)
    separate = [
        replace(member, classes=np.arange(at, at + width), weight=1.0, whole=1.0)
        for (member, _), at, width in zip(members, first, widths, strict=True)
    ]
    placed = [among(adds, n_sums, at) for (_, adds), at in zip(members, first, strict=True)]
    link = blend([reduce(Expression.plus, shares) for shares in zip(*placed, strict=True)])
    whole = summed(separate, n_sums, 1.0)
    return replace(whole, rounding=Rounding(), link=link)


def averages(model: Any) -> bool:
    """Return whether a model's probabilities are averages of its leaves' values."""
    estimator = predictor(model)
    name = kind_of(estimator).name
    return name in AVERAGES or (name == "VotingClassifier" and estimator.voting == "soft")


def answer_unit(ensemble: Ensemble) -> float:
    """Return the leaf score of a probability of 1, for a model that averages or votes."""
    return float(ensemble.root.size) if ensemble.votes else ensemble.margin_unit


def ballots(
    model: Any, ensemble: Ensemble, classes: IntArray, n_classes: int, won: float, lost: float = 0.0
) -> Ensemble:
    """Return a single tree whose leaves vote for the class that the tree predicts."""
    name = type(predictor(model)).__name__
    if ensemble.root.size != 1 or ensemble.blend is not None:
        raise UnsupportedModelError(
            f"the prediction of a {name} of {ensemble.root.size} trees is not a sum of leaves, so "
            "its vote is not supported here. Use single trees as voters, or average probabilities."
        )
    total = ensemble.bias + ensemble.score
    leaves = np.flatnonzero(ensemble.column < 0)
    ranked = np.sort(total[leaves], axis=1)
    close = ranked[:, -1:] - ranked[:, -2:-1] <= ensemble.rounding.band
    # A decision tree compares the values of its leaves themselves; other models round first.
    if close.any() and not (averages(model) and ensemble.margin_unit == 1.0):
        raise UnsupportedModelError(
            f"two classes are tied up to rounding errors in a leaf of a voting {name}. Use "
            "decision trees as voters."
        )
    score = np.zeros((ensemble.column.size, n_classes))
    score[leaves] = lost
    score[leaves, classes[total[leaves].argmax(axis=1)]] = won
    return replace(ensemble, score=frozen(score), bias=frozen(np.zeros(n_classes)))
