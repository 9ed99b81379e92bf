"""Small tables with categories and gaps, models of them, and where their libraries cut them."""

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from tests.support.brute_tables import Raw, around, cuts

N = 240
TINY = float(np.float32(1e-35))
# What counts as missing, by kind of model, and where that begins and ends.
BANDS = {
    "zero_as_missing": (0.0, -TINY, TINY),
    "missing=0": (0.0, 1.5e-45, -1.5e-45),
    "missing=0.1": (0.1, 0.1),
}


def table(seed, gaps, categories):
    """Two numbers, and two category columns or none; a label that depends on all."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"income": random.normal(size=N).round(2), "debt": random.gamma(2, 2, N).round(1)}
    )
    hidden = (X.income > 0.2).to_numpy() ^ (X.debt > 5).to_numpy()
    if categories:
        job = random.choice(["clerk", "cook", "nurse", "smith", "pilot"], N)
        X["job"] = pd.Categorical(job, categories=["smith", "cook", "pilot", "nurse", "clerk"])
        X["size"] = pd.Categorical(random.choice([3, 7, 11], N))
        hidden ^= np.isin(job, ["cook", "pilot"])
    if gaps:
        X.loc[random.random(N) < 0.15, "income"] = np.nan
        if categories:
            X.loc[random.random(N) < 0.15, "job"] = np.nan
    y = np.where(hidden ^ (random.random(N) < 0.05), "yes", "no")
    if seed % 3 == 2:
        y = np.where(X.debt > 6, "perhaps", y)
    return X, y


def fitted(kind, seed, X, y):
    trees, depth = 3 + seed % 3, 2 + seed % 2
    if kind == "xgboost":
        codes = {"no": 0, "yes": 1, "perhaps": 2}
        model = xgboost.XGBClassifier(
            n_estimators=trees, max_depth=depth, enable_categorical=True,
            max_cat_to_onehot=1 + 9 * (seed % 2), tree_method="hist",
        )  # fmt: skip
        return model.fit(X, np.array([codes[label] for label in y]))
    if kind == "lightgbm":
        return lightgbm.LGBMClassifier(
            n_estimators=trees, max_depth=depth, verbose=-1, min_child_samples=5,
            min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=1 + 9 * (seed % 2),
            use_missing=seed % 4 != 3,
        ).fit(X, y)  # fmt: skip
    if kind == "histograms":
        return HistGradientBoostingClassifier(
            max_iter=trees, max_depth=depth, min_samples_leaf=5, categorical_features="from_dtype",
        ).fit(X, y)  # fmt: skip
    if kind == "catboost":
        return catboost.CatBoostClassifier(
            iterations=trees, depth=depth, one_hot_max_size=10, cat_features=list(X.columns[2:]),
            grow_policy=("SymmetricTree", "Depthwise", "Lossguide")[seed % 3], learning_rate=0.5,
            nan_mode=("Min", "Max")[seed % 2], border_count=8, verbose=0, allow_writing_files=False,
        ).fit(X, y)  # fmt: skip
    if kind in BANDS:
        if kind == "zero_as_missing":
            return lightgbm.LGBMClassifier(
                n_estimators=trees, max_depth=depth, verbose=-1, min_child_samples=5,
                zero_as_missing=True, cat_smooth=1,
            ).fit(X, y)  # fmt: skip
        model = xgboost.XGBClassifier(
            n_estimators=trees, max_depth=depth, missing=BANDS[kind][0], n_jobs=1
        )
        return model.fit(X, np.unique(y, return_inverse=True)[1])
    forests = {"forest": RandomForestClassifier, "extra": ExtraTreesClassifier}
    if kind in forests:
        return forests[kind](trees, max_depth=depth, random_state=seed).fit(X, y)
    return DecisionTreeClassifier(max_depth=depth + 1, random_state=seed).fit(X, y)


def predicted(model, rows):
    return np.ravel(model.predict(rows))


def raws(model, X, kind, first=None):
    """Columns with the values next to the model's cuts, within the bounds of the first model."""
    first = first or kind
    found, dtype = cuts(model, X)
    parts = []
    for at, name in enumerate(X.columns):
        own = X[name]
        if isinstance(own.dtype, pd.CategoricalDtype):
            parts.append(Raw(name, tuple(own.dropna().unique()), number=False))
        else:
            code = BANDS[first][0] if first.startswith("missing=") else None
            known = own[own != code]  # the model's code for missing is not part of bounds
            low, high = known.min(), known.max()
            near = [c for c in found[at] if abs(c) < 1e30] + [*BANDS.get(kind, ())]
            values = around(near, low, high, dtype is np.float32)
            beyond = code is not None and (own == code).any() and not low <= code <= high
            parts.append(Raw(name, values, spread=high - low, code=code if beyond else None))
    return parts
