"""The models the command line can train itself."""

from typing import Any, Literal

import numpy as np

from encoders.errors import InputError
from portfolio.data.datasets import Dataset

Trainable = Literal["forest", "hard-forest", "xgboost"]


def train(dataset: Dataset, kind: Trainable, trees: int, depth: int, seed: int) -> Any:
    """A fitted model; deterministic for a seed.

    Parameters
    ----------
    dataset : all of its rows are trained on
    kind : of model
    trees : how many
    depth : their largest
    seed : of the model

    Raises
    ------
    InputError
        A value that float32, which these models read, can't hold, or a single class.
    """
    _check(dataset)
    if kind == "xgboost":
        from xgboost import XGBClassifier

        boosted = XGBClassifier(n_estimators=trees, max_depth=depth, random_state=seed)
        # XGBoost refuses [, ] and < in column names; without names it takes any table.
        return boosted.fit(dataset.X.to_numpy(), dataset.y)
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(trees, max_depth=depth, random_state=seed)
    forest.fit(dataset.X, dataset.y)
    if kind == "forest":
        return forest
    from encoders.trees.voting import HardVotingClassifier

    return HardVotingClassifier.from_fitted(forest)


def _check(dataset: Dataset) -> None:
    largest = dataset.X.abs().max()
    beyond = largest[largest > np.finfo(np.float32).max]
    if len(beyond):
        raise InputError(
            f"{dataset.name}: column {beyond.index[0]} holds {beyond.iloc[0]:g} or its negative, "
            "too large for the model to be trained, which reads float32."
        )
    if dataset.y.min() == dataset.y.max():
        raise InputError(
            f"{dataset.name}: all labels are {dataset.y[0]}; a model needs two classes to tell."
        )
