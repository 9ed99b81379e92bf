"""Benchmarks of forests that are slow to read or to search: many trees without depth limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from portfolio.api.explainer import Explainer
from portfolio.bench.goal_measures import Figures, read_and_timed, timed
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

    def fit(self, X: pd.DataFrame, y: Any) -> Any:
        """Return the fitted forest."""
        return self.unfitted.fit(X, y)

    @property
    def unfitted(self) -> Any:
        """The forest before it is fitted."""
        from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

        kind = ExtraTreesClassifier if self.extra else RandomForestClassifier
        return kind(self.trees, max_depth=self.depth, random_state=0)


@dataclass(frozen=True)
class DrawnRows:
    """Rows that are drawn with a seed."""

    count: int = 4  # number of rows
    seed: int = 1  # seed

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the first row of a table, for the warm-up, and the drawn ones."""
        places = np.random.RandomState(self.seed).choice(len(table), self.count, replace=False)
        return table.iloc[[0, *places]]


@dataclass(frozen=True)
class ChosenRow:
    """Row at a position."""

    place: int  # position in the table

    def of(self, table: pd.DataFrame) -> pd.DataFrame:
        """Return the first row of a table, for the warm-up, and the chosen one."""
        return table.iloc[[0, self.place]]


FOUR = DrawnRows()


def spambase(forest: Forest, rows: DrawnRows | ChosenRow, folder: Path) -> Figures:
    """Measure a forest of SP."""
    data = one_dataset(folder, "SP")
    return timed(Explainer(forest.fit(data.X, data.y), data.X, data.space), rows.of(data.X))


def digits(forest: Forest, _: Path) -> Figures:
    """Measure a forest of scikit-learn's digits."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True, as_frame=True)
    return timed(Explainer(forest.fit(X, y), X), FOUR.of(X))


def cancer(forest: Forest, _: Path) -> Figures:
    """Measure a forest of scikit-learn's breast cancer table."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return timed(Explainer(forest.fit(X, y), X), DrawnRows(count=20).of(X))


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
    model = make_pipeline(columns, Forest(500).unfitted).fit(X, y)
    return read_and_timed(partial(Explainer, model, X), X, rows=10)
