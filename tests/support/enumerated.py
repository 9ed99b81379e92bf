"""Random small questions with every row that could be cheapest, from the model's own thresholds."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from xgboost import XGBClassifier

from portfolio import Explainer, Fixed, Increase, MaxChanges
from tests.support.brute import Spec, all_rows, as_frame, distances, predicted, thresholds

NORMS = (0, 1, 2, "inf")
TOP = 3  # of the ordinal features, from 0


@dataclass(frozen=True)
class Enumerated:
    """A question, and all candidates for its answers.

    ``given`` are arguments of explain; ``cost`` is of each candidate, ``reached`` whether the model
    decides for the target, ``changed`` which features differ, ``names`` theirs.
    """

    explainer: Explainer
    model: object
    x: pd.Series
    given: dict
    rows: np.ndarray
    cost: np.ndarray
    reached: np.ndarray
    changed: np.ndarray
    names: tuple

    def probability(self):
        found = self.model.predict_proba(as_frame(self.model, self.rows))
        return found[:, list(self.explainer.classes).index(self.given["target"])]


def enumerated(seed):
    """Four ordinal features, a number and a group of categories, and a small model of them."""
    rng = np.random.default_rng(seed)
    X, specs = _frame(rng)
    model = _model(rng, X)
    x = X.iloc[int(rng.integers(len(X)))]
    values, current = x.to_numpy(), int(model.predict(x.to_frame().T)[0])
    norm = NORMS[seed % len(NORMS)]
    weights = [float(w) for w in rng.choice([0.5, 1.0, 1.5], len(specs))]
    cuts, dtype = thresholds(model, X.shape[1])
    rows = all_rows(specs, values, model, dtype, cuts, limit=10**6)
    constraints = []
    kind = rng.choice(["none", "fixed", "increase", "few"])
    if kind == "fixed":
        constraints, rows = [Fixed("a")], rows[rows[:, 0] == values[0]]
    if kind == "increase":
        constraints, rows = [Increase("b")], rows[rows[:, 1] >= values[1]]
    moved = [(rows[:, s.columns] != values[list(s.columns)]).any(axis=1) for s in specs]
    changed = np.column_stack(moved)
    if kind == "few":
        few = changed[:, :3].sum(axis=1) <= 1
        constraints, rows, changed = [MaxChanges(1, ["a", "b", "c"])], rows[few], changed[few]
    units = [(s.upper - s.lower) or 1.0 for s in specs]
    return Enumerated(
        Explainer(model, X),
        model,
        x,
        {"target": 1 - current, "norm": norm, "weights": weights, "constraints": constraints},
        rows,
        distances(specs, values, rows, float(norm), units, weights),
        predicted(model, rows) == 1 - current,
        changed,
        tuple(spec.name for spec in specs),
    )


def _frame(rng):
    columns = {name: rng.integers(0, TOP + 1, 150).astype(float) for name in "abcd"}
    for values in columns.values():
        values[: TOP + 1] = np.arange(TOP + 1)
    columns["n"] = np.round(rng.normal(size=150), 3)
    code = rng.integers(0, 3, 150)
    columns |= {f"g_{label}": (code == at).astype(float) for at, label in enumerate("xyz")}
    specs = [Spec(name, "ordinal", (at,), 0.0, float(TOP)) for at, name in enumerate("abcd")]
    n = columns["n"]
    specs += [
        Spec("n", "numeric", (4,), n.min(), n.max()),
        Spec("g", "categorical", (5, 6, 7), 0, 1),
    ]
    return pd.DataFrame(columns), specs


def _model(rng, X):
    wave = X.to_numpy() @ np.r_[rng.normal(size=4), 2 * rng.normal(), rng.normal(size=3)]
    y = (wave > np.quantile(wave, rng.choice([0.3, 0.5, 0.8]))).astype(int)
    seed, trees = int(rng.integers(2**31)), int(rng.integers(2, 6))
    kinds = (RandomForestClassifier, ExtraTreesClassifier)
    if rng.random() < 0.4:
        model = XGBClassifier(n_estimators=trees, max_depth=2, random_state=seed, n_jobs=1)
    else:
        model = kinds[seed % 2](trees, max_depth=3, max_features=2, random_state=seed)
    return model.fit(X, y)
