"""Reader of scikit-survival's trees, forests and gradient boosting of trees."""

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.readers.kinds import ending_in, is_pipeline, kind_of, last_step, unwrapped
from encoders.readers.outputs import OutputReader
from encoders.readers.reader import Reader, ReadMember
from encoders.readers.refusals import require_fitted
from encoders.readers.sklearn_trees import ForestReader, stage_nodes, tree_nodes
from encoders.trees.arithmetic import Link, LinkKind, rounding_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.tree_nodes import joined

SINGLE = np.dtype(np.float32)
SINGLE_TIME = (
    "the library's own predict fails for a {} that was fitted on a single time. Fit it on rows of "
    "several times, or with low_memory=True."
)
FORESTS = ("SurvivalTree", "ExtraSurvivalTree", "RandomSurvivalForest", "ExtraSurvivalTrees")
HAZARD, SURVIVAL = 0, 1  # places of the cumulative hazard and of survival among a leaf's values
# Losses by the name of their class, and what predict does with the sum.
LOSSES: dict[str, LinkKind] = {
    "CoxPH": "mean",
    "CensoredSquaredLoss": "exp",
    "IPCWLeastSquaresError": "exp",
}


def read_survival_forest(model: Any) -> Ensemble:
    """Read a fitted survival tree or forest, whose prediction is a risk score.

    A tree predicts the sum over event times of the cumulative hazard of its leaf; with
    ``low_memory=True`` leaves hold this sum (``sksurv/tree/tree.py``, predict). numpy adds the
    times in an order that depends on the number of rows. A forest adds up its trees in float64 and
    divides by their number (``sksurv/ensemble/forest.py``, _predict).
    """
    require_fitted(model, "n_features_in_")
    trees = _trees(model)
    nodes = (tree_nodes(tree.tree_, _risks(tree)) for tree in trees)
    n_columns, count = int(model.n_features_in_), float(len(trees))
    read = joined(nodes, n_columns, np.zeros(1), SINGLE, count, "scikit-survival")
    n_times = max(tree.tree_.value.shape[1] for tree in trees)  # 1 if leaves hold sums
    rounding = rounding_of(
        read.score,
        read.root,
        read.bias,
        terms=2 * n_times,  # roundings of the library's sums and of ours
        may_be_exact=n_times == 1,
    )
    return replace(read, rounding=rounding, link=Link("mean", divisor=count), regression=True)


def _trees(model: Any) -> Sequence[Any]:
    trees: Sequence[Any] = [model] if hasattr(model, "tree_") else model.estimators_
    return trees


def _risks(tree: Any) -> FloatArray:
    """Return the risk score of each node, float64 (n_nodes, 1)."""
    hazard = tree.tree_.value[:, :, HAZARD]
    if not tree.low_memory:
        if hazard.shape[1] == 1:
            raise UnsupportedModelError(SINGLE_TIME.format(type(tree).__name__))
        hazard = hazard[:, tree.is_event_time_]
    risks: FloatArray = hazard.sum(axis=1, keepdims=True)
    return risks


