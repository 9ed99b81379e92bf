"""scikit-learn's ``AdaBoostClassifier``: trees that vote with weights."""

from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import frozen
from encoders.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.link import Link, LinkKind
from encoders.trees.members import Member, Reader, ballots, summed
from encoders.trees.refusals import require_fitted


def read_adaboost(model: Any, read: Reader) -> Ensemble:
    """Read a fitted ``AdaBoostClassifier`` (SAMME) over single trees.

    A tree of weight ``w`` adds ``w`` to the class that it predicts and ``-1 / (K - 1) * w`` to each
    of the others, in float64; sums are divided by that of the weights
    (``sklearn/ensemble/_weight_boosting.py``, decision_function). Of several classes the first of
    the largest wins. Of two the scores are each other's negative, so that their difference is
    twice the second's, to the last bit; class 1 needs one above 0.
    """
    require_fitted(model, "estimators_")
    n_classes = len(model.classes_)
    total = float(model.estimator_weights_.sum())
    if not (np.isfinite(total) and total > 0):
        raise UnsupportedModelError(
            "the AdaBoostClassifier's estimator_weights_ do not add up to a positive number; fit "
            "it again."
        )
    pairs = zip(model.estimators_, model.estimator_weights_.tolist(), strict=False)
    members = [_member(tree, weight, model, read) for tree, weight in pairs]
    whole = summed(members, n_classes, total)
    # predict_proba: of the decision, the sums over ``total``; of two classes it is half the lead.
    kind: LinkKind = "sigmoid" if n_classes == 2 else "softmax"
    steepness = 1.0 / total / max(n_classes - 1, 1)
    link = Link(kind, steepness=steepness, raw_unit=total) if n_classes > 1 else Link()
    return replace(whole, link=link, default_left=None)  # its predict refuses missing values


def _member(tree: Any, weight: float, model: Any, read: Reader) -> Member:
    n_classes = len(model.classes_)
    classes = np.searchsorted(model.classes_, tree.classes_)
    known = classes < n_classes
    if not (known.all() and np.array_equal(model.classes_[classes], tree.classes_)):
        raise UnsupportedModelError(
            "a member of the AdaBoostClassifier was fitted on other labels than its own; fit the "
            "AdaBoostClassifier again."
        )
    others = -1 / max(n_classes - 1, 1) * weight  # rounded as there
    ensemble = read(tree)
    ballot = ballots(tree, ensemble, classes, n_classes, won=weight, lost=others)
    if n_classes == 2:  # one raw score, of class 1
        ballot = replace(ballot, score=frozen(ballot.score * np.array([0.0, 2.0])))
    return Member(ballot, np.arange(n_classes))
