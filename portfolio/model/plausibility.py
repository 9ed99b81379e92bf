"""Plausible counterfactuals, which resemble training data (appendix C of the paper)."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.errors import InputError
from encoders.readers.isolation import least_length, longest
from encoders.readers.kinds import is_pipeline, kind_of, last_step
from encoders.readers.refusals import first_line
from portfolio.model.frames import as_pandas
from portfolio.model.table import is_category
from portfolio.model.training_frame import training_frame

MOST_CATEGORIES = 20  # one-hot columns for a column of categories


@dataclass(frozen=True, eq=False)
class Plausibility:
    """Isolation forests that must accept each counterfactual as an inlier.

    Parameters
    ----------
    forests : IsolationForest, Pipeline or mapping of class labels to these
        Fitted isolation forest, or fitted Pipeline that ends with one. It applies to all
        classes, unless a mapping has one for each class label. It must be fitted on the columns
        of the model's training frame.

    Examples
    --------
    >>> from counterfolio import Explainer, Plausibility
    >>> plausible = Explainer(model, X_train, plausibility=Plausibility.fit(X_train, y))
    >>> plausible.explain(row).status
    'optimal'
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
        """Fit one isolation forest per class on the training rows of that class.

        Categories and text are one-hot encoded; categories of a column beyond 20 are merged, rarest
        first. Missing numbers are replaced by the median, and a 0/1 column marks them.

        Parameters
        ----------
        X_train : DataFrame (pandas, polars or pyarrow) or array of shape (n_rows, n_columns)
            Training data of the model.
        y : array-like of shape (n_rows,)
            Class label of each row.
        contamination : float, default 0.1
            Share of the training rows that count as outliers, above 0 and at most 0.5.
        n_estimators : int, default 100
            Number of trees of each forest.
        seed : int, default 0
            Random seed of the forests.

        Returns
        -------
        Plausibility
            The fitted forests by class label.

        Raises
        ------
        InputError
            If a value is out of range, or the labels do not match the rows.

        Examples
        --------
        >>> from counterfolio import Plausibility
        >>> plausibility = Plausibility.fit(X_train, y, contamination=0.05)
        >>> sorted(plausibility.forests)
        ['granted', 'refused']
        """
        from sklearn.pipeline import make_pipeline

        labels = np.asarray(y)
        if labels.shape != (len(X_train),):
            raise InputError(
                f"y must hold one label per row of X_train, shape ({len(X_train)},), got shape "
                f"{labels.shape}."
            )
        if not isinstance(contamination, Real) or not 0 < contamination <= 0.5:
            raise InputError(
                f"contamination must be above 0 and at most 0.5, got {contamination!r}."
            )
        if not isinstance(n_estimators, Integral) or n_estimators < 1:
            raise InputError(f"n_estimators must be at least 1, got {n_estimators!r}.")
        if isinstance(X_train, np.ndarray) and X_train.dtype != object:
            return cls(_forests(X_train, labels, n_estimators, contamination, seed))
        frame = as_pandas(X_train)[0]
        frame = training_frame(frame, None, np.shape(frame)[1]).infer_objects()
        encoder = _encoder(frame)
        if encoder is None:
            return cls(_forests(frame, labels, n_estimators, contamination, seed))
        try:
            rows = encoder.fit_transform(frame)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"X_train cannot be encoded for an isolation forest ({first_line(error)}). Pass "
                "your own Pipeline that ends with an isolation forest to Plausibility."
            ) from error
        forests = _forests(rows, labels, n_estimators, contamination, seed)
        return cls({label: make_pipeline(encoder, forest) for label, forest in forests.items()})

    def forest_of(self, label: Any) -> Any:
        """Return the isolation forest of a class.

        Parameters
        ----------
        label : label or None
            Label of the class, None for a regressor.

        Returns
        -------
        IsolationForest or Pipeline
            The fitted forest.

        Raises
        ------
        InputError
            If the class has no forest.

        Examples
        --------
        >>> from counterfolio import Plausibility
        >>> Plausibility.fit(X_train, y).forest_of("granted")
        IsolationForest(contamination=0.1, random_state=0)
        """
        if not isinstance(self.forests, Mapping):
            return self.forests
        if label is None:
            raise InputError(
                "a regressor has no classes. Pass one isolation forest for all rows to "
                "Plausibility."
            )
        if label not in self.forests:
            labels = ", ".join(repr(key) for key in self.forests)
            raise InputError(
                f"plausibility has no isolation forest for class {label!r}, only for {labels}. Add "
                "one."
            )
        return self.forests[label]


def is_forest(model: Any) -> bool:
    """Return whether a model is a fitted isolation forest, or a pipeline that ends with one."""
    last = last_step(model) if is_pipeline(model) else model
    return kind_of(last).name == "IsolationForest" and hasattr(last, "estimators_")


def decides_alike(model: Any) -> bool | None:
    """Return whether a forest accepts every row (True) or rejects every row (False), else None."""
    forest = last_step(model) if is_pipeline(model) else model
    if longest(forest) > 0 and np.isfinite(least_length(forest)):
        return None
    row = np.zeros((1, forest.n_features_in_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may have been fitted with names
        return bool(forest.predict(row)[0] == 1)


def _forests(
    rows: Any, labels: Any, n_estimators: int, contamination: float, seed: int
) -> dict[Any, Any]:
    from sklearn.ensemble import IsolationForest

    def fitted(part: Any) -> Any:
        forest = IsolationForest(
            n_estimators=n_estimators, contamination=contamination, random_state=seed
        )
        return forest.fit(part)

    return {label: fitted(rows[labels == label]) for label in np.unique(labels).tolist()}


def _encoder(frame: pd.DataFrame) -> Any:
    """Return a transformer that encodes a frame as numbers, or None if it holds numbers only."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    each = [(at, frame.iloc[:, at]) for at in range(frame.shape[1])]
    words = [at for at, column in each if is_category(column, text_is_category=True)]
    gaps = [at for at, column in each if at not in words and column.isna().any()]
    if not words and not gaps:
        return None
    one_hot = OneHotEncoder(
        max_categories=MOST_CATEGORIES, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    fill = SimpleImputer(strategy="median", add_indicator=True)
    return make_column_transformer(
        (one_hot, words), (fill, gaps), remainder="passthrough", sparse_threshold=0.0
    )
