"""Benchmarks of forests that are slow to read or to search: many trees without depth limit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from portfolio.api.explainer import Explainer
from portfolio.bench.goal_measures import Figures, measure_reading, time_rows
from portfolio.data.collection import one_dataset

AD_ROWS = 7000  # number of rows
# Rows, columns of numbers, and numbers of categories of a public table of telephone contracts.
CHURN_ROWS, CHURN_NUMBERS, CHURN_CATEGORIES = 7043, 3, (2,) * 6 + (3,) * 9 + (4,)


@dataclass(frozen=True)
class Forest:
    """Forest of scikit-learn with its default settings."""

    trees: int  # number of trees
    extra: bool = False  # whether the trees are extremely randomised
    depth: int | None = None  # largest depth, None for no limit

    @property
    def model(self) -> Any:
        """The model, not fitted."""
        from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

        kind = ExtraTreesClassifier if self.extra else RandomForestClassifier
        return kind(self.trees, max_depth=self.depth, random_state=0)


def random_rows(table: pd.DataFrame, count: int = 4, seed: int = 1) -> pd.DataFrame:
    """Return the first row of a table, for the warm-up, and random ones."""
    places = np.random.RandomState(seed).choice(len(table), count, replace=False)
    return table.iloc[[0, *places]]


def spambase(
    forest: Forest, folder: Path, rows: Callable[[pd.DataFrame], pd.DataFrame] = random_rows
) -> Figures:
    """Measure a forest of SP on some rows, the first of which is the warm-up."""
    data = one_dataset(folder, "SP")
    return time_rows(Explainer(forest.model.fit(data.X, data.y), data.X, data.space), rows(data.X))


def digits(forest: Forest, _: Path) -> Figures:
    """Measure a forest of scikit-learn's digits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True, as_frame=True)
    return time_rows(Explainer(forest.model.fit(X, y), X), random_rows(X))


def cancer(forest: Forest, _: Path) -> Figures:
    """Measure a forest of scikit-learn's breast cancer table."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return time_rows(Explainer(forest.model.fit(X, y), X), random_rows(X, 20))


def adult_pipeline(folder: Path) -> Figures:
    """Measure a forest of 500 trees behind one-hot columns and a scaler, on rows of AD."""
    (path,) = folder.glob("AD.csv*")
    rows = pd.read_csv(path, skiprows=[1, 2]).sample(AD_ROWS, random_state=0)
    kinds = pd.read_csv(path, nrows=1).iloc[0]
    label = rows.columns[-1]
    categories = [name for name in rows.columns if kinds[name] == "C"]
    return _pipeline(rows.drop(columns=label), rows[label], categories)


def churn_pipeline(_: Path) -> Figures:
    """Measure a forest of 500 trees behind one-hot columns and a scaler, on a churn-like table."""
    rng = np.random.default_rng(0)
    numbers = {f"n{i}": rng.gamma(2.0, 30.0, CHURN_ROWS).round(2) for i in range(CHURN_NUMBERS)}
    words = {
        f"c{i}": np.array(list("abcd"))[rng.integers(0, size, CHURN_ROWS)]
        for i, size in enumerate(CHURN_CATEGORIES)
    }
    X = pd.DataFrame(numbers | words)
    score = 0.02 * (X.n0 - X.n1) + (X.c0 == "a") + 2.0 * (X.c15 == "b") + rng.normal(size=len(X))
    return _pipeline(X, score > 1.0, list(words))


def _pipeline(X: pd.DataFrame, y: pd.Series, categories: Sequence[str]) -> Figures:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), list(categories)), remainder=StandardScaler()
    )
    model = make_pipeline(columns, Forest(500).model).fit(X, y)
    return measure_reading(partial(Explainer, model, X), X, rows=10)
