"""Random small ensembles of every kind, with mixed features."""

import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from portfolio import HardVotingClassifier
from tests.support.brute import Spec

KINDS = ("forest", "extra", "hard", "tree", "gradient", "hist", "xgboost", "lightgbm")


def random_frame(rng, n_rows=60):
    """A frame with numeric, ordinal, binary and categorical features, and their specs."""
    columns, specs = {}, []
    for kind in rng.choice(["numeric", "ordinal", "binary", "categorical"], size=3):
        at = len(columns)
        name = f"f{len(specs)}"
        if kind == "numeric":
            values = np.round(rng.normal(size=n_rows) * 10.0 ** rng.integers(-3, 4), 6)
            columns[name] = values
            specs.append(Spec(name, kind, (at,), values.min(), values.max()))
        elif kind == "ordinal":
            values = np.r_[0, 1, 5, rng.integers(0, 6, n_rows - 3)].astype(float)
            columns[name] = values
            specs.append(Spec(name, kind, (at,), 0.0, 5.0))
        elif kind == "binary":
            low = float(rng.choice([0, 1, -1]))
            values = np.r_[low, low + 1, rng.integers(0, 2, n_rows - 2) + low]
            columns[name] = values
            specs.append(Spec(name, kind, (at,), low, low + 1, (low, low + 1)))
        else:
            code = np.r_[0, 1, 2, rng.integers(0, 3, n_rows - 3)]
            for category in range(3):
                columns[f"{name}_c{category}"] = (code == category).astype(float)
            specs.append(Spec(name, kind, (at, at + 1, at + 2), 0.0, 1.0))
    return pd.DataFrame(columns), specs


def random_model(rng, kind, X, n_classes):
    """A fitted small model; labels follow the features only loosely."""
    signal = X.to_numpy() @ rng.normal(size=X.shape[1]) / (X.to_numpy().std(axis=0).sum() + 1)
    noise = rng.normal(size=len(X)) * 0.3
    edges = np.quantile(signal + noise, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = np.digitize(signal + noise, edges)
    y[:n_classes] = np.arange(n_classes)
    seed, depth = int(rng.integers(2**31)), int(rng.integers(1, 4))
    trees = int(rng.integers(1, 6))
    match kind:
        case "forest":
            model = RandomForestClassifier(trees, max_depth=depth, random_state=seed)
        case "extra":
            model = ExtraTreesClassifier(trees, max_depth=depth, random_state=seed)
        case "hard":
            model = HardVotingClassifier(
                RandomForestClassifier(trees, max_depth=depth, random_state=seed)
            )
        case "tree":
            model = DecisionTreeClassifier(max_depth=depth, random_state=seed)
        case "gradient":
            model = GradientBoostingClassifier(
                n_estimators=min(trees, 3), max_depth=depth, random_state=seed
            )
        case "hist":
            model = HistGradientBoostingClassifier(
                max_iter=min(trees, 3), max_depth=depth, min_samples_leaf=5, random_state=seed
            )
        case "xgboost":
            from xgboost import XGBClassifier

            model = XGBClassifier(
                n_estimators=min(trees, 3),
                max_depth=depth,
                random_state=seed,
                base_score=float(rng.choice([0.3, 0.5])) if n_classes == 2 else None,
            )
        case "lightgbm":
            from lightgbm import LGBMClassifier

            model = LGBMClassifier(
                n_estimators=min(trees, 3),
                max_depth=depth,
                min_child_samples=4,
                verbose=-1,
                random_state=seed,
            )
    if kind not in ("xgboost",) and rng.random() < 0.3:
        y = np.array(["no", "perhaps", "surely", "yes"])[y]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y)
