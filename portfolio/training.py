"""The models the command line can train itself."""

from typing import Any, Literal

from portfolio.datasets import Dataset

Trainable = Literal["forest", "hard-forest", "xgboost"]


def train(dataset: Dataset, kind: Trainable, trees: int, depth: int, seed: int) -> Any:
    """A fitted model; deterministic for a seed."""
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
    from encoders.voting import HardVotingClassifier

    return HardVotingClassifier.from_fitted(forest)
