"""Models that the command line can train."""

from typing import Any, Literal

import numpy as np

from encoders.core.errors import InputError
from portfolio.data.datasets import Dataset
from portfolio.data.plain_tables import PlainTable

Trainable = Literal["forest", "hard-forest", "extra-trees", "xgboost"]


def train(dataset: Dataset | PlainTable, kind: Trainable, trees: int, depth: int, seed: int) -> Any:
    """Return a fitted model, deterministic for a seed."""
    if isinstance(dataset, PlainTable):
        return _train_pipeline(dataset, kind, trees, depth, seed)
    _check(dataset)
    if kind == "xgboost":
        from xgboost import XGBClassifier

        boosted = XGBClassifier(n_estimators=trees, max_depth=depth, random_state=seed)
        # Without names, as XGBoost rejects [, ] and < in column names.
        return boosted.fit(dataset.X.to_numpy(), dataset.y)
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    trainable = ExtraTreesClassifier if kind == "extra-trees" else RandomForestClassifier
    forest = trainable(trees, max_depth=depth or None, random_state=seed)
    forest.fit(dataset.X, dataset.y)
    if kind != "hard-forest":
        return forest
    from encoders.trees.voting import HardVotingClassifier

    return HardVotingClassifier.from_fitted(forest)


def _train_pipeline(table: PlainTable, kind: Trainable, trees: int, depth: int, seed: int) -> Any:
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    if table.y is None:
        raise InputError("--train needs one column to predict. Give it as --label.")
    if table.y.isna().any():
        raise InputError(f"the label {table.y.name!r} is missing in some rows. Drop them.")
    if table.y.nunique() < 2:
        raise InputError(f"all labels are {table.y.iloc[0]}. Add rows of at least one other class.")
    if kind != "forest":
        raise InputError(f"--train {kind} needs --dataset, got --data. Use --train forest.")
    text = make_column_selector(dtype_exclude=("number", "bool"))
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), text),
        remainder="passthrough",
        sparse_threshold=0.0,
    )
    forest = RandomForestClassifier(trees, max_depth=depth or None, random_state=seed)
    return make_pipeline(columns, forest).fit(table.X, table.y)


def _check(dataset: Dataset) -> None:
    largest = dataset.X.abs().max()
    beyond = largest[largest > np.finfo(np.float32).max]
    if len(beyond):
        raise InputError(
            f"{dataset.name}: column {beyond.index[0]} holds a value of magnitude "
            f"{beyond.iloc[0]:g}, but the model reads float32. Rescale the column."
        )
    if dataset.y.min() == dataset.y.max():
        raise InputError(
            f"{dataset.name}: all labels are {dataset.y[0]}. Add rows of at least one other class."
        )
