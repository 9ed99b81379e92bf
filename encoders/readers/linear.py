"""Reader of scikit-learn's linear models whose inputs have few values, such as bins and flags.

A linear model of inputs that are step functions of the user's columns is a sum of step functions.
Each input becomes one tree over its values. Only the steps before the model determine which values
an input can have. So the trees are made twice: first over inputs of 0 and 1, then over their
values.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.readers.kinds import kind_of
from encoders.readers.reader import Reader, ReadMember
from encoders.readers.refusals import require_fitted, several_outputs
from encoders.readers.shares import both
from encoders.trees.arithmetic import DOUBLE, LINK, MEAN, SINGLE, Link, rounding_of
from encoders.trees.balanced import balanced
from encoders.trees.blend import Blend, Curve, Expression, Step, Term, sigmoid_of
from encoders.trees.ensemble import Ensemble
from encoders.trees.normalisation import Normalisation
from encoders.trees.tree_nodes import NO_CHILD, TreeNodes, joined

LOGISTIC = ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
CLASSIFIERS = (
    *(*LOGISTIC[:2], "RidgeClassifier", "RidgeClassifierCV", "LinearSVC", "SGDClassifier"),
    *("Perceptron", "PassiveAggressiveClassifier", "LinearDiscriminantAnalysis"),
)
GENERALIZED = ("PoissonRegressor", "GammaRegressor", "TweedieRegressor")
REGRESSORS = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV"),
    *("LinearSVR", "SGDRegressor", "HuberRegressor", "QuantileRegressor", *GENERALIZED),
    *("BayesianRidge", "ARDRegression", "TheilSenRegressor", "PassiveAggressiveRegressor"),
    *("Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC"),
    *("OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
)
CLIPPED = 4.0  # unit roundoffs of a clipped score, which is halved, and of its difference to 1
FLAG = np.array([0.0, 1.0])


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores of a linear model.

    Attributes
    ----------
    factors : factor of each input in each score, float64 (n_scores, n_inputs).
    constants : summand of each score, float64 (n_scores,).
    unit : unit roundoff of its sums.
    shifts : bound on the part of a score that scalers before the model subtract or add.
    scalers : number of these scalers.
    """

    factors: FloatArray
    constants: FloatArray
    unit: float
    shifts: float = 0.0
    scalers: int = 0


def linear_of(model: Any) -> LinearScores:
    """Return the scores of a fitted linear model."""
    require_fitted(model, "coef_")
    factors = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    constants = np.broadcast_to(np.asarray(model.intercept_, np.float64).ravel(), len(factors))
    unit = SINGLE if np.asarray(model.coef_).dtype == np.float32 else DOUBLE
    if kind_of(model).name in REGRESSORS and len(factors) > 1:
        raise several_outputs("regressor")
    return LinearScores(factors, constants, unit)


def link_of(model: Any, width: float = 0.0) -> Link | Blend:
    """Return the link from the scores of a linear model to its outputs; none without.

    ``width`` bounds the rounding of a score.
    """
    kind, binary = kind_of(model).name, len(np.atleast_2d(model.coef_)) == 1
    unit = linear_of(model).unit
    if kind in REGRESSORS:
        logarithmic = kind in GENERALIZED and _has_log_link(model)
        return Link("exp" if logarithmic else "mean", unit=unit)
    if kind == "SGDClassifier" and model.loss == "log_loss":
        return _of_each_class(len(model.classes_), unit, width)
    if kind == "SGDClassifier" and model.loss == "modified_huber" and binary:
        return _clipped(unit, width)
    # Until scikit-learn 1.7, multi_class could choose another function.
    plain = getattr(model, "multi_class", "auto") in ("auto", "deprecated")
    if kind not in LOGISTIC or not plain or (not binary and model.solver == "liblinear"):
        return Link()
    return Link("sigmoid" if binary else "softmax", unit=unit)


def _has_log_link(model: Any) -> bool:
    """Return whether a generalized linear model predicts the exponential of its sum.

    See ``sklearn/linear_model/_glm/glm.py``, _GeneralizedLinearRegressor.predict.
    """
    return type(model._base_loss.link).__name__ == "LogLink"


def _clipped(unit: float, width: float) -> Blend:
    """Return probabilities of two classes that are a score between -1 and 1, moved to 0 to 1.

    See ``sklearn/linear_model/_stochastic_gradient.py``, SGDClassifier.predict_proba.
    """
    ends = np.array([-1.0, 1.0])
    points = Step("points", error=CLIPPED * unit, x=ends, y=FLAG)
    term = Term(1.0, Curve((points,), width), ends[None, :], np.zeros(1))
    upper = Expression(np.zeros(2), 0.0, (term,))
    return Blend(both(upper), CLIPPED * unit, decides=False)


def _of_each_class(n_classes: int, unit: float, width: float) -> Link | Blend:
    """Return the sigmoid of a score; with more classes, each is divided by the sum of all.

    See ``sklearn/linear_model/_base.py``, LinearClassifierMixin._predict_proba_lr.
    """
    if n_classes == 2:
        return Link("sigmoid", unit=unit)
    curve = sigmoid_of(1.0, (LINK + n_classes) * unit, width)
    terms = [Term(1.0, curve, lead[None, :], np.zeros(1)) for lead in np.eye(n_classes)]
    shares = tuple(Expression(np.zeros(n_classes), 0.0, (term,)) for term in terms)
    return Blend(shares, decides=False, normalisation=Normalisation("ratio", unit))


def trees_over(model: Any, levels: Sequence[FloatArray]) -> Ensemble:
    """Return a linear model as one tree per input, whose possible values are given, ascending.

    Scores are added in float64 or float32 in any order. A classifier of two classes predicts the
    second one if its score is above 0, another one the first of the largest scores
    (``sklearn/linear_model/_base.py``, LinearClassifierMixin.predict).
    """
    linear, regression = linear_of(model), kind_of(model).name in REGRESSORS
    factors, bias = linear.factors, linear.constants
    if len(factors) == 1 and not regression:  # a score of class 1
        factors, bias = np.pad(factors, [(1, 0), (0, 0)]), np.pad(bias, (1, 0))
    trees = [
        _tree(at, values, factors[:, at])
        for at, values in enumerate(levels)
        if values.size and factors[:, at].any()
    ]
    trees = trees or [_tree(0, np.zeros(1), np.zeros(len(factors)))]
    read = joined(trees, factors.shape[1], bias, np.dtype(np.float64), 1.0, "linear")
    rounding = rounding_of(
        read.score, read.root, bias, linear.unit, terms=int(MEAN), may_be_exact=False
    )
    return replace(
        read, rounding=rounding, link=link_of(model, rounding.sums), regression=regression
    )


def _tree(column: int, values: FloatArray, factors: FloatArray) -> TreeNodes:
    """Return a balanced tree over the values of an input."""
    children, last = balanced(values.size)
    inner = children[0] != NO_CHILD
    score = np.zeros((inner.size, factors.size))
    score[~inner] = values[:, None] * factors
    last_left = np.where(inner, values[last], -np.inf)
    columns = np.where(inner, column, NO_CHILD)
    return TreeNodes(columns, last_left, children[0], children[1], score)


class LinearReader(Reader):
    """Reader of linear models, which are not trees until the values of their inputs are known."""

    linear = varies_with_rows = True

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """Return the model over inputs of 0 and 1; see :func:`trees_over`."""
        return trees_over(model, [FLAG] * linear_of(model).factors.shape[1])


READERS: dict[str, Reader] = dict.fromkeys((*CLASSIFIERS, *REGRESSORS), LinearReader())
