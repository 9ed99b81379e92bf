"""Small tables with gaps: every row of the feature space, and what the model itself predicts."""

import itertools
import warnings

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from portfolio import Explainer

LABELS = list("abcd")
KINDS = ("xgboost", "lightgbm", "hist", "forest", "imputed", "text")


def random_table(rng, kind):
    """A table of whole numbers, quarters and, where the model takes them, categories."""
    n = int(rng.integers(50, 90))
    numbers = {
        "whole": rng.integers(0, 4, n).astype(float),
        "quarter": rng.integers(0, 6, n) / 4,
    }
    for name, values in numbers.items():
        numbers[name] = np.where(rng.random(n) < 0.25, np.nan, values)
    X = pd.DataFrame(numbers)
    if kind not in ("forest", "imputed"):
        label = np.where(
            rng.random(n) < 0.25, None, np.array(LABELS, dtype=object)[rng.integers(0, 4, n)]
        )
        X["label"] = label if kind == "text" else pd.Categorical(label, categories=LABELS)
    return X


def random_target(rng, X):
    """A class that depends on each value by a random amount, a missing one included."""
    score = np.zeros(len(X))
    for name in X.columns:
        code, _ = pd.factorize(X[name], use_na_sentinel=False)
        score += rng.normal(size=code.max() + 1)[code]
    return (score > np.median(score)).astype(int)


def fitted(rng, kind, X, y):
    """A small model of a kind."""
    seed, depth = int(rng.integers(1000)), int(rng.integers(2, 5))
    trees = {"n_estimators": int(rng.integers(1, 5)), "n_jobs": 1, "random_state": seed}
    forest = RandomForestClassifier(**trees, max_depth=depth)
    if kind == "xgboost":
        small = {"min_child_weight": 0.1, "max_cat_to_onehot": int(rng.integers(1, 6))}
        return XGBClassifier(**trees, **small, max_depth=depth, enable_categorical=True).fit(X, y)
    if kind == "lightgbm":
        small = {"min_child_samples": 2, "min_data_per_group": 1, "cat_smooth": 1, "verbose": -1}
        return LGBMClassifier(**trees, **small, num_leaves=2**depth).fit(X, y)
    if kind == "hist":
        limits = {"max_iter": trees["n_estimators"], "max_depth": depth, "min_samples_leaf": 2}
        model = HistGradientBoostingClassifier(**limits, categorical_features="from_dtype")
        return model.fit(X, y)
    imputer = SimpleImputer(strategy="median", add_indicator=bool(rng.random() < 0.5))
    if kind == "imputed":
        return make_pipeline(imputer, forest).fit(X, y)
    if kind == "text":
        encoder = OneHotEncoder(handle_unknown="ignore")
        steps = make_column_transformer((imputer, ["whole", "quarter"]), (encoder, ["label"]))
        return make_pipeline(steps, forest).fit(X, y)
    return forest.fit(X, y)


class Space:
    """A random model with its explainer, and every row of its feature space."""

    def __init__(self, seed, features=None):
        self.rng = rng = np.random.default_rng(seed)
        self.kind = KINDS[seed % len(KINDS)]
        self.X = random_table(rng, self.kind)
        self.model = fitted(rng, self.kind, self.X, random_target(rng, self.X))
        self.x = self.X.iloc[[int(rng.integers(len(self.X)))]]
        self.explainer = Explainer(self.model, self.X, features=features)
        self.values = {
            name: [*sorted(self.X[name].dropna().unique().tolist()), None] for name in self.X
        }
        if features is None:  # splits are at eighths: of what lies between, one number is enough
            low, high = self.X["quarter"].min(), self.X["quarter"].max()
            self.values["quarter"] = [*np.arange(low, high + 1 / 32, 1 / 16).tolist(), None]
        self.use([*itertools.product(*self.values.values())])

    def use(self, rows):
        """Take other rows for those of the feature space."""
        self.rows = pd.DataFrame(rows, columns=self.X.columns, dtype=object)
        typed = self.rows.astype(self.X.dtypes.to_dict())
        if self.kind == "text":
            typed["label"] = typed["label"].where(typed["label"].notna(), None)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.predicted = np.ravel(self.model.predict(typed))
            self.own = self.model.predict(self.x)[0]

    def equal(self, name, value):
        """Rows with a value, bool (n_rows,)."""
        column = self.rows[name]
        return (column.isna() if value is None else column == value).to_numpy()

    def where(self, name, passes):
        """Rows whose value passes, bool (n_rows,)."""
        every = {v: bool(passes(v)) for v in self.rows[name].where(self.rows[name].notna(), None)}
        return np.array([every[None if v != v else v] for v in self.rows[name]])
