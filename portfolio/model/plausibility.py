"""Counterfactuals that look like the training data of their class (appendix C of the paper)."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd

from encoders.errors import InputError
from encoders.trees.isolation import least_length, longest
from encoders.trees.kinds import kind_of
from encoders.trees.refusals import first_line
from encoders.trees.wrappers import is_pipeline, last_step
from portfolio.model.frames import as_pandas
from portfolio.model.table_of_frame import is_category
from portfolio.model.training_frame import training_frame

MOST_CATEGORIES = 20  # columns that one column of categories becomes


@dataclass(frozen=True, eq=False)
class Plausibility:
    """Isolation forests that counterfactuals must be inliers of.

    Parameters
    ----------
    forests : a fitted scikit-learn IsolationForest for all classes, or one per class label, or a
        Pipeline that ends with one; fitted on the columns of the model's frame
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

        Categories and text are one-hot encoded for it (of more than 20 in a column the rarest
        count as one), and numbers that may be missing are filled by the median, with a column
        of 0 and 1 that says so.

        Parameters
        ----------
        X_train : DataFrame (of pandas, polars or pyarrow) or array (n_rows, n_columns), as the
            model was trained on
        y : labels, (n_rows,)
        contamination : share of the training rows that count as outliers, above 0, at most 0.5
        n_estimators : trees of each forest
        seed : of the forests

        Raises
        ------
        InputError
            A value out of range, or labels that do not go with the rows.
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
                f"X_train can't be encoded for an isolation forest ({first_line(error)}). Pass "
                "your own Pipeline that ends with an isolation forest to Plausibility."
            ) from error
        found = _forests(rows, labels, n_estimators, contamination, seed)
        return cls({label: make_pipeline(encoder, forest) for label, forest in found.items()})

    def forest_of(self, label: Any) -> Any:
        """What decides for one class.

        Parameters
        ----------
        label : of the class, None for a regressor

        Raises
        ------
        InputError
            There is no forest for it.
        """
        if not isinstance(self.forests, Mapping):
            return self.forests
        if label is None:
            raise InputError(
                "a regressor has no classes. Pass one isolation forest for all rows to "
                "Plausibility."
            )
        if label not in self.forests:
            known = ", ".join(repr(key) for key in self.forests)
            raise InputError(
                f"plausibility has no isolation forest for class {label!r}, only for {known}. Add "
                "one."
            )
        return self.forests[label]


def is_forest(model: Any) -> bool:
    """Whether a model is a fitted isolation forest, or a pipeline that ends with one."""
    last = last_step(model) if is_pipeline(model) else model
    return kind_of(last).name == "IsolationForest" and hasattr(last, "estimators_")


def decides_alike(model: Any) -> bool | None:
    """Whether every row is plausible, if all rows are or none is; None where rows differ."""
    forest = last_step(model) if is_pipeline(model) else model
    if longest(forest) > 0 and np.isfinite(least_length(forest)):
        return None
    row = np.zeros((1, forest.n_features_in_))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may have been fitted on a frame
        return bool(forest.predict(row)[0] == 1)


def _forests(
    rows: Any, labels: Any, n_estimators: int, contamination: float, seed: int
) -> dict[Any, Any]:
    from sklearn.ensemble import IsolationForest

    def fitted(own: Any) -> Any:
        forest = IsolationForest(
            n_estimators=n_estimators, contamination=contamination, random_state=seed
        )
        return forest.fit(own)

    return {label: fitted(rows[labels == label]) for label in np.unique(labels).tolist()}


def _encoder(frame: pd.DataFrame) -> Any:
    """What makes numbers of a frame; None where it holds numbers in every place."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    each = [(at, frame.iloc[:, at]) for at in range(frame.shape[1])]
    words = [at for at, own in each if is_category(own, text_is_category=True)]
    gaps = [at for at, own in each if at not in words and own.isna().any()]
    if not words and not gaps:
        return None
    one_hot = OneHotEncoder(
        max_categories=MOST_CATEGORIES, handle_unknown="infrequent_if_exist", sparse_output=False
    )
    fill = SimpleImputer(strategy="median", add_indicator=True)
    return make_column_transformer(
        (one_hot, words), (fill, gaps), remainder="passthrough", sparse_threshold=0.0
    )
