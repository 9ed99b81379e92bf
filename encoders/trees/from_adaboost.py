"""Reader of scikit-learn's ``AdaBoostClassifier``: trees that vote with weights."""

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
    members = [_member(tree, weight, model, read) for tree, weight in pairs]
    whole = summed(members, n_classes, total)
    # predict_proba takes the sums over ``total``, and for two classes half the lead.
    kind: LinkKind = "sigmoid" if n_classes == 2 else "softmax"
    steepness = 1.0 / total / max(n_classes - 1, 1)
    link = Link(kind, steepness=steepness, raw_unit=total) if n_classes > 1 else Link()
    return replace(whole, link=link, default_left=None)  # predict rejects missing values


def _member(tree: Any, weight: float, model: Any, read: Reader) -> Member:
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
