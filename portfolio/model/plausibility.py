"""Counterfactuals that look like the training data of their class (appendix C of the paper)."""

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray
from encoders.errors import InputError
from encoders.trees.isolation import expected_length
from portfolio.model.native import predicting_alone


@dataclass(frozen=True, eq=False)
class PlausibilityCheck:
    """One class' isolation forest, asked as its owner would.

    Attributes
    ----------
    forest : fitted scikit-learn IsolationForest
    columns : names of the model's columns, None where it has none
    """

    forest: Any
    columns: list[str] | None

    def accepts(self, row: FloatArray) -> bool:
        """The forest's own verdict on one row.

        Parameters
        ----------
        row : float64 (n_columns,)
        """
        with predicting_alone():
            return bool(self.forest.decision_function(self._given(row[None, :]))[0] >= 0)

    def lengths(self, rows: FloatArray) -> FloatArray:
        """Sum of path lengths that the forest's own score of each row stands for.

        Parameters
        ----------
        rows : float64 (n_rows, n_columns)

        Returns
        -------
        float64 (n_rows,)
        """
        with predicting_alone():
            score = np.asarray(self.forest.score_samples(self._given(rows)))
        expected = expected_length(np.array([self.forest.max_samples_]))[0]
        lengths: FloatArray = -len(self.forest.estimators_) * expected * np.log2(-score)
        return lengths

    def _given(self, rows: FloatArray) -> Any:
        if hasattr(self.forest, "feature_names_in_"):
            return pd.DataFrame(rows, columns=self.columns)
        return rows


@dataclass(frozen=True, eq=False)
class Plausibility:
    """Isolation forests that counterfactuals must be inliers of.

    Parameters
    ----------
    forests : a fitted scikit-learn IsolationForest for all classes, or one per class label;
        fitted on the model's columns
    """

    forests: Any

    @classmethod
    def fit(
        cls,
        X_train: Any,
        y: Any,
        contamination: float = 0.1,
        n_estimators: int = 100,
        seed: int = 0,
    ) -> "Plausibility":
        """One isolation forest per class, trained on the rows labelled so.

        Parameters
        ----------
        X_train : DataFrame or array (n_rows, n_columns), as the model was trained on
        y : labels, (n_rows,)
        contamination : share of the training rows that count as outliers, above 0, at most 0.5
        n_estimators : trees of each forest
        seed : of the forests

        Raises
        ------
        InputError
            A value out of range, or labels that do not go with the rows.
        """
        from sklearn.ensemble import IsolationForest

        labels = np.asarray(y)
        if labels.shape != (len(X_train),):
            raise InputError(f"y must hold one label per row of X_train, {len(X_train)} of them.")
        if not isinstance(contamination, Real) or not 0 < contamination <= 0.5:
            raise InputError(
                f"contamination must be above 0 and at most 0.5, got {contamination!r}."
            )
        if not isinstance(n_estimators, Integral) or n_estimators < 1:
            raise InputError(f"n_estimators must be at least 1, got {n_estimators!r}.")
        if not isinstance(X_train, pd.DataFrame):
            X_train = np.asarray(X_train)
        for name, own in X_train.items() if isinstance(X_train, pd.DataFrame) else ():
            if not pd.api.types.is_numeric_dtype(own.dtype):
                raise InputError(
                    f"column {name!r} of X_train holds no numbers, which an isolation forest "
                    "needs; encode it for forest and model alike."
                )
        forests = {}
        for label in np.unique(labels).tolist():
            forest = IsolationForest(
                n_estimators=n_estimators, contamination=contamination, random_state=seed
            )
            forests[label] = forest.fit(X_train[labels == label])
        return cls(forests)

    def check_of(self, label: Any, columns: list[str] | None) -> PlausibilityCheck:
        """What decides for one class.

        Parameters
        ----------
        label : of the class, None for a regressor
        columns : the model's column names, None if it has none

        Raises
        ------
        InputError
            There is no forest for it.
        """
        if not isinstance(self.forests, Mapping):
            return _check(self.forests, columns)
        if label is None:
            raise InputError(
                "a regressor has no classes; give Plausibility one isolation forest for all rows."
            )
        if label not in self.forests:
            known = ", ".join(repr(key) for key in self.forests)
            raise InputError(
                f"plausibility has no isolation forest for class {label!r}, only for {known}."
            )
        return _check(self.forests[label], columns)


def _check(forest: Any, columns: list[str] | None) -> PlausibilityCheck:
    named = getattr(forest, "feature_names_in_", None)
    if named is not None and columns is not None and list(named) != columns:
        raise InputError(
            "the isolation forest was fitted on other columns than the model, or in another "
            f"order: {', '.join(map(str, named[:5]))}; fit it on X_train."
        )
    return PlausibilityCheck(forest, columns)
