"""Models whose members take native categories, and where their libraries cut the numbers."""

import numpy as np
import pandas as pd
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from tests.support.brute import halfway
from tests.support.brute_tables import Raw, around, cuts

N = 200
MORE = ["catboost", "forest", "tree"]  # that take numbers for numbers


def table(seed, numbers=False):
    """Two numbers and two columns of categories, text or numbers; some are rare."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"income": random.normal(size=N).round(1), "debt": random.gamma(2, 2, N).round(1)}
    )
    size, job = random.choice([3, 7, 11], N), random.choice(5, N, p=[0.4, 0.3, 0.2, 0.08, 0.02])
    hidden = (X.income > 0.2).to_numpy() ^ np.isin(job, [1, 3]) ^ (size == 7)
    if numbers:
        X["job"], X["size"] = job * 2.0, size.astype(float)
    else:
        names = np.array(["smith", "cook", "pilot", "nurse", "clerk"])
        X["job"] = pd.Categorical(names[job], categories=names)
        X["size"] = pd.Categorical(size)
    y = np.where(hidden ^ (random.random(N) < 0.1), "yes", "no")
    return X, np.where(X.debt > 7, "perhaps", y) if seed % 3 == 2 else y


def _member(random, numbers, coded=False):
    trees, seed = int(random.integers(1, 4)), int(random.integers(99))
    onehot = int(random.choice([1, 10]))
    kinds = ["histograms", "xgboost", "lightgbm", *MORE * (numbers and not coded)]
    match str(random.choice(kinds)):
        case "histograms":
            own = [2, 3] if numbers else "from_dtype"
            return HistGradientBoostingClassifier(
                max_iter=trees, max_depth=2, min_samples_leaf=5, categorical_features=own
            )
        case "xgboost":
            types = {"feature_types": ["q", "q", "c", "c"]} if numbers else {}
            return XGBClassifier(
                n_estimators=trees, max_depth=2, enable_categorical=True, max_cat_to_onehot=onehot,
                tree_method="hist", **types,
            )  # fmt: skip
        case "lightgbm":
            own = {"categorical_feature": [2, 3]} if numbers else {}
            return LGBMClassifier(
                n_estimators=trees, max_depth=2, verbose=-1, min_child_samples=5, cat_smooth=1,
                min_data_per_group=5, max_cat_to_onehot=onehot, n_jobs=1, **own,
            )  # fmt: skip
        case "catboost":
            return CatBoostClassifier(  # a copy of it loses cat_features
                iterations=trees, depth=2, border_count=8, verbose=0, allow_writing_files=False,
                thread_count=1,
            )  # fmt: skip
        case "forest":
            return RandomForestClassifier(trees, max_depth=2, random_state=seed)
    return DecisionTreeClassifier(max_depth=3, random_state=seed)


def model_of(kind, random, X, y, numbers):
    """A fitted model; votes of CatBoost on three classes can't be counted, so it is soft then."""
    members = [(f"m{at}", _member(random, numbers, at == 0)) for at in range(2)]
    if kind == "bagging":
        first = HistGradientBoostingClassifier(
            max_iter=1, max_depth=3, min_samples_leaf=5, categorical_features=[2, 3]
        )
        return BaggingClassifier(first, 2, random_state=0).fit(X, y)
    if kind == "soft":
        weights = None if random.random() < 0.5 else [1.0, 2.5]
        return VotingClassifier(members, voting="soft", weights=weights).fit(X, y)
    if kind == "hard":
        kept = [own for own in members if not (len(set(y)) > 2 and "Cat" in str(type(own[1])))]
        return VotingClassifier(kept or [("tree", _member(random, True))]).fit(X, y)
    y = np.where(y == "perhaps", "no", y)
    below = members[0][1]
    if "XGB" in type(below).__name__:
        y = (y == "yes").astype(int)
    if "CatBoost" in type(below).__name__:  # calibrators take no probabilities of it
        below = HistGradientBoostingClassifier(
            max_iter=2, categorical_features=[2, 3] if numbers else "from_dtype"
        )
    if kind == "calibrated":
        return CalibratedClassifierCV(FrozenEstimator(below.fit(X, y))).fit(X, y)
    return CalibratedClassifierCV(
        below, cv=2, method=str(random.choice(["sigmoid", "isotonic"]))
    ).fit(X, y)


def _leaf_models(model):
    if hasattr(model, "calibrated_classifiers_"):
        pairs = model.calibrated_classifiers_
        return [own for pair in pairs for own in _leaf_models(pair.estimator)]
    if type(model).__name__ == "FrozenEstimator":
        return _leaf_models(model.estimator)
    if type(model).__name__ in ("VotingClassifier", "BaggingClassifier"):
        return [own for member in model.estimators_ for own in _leaf_models(member)]
    return [model]


def raws(model, X, categories):
    """Candidate values of each column, ``categories`` of each value that is there."""
    ends = [set() for _ in X.columns]
    for leaf in _leaf_models(model):
        found, dtype = cuts(leaf, X)
        for own, values in zip(ends, found, strict=True):
            for value in values:
                own.update([value] if dtype is np.float64 else halfway(value))
    parts = []
    for own, name in zip(ends, X.columns, strict=True):
        if name in categories:
            parts.append(Raw(name, tuple(X[name].dropna().unique()), number=False))
        else:
            low, high = X[name].min(), X[name].max()
            near = [value for value in own if abs(value) < 1e30]
            parts.append(Raw(name, around(near, low, high, False), spread=high - low))
    return parts
