"""Outputs of a member for each class, as expressions over its sums, or as votes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, frozen
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import predictor
from encoders.readers.reader import averages
from encoders.trees.arithmetic import DOUBLE, LINK, MEAN
from encoders.trees.blend import Blend, Curve, Expression, Nested, Term, sigmoid_of, vote_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.order_statistic import OrderStatistic

VOTES_OF_BLENDS = (
    "hard voting over models that combine several ensembles is not supported. Use the ensembles "
    "themselves as voters, or average probabilities."
)


def shares_of(model: Any, ensemble: Ensemble) -> tuple[Expression, ...] | None:
    """Return the probability of each class; None if it is not a known function of the trees."""
    link, n_sums = ensemble.link, ensemble.n_sums
    if isinstance(link, Blend):
        if link.normalisation is not None:
            return _nested(link)
        return None if link.counts else _loosened(link)
    if isinstance(link, OrderStatistic):
        return None
    width = max(ensemble.rounding.sums, ensemble.rounding.band)
    if averages(model):
        return tuple(
            _averaged(n_sums, output, answer_unit(ensemble), width) for output in range(n_sums)
        )
    if link.kind == "sigmoid":
        curve = sigmoid_of(link.steepness, (LINK + n_sums) * link.unit, width)
        leads = np.zeros((1, n_sums))
        leads[0] = link.weights(n_sums, 1)
        term = Term(1.0, curve, leads, np.array([-link.offset]))
        upper = Expression(np.zeros(n_sums), 0.0, (term,))
        return both(upper)
    if link.kind == "sigmoids":
        curve = sigmoid_of(link.steepness, (LINK + n_sums) * link.unit, width)
        return tuple(
            Expression(np.zeros(n_sums), 0.0, (Term(1.0, curve, lead[None, :], np.zeros(1)),))
            for lead in np.eye(n_sums)
        )
    if link.kind == "softmax":
        curve = sigmoid_of(1.0, (LINK + n_sums) * link.unit, width * link.steepness)
        return tuple(
            _ahead(curve, link.steepness, n_sums, output, np.zeros(n_sums - 1), "smooth")
            for output in range(n_sums)
        )
    return None


def total_error(ensembles: Sequence[Ensemble]) -> float | None:
    """Return how far the sum of averaged probabilities may be from 1; None if it is not fixed."""
    worst = 0.0
    for ensemble in ensembles:
        link, n_sums = ensemble.link, ensemble.n_classes
        if isinstance(link, OrderStatistic) or link.kind == "sigmoids":
            return None
        if isinstance(link, Blend) and link.total == 0.0:
            return None
        error = (
            link.total_error if isinstance(link, Blend) else n_sums * (LINK + n_sums) * link.unit
        )
        worst = max(worst, error)
    return worst + len(ensembles) * MEAN * DOUBLE


def votes_of(ensemble: Ensemble, classes: IntArray, n_classes: int) -> tuple[Expression, ...]:
    """Return the vote of an ensemble for each class: 1 for the class that it predicts, else 0."""
    if ensemble.blend is not None:
        raise UnsupportedModelError(VOTES_OF_BLENDS)
    n_sums, rounding = ensemble.n_sums, ensemble.rounding
    by_class = [Expression(np.zeros(n_sums)) for _ in range(n_classes)]
    if n_sums == 1:
        by_class[int(classes[0])] = Expression(np.zeros(n_sums), 1.0)
        return tuple(by_class)
    votes = []
    for target in range(n_sums) if n_sums > 2 else [1]:
        rivals = [rival for rival in range(n_sums) if rival != target]
        # The target may win from the lead ``least``, and surely wins above the lead ``most``.
        least = np.array([rounding.least_lead(target, rival) for rival in rivals])
        most = np.array([-rounding.least_lead(rival, target) for rival in rivals])
        curve = vote_of(max(0.0, float((most - least).max()) / 2))
        votes.append(_ahead(curve, 1.0, n_sums, target, (least + most) / 2, "plain"))
    if n_sums == 2:
        votes = list(both(votes[0]))
    for label, vote in zip(classes.tolist(), votes, strict=True):
        by_class[label] = vote
    return tuple(by_class)


def both(upper: Expression) -> tuple[Expression, Expression]:
    """Return the shares of two classes that add up to 1, given the second one."""
    whole = Expression(np.zeros(upper.linear.size), 1.0)
    return whole.plus(upper.times(-1.0)), upper


def _averaged(n_sums: int, output: int, unit: float, width: float) -> Expression:
    linear = np.zeros(n_sums)
    linear[output] = 1.0 / unit
    return Expression(linear, 0.0, error=width / unit + MEAN * DOUBLE)


def _ahead(
    curve: Curve, steepness: float, n_sums: int, target: int, offset: FloatArray, minimum: Any
) -> Expression:
    """Return a curve of the minimum of one sum's leads over the other sums."""
    rivals = [rival for rival in range(n_sums) if rival != target]
    leads = np.zeros((len(rivals), n_sums))
    leads[np.arange(len(rivals)), rivals] = -steepness
    leads[:, target] = steepness
    return Expression(np.zeros(n_sums), 0.0, (Term(1.0, curve, leads, offset, minimum),))


def _nested(link: Blend) -> tuple[Expression, ...] | None:
    """Return the probabilities of two classes as the curve of a score; None for other blends."""
    normalisation, score = link.normalisation, link.shares[-1]
    if normalisation is None or normalisation.kind != "sigmoid" or score.nested:
        return None
    curve = sigmoid_of(1.0, normalisation.link.error(2))
    inner = replace(score, error=score.error + link.error)
    upper = Expression(np.zeros(score.linear.size), nested=(Nested(1.0, curve, inner),))
    return both(upper)


def _loosened(blend: Blend) -> tuple[Expression, ...]:
    return tuple(replace(share, error=share.error + blend.error) for share in blend.shares)


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
