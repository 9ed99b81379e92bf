"""Random models whose members are pipelines, searches and frozen estimators."""

import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from xgboost import XGBClassifier, XGBRegressor

QUIET = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
FOREST = {"n_estimators": 3, "max_depth": 3, "random_state": 0}
CLASSIFIERS = {
    "forest": lambda: RandomForestClassifier(**FOREST),
    "gradient": lambda: GradientBoostingClassifier(n_estimators=2, max_depth=2),
    "histograms": lambda: HistGradientBoostingClassifier(
        max_iter=2, max_depth=2, min_samples_leaf=5
    ),
    "xgboost": lambda: XGBClassifier(n_estimators=2, max_depth=2, n_jobs=1),
    "lightgbm": lambda: LGBMClassifier(n_estimators=2, num_leaves=4, verbose=-1, n_jobs=1),
    "catboost": lambda: CatBoostClassifier(iterations=2, depth=2, **QUIET),
}
REGRESSORS = {
    "forest": lambda: RandomForestRegressor(**FOREST),
    "gradient": lambda: GradientBoostingRegressor(n_estimators=3, max_depth=2),
    "histograms": lambda: HistGradientBoostingRegressor(
        max_iter=3, max_depth=2, min_samples_leaf=5
    ),
    "xgboost": lambda: XGBRegressor(n_estimators=3, max_depth=2, n_jobs=1),
    "lightgbm": lambda: LGBMRegressor(n_estimators=3, num_leaves=4, verbose=-1, n_jobs=1),
    "catboost": lambda: CatBoostRegressor(iterations=3, depth=2, **QUIET),
}
CHOICES = {
    "forest": {"max_depth": [2, 3]},
    "gradient": {"learning_rate": [0.1, 0.5]},
    "histograms": {"learning_rate": [0.1, 0.5]},
    "xgboost": {"max_depth": [1, 2]},
    "lightgbm": {"learning_rate": [0.1, 0.5]},
    "catboost": {"depth": [1, 2]},
}


def scaler(rng):
    return [StandardScaler(), MinMaxScaler(), FunctionTransformer(np.negative)][rng.integers(3)]


def columns(rng, categories, by_place=False):
    """Return a step for numbers, or for numbers and one column of text."""
    if not categories:
        return scaler(rng)
    encoder = [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()][rng.integers(2)]
    numbers, text = (slice(0, 3), [3]) if by_place else (list("abc"), ["kind"])
    dense = float(rng.choice([0.0, 1.0]))  # then it is sparse, without its zeros
    return ColumnTransformer(
        [("numbers", scaler(rng), numbers), ("text", encoder, text)], sparse_threshold=dense
    )


def single(rng, kinds=CLASSIFIERS):
    """Return a model without members, maybe in a search."""
    kind = str(rng.choice(list(kinds)))
    model = kinds[kind]()
    match int(rng.integers(4)):
        case 0:
            return GridSearchCV(model, CHOICES[kind], cv=2)
        case 1:
            return RandomizedSearchCV(model, CHOICES[kind], n_iter=1, cv=2, random_state=0)
    return model


def piped(rng, categories, kinds=CLASSIFIERS, by_place=False):
    """Return a pipeline, maybe of pipelines, maybe in a search."""
    model = single(rng, kinds)
    if rng.random() < 0.3:
        model = make_pipeline(FunctionTransformer(), model)
    model = make_pipeline(columns(rng, categories, by_place), model)
    return GridSearchCV(model, {}, cv=2) if rng.random() < 0.2 else model


def classifier(rng, X, y, categories):
    """Return a fitted classifier of two classes, some of whose members are pipelines."""
    kinds = ["pipeline", "frozen", "calibrated", "soft", "hard", "bagging", "threshold", "inside"]
    kind = str(rng.choice(kinds))
    half = len(X) // 2
    method = str(rng.choice(["sigmoid", "isotonic"]))
    match kind:
        case "pipeline":
            return kind, piped(rng, categories).fit(X, y)
        case "frozen":
            member = piped(rng, categories).fit(X[:half], y[:half])
            model = CalibratedClassifierCV(FrozenEstimator(member), method=method)
            return kind, model.fit(X[half:], y[half:])
        case "calibrated":
            model = CalibratedClassifierCV(piped(rng, categories), method=method, cv=2)
            return kind, model.fit(X, y)
        case "soft" | "hard":
            members = [(name, piped(rng, categories)) for name in ("one", "two", "three")]
            if not categories and rng.random() < 0.5:
                members[0] = ("one", single(rng))
            if kind == "soft":
                members = members[:2]
            return kind, VotingClassifier(members, voting=kind).fit(X, y)
        case "bagging":
            share = float(rng.choice([0.7, 1.0])) if not categories else 1.0
            member = piped(rng, categories, by_place=True)
            model = BaggingClassifier(member, 3, max_features=share, random_state=0)
            return kind, model.fit(X, y)
        case "threshold":
            inner = piped(rng, categories).fit(X, y)
            least = float(np.quantile(inner.predict_proba(X)[:, 1], rng.random()))
            return kind, FixedThresholdClassifier(FrozenEstimator(inner), threshold=least).fit(X, y)
    inner = VotingClassifier([("one", piped(rng, False)), ("two", single(rng))], voting="soft")
    return kind, make_pipeline(columns(rng, categories), inner).fit(X, y)


def regressor(rng, X, y, categories):
    """Return a fitted regressor, some of whose members are pipelines."""
    if rng.random() < 0.5:
        members = [(name, piped(rng, categories, REGRESSORS)) for name in ("one", "two")]
        return VotingRegressor(members, weights=[2, 1]).fit(X, y)
    member = piped(rng, categories, REGRESSORS, by_place=True)
    return BaggingRegressor(member, 2, random_state=0).fit(X, y)
