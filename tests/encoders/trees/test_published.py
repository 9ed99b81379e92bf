"""Smallest adversarial perturbations of boosted trees, as the literature on robustness asks.

Its models come from LIBSVM files: columns are numbered from 1, so that the first is never used,
many features occur in no tree, trees were pruned, thresholds are shared by many trees, and the
query may go far outside the data.
"""

import io
import math

import numpy as np
import pytest
import xgboost
from sklearn.datasets import dump_svmlight_file, load_breast_cancer, load_digits, load_svmlight_file

from encoders.core.errors import InputError
from portfolio import Explainer
from portfolio.model.open_file import open_model
from tests.support.brute import predicted


def from_libsvm(X, y, **params):
    """A booster trained on the rows as a LIBSVM file has them, and the rows, column 0 empty."""
    kept = io.BytesIO()
    dump_svmlight_file(X, y, kept, zero_based=False)
    kept.seek(0)
    rows, labels = load_svmlight_file(kept, n_features=X.shape[1] + 1, zero_based=True)
    rows = rows.toarray()
    assert (rows[:, 0] == 0).all()
    matrix = xgboost.DMatrix(rows, label=labels)
    return xgboost.train({"tree_method": "exact", **params}, matrix, 12), rows


@pytest.fixture(scope="module")
def binary():
    X, y = load_breast_cancer(return_X_y=True)
    X = np.round((X - X.min(axis=0)) / np.ptp(X, axis=0), 2)  # few values: thresholds repeat
    params = {"objective": "binary:logistic", "max_depth": 4, "gamma": 0.8, "eta": 0.6}
    return from_libsvm(X, y, **params)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    params = {"objective": "multi:softprob", "num_class": 4, "max_depth": 3, "gamma": 0.5}
    return from_libsvm(X / 16, y, **params)


def numeric(n_columns, low, high):
    entry = {"kind": "numeric", "bounds": [low, high]}
    return {f"x{column}": entry for column in range(n_columns)}


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["inf", 1, 2])
def test_pruned_binary_models(binary, norm, tmp_path):
    booster, X = binary
    used = set(booster.get_score())
    assert 0 < len(used) < X.shape[1] - 5 and "f0" not in used
    booster.save_model(tmp_path / "model.json")
    loaded = open_model(tmp_path / "model.json")
    explainer = Explainer(loaded, X, features=numeric(X.shape[1], -100.0, 100.0))
    for row in range(0, 40, 5):
        x = X[row]
        result = explainer.explain(x, norm=norm, scale="none")
        assert result.status == "optimal" and result.margin == 0
        change = np.abs(result.counterfactual - x)
        length = change.max() if norm == "inf" else (change ** float(norm)).sum()
        assert result.distance == pytest.approx(length)
        before, after = predicted(booster, np.stack([x, result.counterfactual]))
        assert before != after
        for backend in ("search", "cp"):
            other = explainer.explain(x, norm=norm, scale="none", strategy=backend)
            assert other.distance == pytest.approx(result.distance, rel=1e-9)


def test_nothing_within_a_smaller_ball_changes_the_class(binary):
    """Random rows just inside the proved distance are all decided as before."""
    booster, X = binary
    explainer = Explainer(booster, X, features=numeric(X.shape[1], -100.0, 100.0))
    random = np.random.default_rng(0)
    for row in range(0, 60, 6):
        x = X[row]
        result = explainer.explain(x, norm="inf", scale="none")
        radius = result.distance * (1 - 1e-6)
        corners = x + radius * random.choice([-1.0, 0.0, 1.0], size=(3000, x.size))
        inside = x + radius * random.uniform(-1, 1, size=(3000, x.size))
        label = predicted(booster, x[None, :])[0]
        assert (predicted(booster, np.concatenate([corners, inside])) == label).all()


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["inf", 1])
def test_models_of_several_classes(digits, norm):
    booster, X = digits
    explainer = Explainer(booster, X, features=numeric(X.shape[1], 0.0, 1.0))
    for row in (0, 7, 15):
        nearest = explainer.explain(X[row], norm=norm, scale="none")
        assert nearest.status == "optimal"
        label = int(predicted(booster, X[row][None, :])[0])
        others = {0, 1, 2, 3} - {label}
        towards = [
            explainer.explain(X[row], target=other, norm=norm, scale="none") for other in others
        ]
        assert {r.status for r in towards} <= {"optimal", "infeasible"}
        least = min((r.distance for r in towards), default=math.inf)
        assert nearest.distance == pytest.approx(least, rel=1e-9)
        assert predicted(booster, nearest.counterfactual[None, :])[0] == nearest.target


def test_a_sparse_matrix_is_refused_in_a_sentence(binary):
    from scipy.sparse import csr_matrix

    booster, X = binary
    with pytest.raises(InputError, match="toarray"):
        Explainer(booster, csr_matrix(X))