def survival_at(model: Any, time: float) -> Any:
    """Return a regressor that predicts the probability of survival at a time.

    Parameters
    ----------
    model : object
        Fitted survival tree or forest of scikit-survival, or a Pipeline or search that ends with
        one. It is not copied.
    time : float
        Time in the unit of the training data, from 0 to the largest time of the training data.

    Returns
    -------
    object
        Estimator whose ``predict`` returns the value of the model's ``predict_survival_function``
        at the time for each row, float64 (n_rows,). ``Explainer`` reads it like other regressors.

    Raises
    ------
    InputError
        If the time is not in the training data's range, or the model was fitted with
        ``low_memory=True``.
    UnsupportedModelError
        If the model is of another type or not fitted.

    Notes
    -----
    A survival function is constant between the times of the training data, and before the first
    one (``sksurv/functions.py``, StepFunction). Thread-safe.

    Examples
    --------
    >>> import numpy as np
    >>> from counterfolio import AtLeast, Explainer, survival_at
    >>> from sksurv.ensemble import RandomSurvivalForest
    >>> from sksurv.util import Surv
    >>> X = np.arange(40.0).reshape(40, 1)
    >>> y = Surv.from_arrays(np.ones(40, dtype=bool), 1.0 + X[:, 0])
    >>> forest = RandomSurvivalForest(10, random_state=0).fit(X, y)
    >>> explainer = Explainer(survival_at(forest, 20.0), X)
    >>> explainer.explain([5.0], target=AtLeast(0.5)).status
    'optimal'
    """
    from encoders.trees.outputs import SurvivalAt

    model = unwrapped(model)
    if is_pipeline(model):
        return ending_in(model, survival_at(last_step(model), time))
    kind = kind_of(model)
    if kind.library != "sksurv" or kind.name not in FORESTS:
        raise UnsupportedModelError(
            f"a {type(model).__name__} has no survival function that can be read. Use one of "
            f"{', '.join(FORESTS)}."
        )
    require_fitted(model, "unique_times_")
    if model.low_memory:
        raise InputError(
            "the model was fitted with low_memory=True, so it contains no survival functions. Fit "
            "it with low_memory=False."
        )
    last = float(model.unique_times_[-1])
    if not isinstance(time, Real) or not 0.0 <= time <= last:
        raise InputError(
            f"time must be from 0 to {last:g}, the largest time of the training data, got {time!r}."
        )
    return SurvivalAt(model, max(0, int(np.searchsorted(model.unique_times_, time, "right")) - 1))


def read_survival_at(model: Any) -> Ensemble:
    """Read the survival probability of a tree or forest at a time.

    A forest adds up the probabilities of its trees in float64 and divides by their number
    (``sksurv/ensemble/forest.py``, _predict).
    """
    trees = _trees(model.whole)
    at = [model.at]
    nodes = (tree_nodes(each.tree_, each.tree_.value[:, at, SURVIVAL]) for each in trees)
    n_columns, count = int(model.whole.n_features_in_), float(len(trees))
    read = joined(nodes, n_columns, np.zeros(1), SINGLE, count, "scikit-survival")
    rounding = rounding_of(read.score, read.root, read.bias)
    return replace(read, rounding=rounding, link=Link("mean", divisor=count), regression=True)


def read_survival_boosting(model: Any) -> Ensemble:
    """Read a fitted ``GradientBoostingSurvivalAnalysis``.

    Leaves times the learning rate are added in float64; with dropout, the rate of each stage is
    scaled (``sksurv/ensemble/boosting.py``, _raw_predict). The prediction is the sum, a log hazard
    ratio, or its exponential, a time (``sksurv/ensemble/survival_loss.py``).
    """
    require_fitted(model, "estimators_")
    loss = type(model._loss).__name__
    if loss not in LOSSES:
        raise UnsupportedModelError(
            f"this {type(model).__name__} has the loss {loss}, which is not supported. Use one of "
            "'coxph', 'squared' and 'ipcwls'."
        )
    stages = model.estimators_[:, 0]
    rates = model.learning_rate * getattr(model, "_scale", np.ones(len(stages)))
    trees = [
        stage_nodes(stage.tree_, rate, 1, 0)
        for stage, rate in zip(stages, rates.tolist(), strict=True)
    ]
    n_columns = int(model.n_features_in_)
    read = joined(trees, n_columns, np.zeros(1), SINGLE, 1.0, "scikit-survival")
    # The compiler may fuse the product and the addition into one rounding.
    rounding = rounding_of(read.score, read.root, read.bias, may_be_exact=False)
    return replace(
        read, default_left=None, rounding=rounding, link=Link(LOSSES[loss]), regression=True
    )


class SurvivalForestReader(ForestReader):
    """Reader of survival trees and forests."""

    varies_with_rows = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_survival_forest`."""
        return read_survival_forest(model)


class SurvivalAtReader(OutputReader, ForestReader):
    """Reader of the survival probability of a tree or forest at a time."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_survival_at`."""
        return read_survival_at(model)


class SurvivalBoostingReader(ForestReader):
    """Reader of gradient boosting of survival trees."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_survival_boosting`."""
        return read_survival_boosting(model)


READERS: dict[str, Reader] = {
    **dict.fromkeys(FORESTS, SurvivalForestReader()),
    "SurvivalAt": SurvivalAtReader(),
    "GradientBoostingSurvivalAnalysis": SurvivalBoostingReader(),
}
