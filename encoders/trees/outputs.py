"""Estimators for one output of a model of several outputs, which predict as the model does."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator


class OneOutput(BaseEstimator):  # type: ignore[misc]
    """Estimator of a single output of a fitted model.

    Attributes
    ----------
    whole : fitted model.
    at : index of the output.
    """

    def __init__(self, whole: Any, at: int) -> None:
        self.whole, self.at = whole, at
        self._adopt(whole, None)

    def _adopt(self, fitted: Any, classes: Any) -> None:
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(self, name, getattr(fitted, name))
        if classes is not None:
            self.classes_ = classes[self.at]

    def fit(self, X: Any, y: Any = None) -> "OneOutput":
        """Return the output itself, as the whole is fitted already."""
        return self

    def predict(self, X: Any) -> Any:
        """Return the predictions of the output, (n_rows,)."""
        return np.asarray(self.whole.predict(X))[:, self.at]


class SurvivalAt(OneOutput):
    """Probability that a survival tree or forest predicts for one of its ``unique_times_``."""

    def predict(self, X: Any) -> Any:
        """Return the probabilities of survival, (n_rows,)."""
        return self.whole.predict_survival_function(X, return_array=True)[:, self.at]


class QuantileOutput(OneOutput):
    """Quantile among several that a forest of quantile-forest predicts."""


class ForestOutput(OneOutput):
    """Output of a forest or tree."""

    def __init__(self, whole: Any, at: int) -> None:
        self.whole, self.at = whole, at
        self._adopt(whole, getattr(whole, "classes_", None))

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the output, (n_rows, n_classes)."""
        return self.whole.predict_proba(X)[self.at]


class MemberOutput(OneOutput):
    """Output of a model that has a member for each output."""

    def __init__(self, whole: Any, at: int) -> None:
        self.whole, self.at, self.member = whole, at, whole.estimators_[at]
        members = whole.estimators_
        classified = hasattr(self.member, "classes_")
        self._adopt(whole, [each.classes_ for each in members] if classified else None)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the output, (n_rows, n_classes)."""
        return self.member.predict_proba(X)


class ArrayOutput(OneOutput):
    """Output of a model whose predictions of all outputs are one array.

    A classifier predicts 0 or 1 for each output, and the probability of 1.
    """

    def __init__(self, whole: Any, at: int) -> None:
        self.whole, self.at = whole, at
        classifies = len(getattr(whole, "classes_", ())) > 0  # that of CatBoost's regressors is []
        self._adopt(whole, {at: np.array([0, 1])} if classifies else None)

    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of 0 and 1, (n_rows, 2)."""
        one = np.asarray(self.whole.predict_proba(X))[:, self.at]
        return np.column_stack([one.dtype.type(1) - one, one])


class XGBoostOutput(ArrayOutput):
    """Output of an estimator of XGBoost."""


class CatBoostOutput(ArrayOutput):
    """Output of an estimator of CatBoost."""
