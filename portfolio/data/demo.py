"""Demo model, a forest on scikit-learn's bundled breast cancer data."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd


@dataclass(frozen=True, eq=False)
class Demo:
    """Trained model, its data, and rows predicted as malignant."""

    model: Any  # fitted RandomForestClassifier
    X: pd.DataFrame  # float64 frame (n_rows, n_columns), the training data
    y: "np.ndarray[Any, Any]"  # (n_rows,), labels of the training data
    rows: pd.DataFrame  # frame of some training rows that are predicted differently from the target
    target: str  # label to reach


def make_demo(n_rows: int, seed: int) -> Demo:
    """Train a forest on tumour measurements, and pick rows that are predicted malignant."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import RandomForestClassifier

    data = load_breast_cancer(as_frame=True)
    # Ten mean measurements suffice; the other twenty are variants of them.
    X = data.data.iloc[:, :10]
    y = np.asarray(data.target_names)[data.target]
    model = RandomForestClassifier(50, max_depth=5, random_state=seed).fit(X, y)
    against = X[model.predict(X) == "malignant"]
    return Demo(model, X, y, against.sample(n_rows, random_state=seed), "benign")
