"""A forest on scikit-learn's bundled breast cancer data: no download, real rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class Demo:
    """A trained model, its data, and rows that it decides against.

    Attributes
    ----------
    model : fitted RandomForestClassifier
    X : float64 frame (n_rows, n_columns) that it was trained on
    rows : some of them, predicted otherwise than the target
    target : the label to reach
    """

    model: Any
    X: pd.DataFrame
    rows: pd.DataFrame
    target: str


def make_demo(n_rows: int, seed: int) -> Demo:
    """Train on real tumour measurements; pick rows predicted malignant."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    data = load_breast_cancer(as_frame=True)
    # Ten mean measurements are enough to read; the other twenty repeat them.
    X = data.data.iloc[:, :10]
    y = np.asarray(data.target_names)[data.target]
    model = RandomForestClassifier(50, max_depth=5, random_state=seed).fit(X, y)
    against = X[model.predict(X) == "malignant"]
    return Demo(model, X, against.sample(n_rows, random_state=seed), "benign")
