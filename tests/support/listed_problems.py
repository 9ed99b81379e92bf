"""Small problems whose rows can all be listed, with random relations between features."""

import itertools
import json
import math

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from xgboost import XGBClassifier

from portfolio import (
    AllowedPairs,
    Becomes,
    Changes,
    Explainer,
    Forbidden,
    HardVotingClassifier,
    Implies,
    Linear,
    Precedence,
    Rises,
    Stays,
    Together,
)

GRID = {"a": range(5), "b": range(4), "c": range(2), "d": range(3)}
RANGE = {"a": 4.0, "b": 3.0, "c": 1.0, "d": 1.0}
COLUMNS = ["a", "b", "c", "d_x", "d_y", "d_z"]
LABELS = ("x", "y", "z")
KINDS = ("forest", "extra", "hard", "xgboost", "lightgbm")
ALL = np.array(list(itertools.product(*GRID.values())), dtype=float)


def encoded(rows):
    """Rows of the grid as the models read them."""
    one_hot = np.eye(3)[rows[:, 3].astype(int)]
    return pd.DataFrame(np.hstack([rows[:, :3], one_hot]), columns=COLUMNS)


def back(row):
    """A row of a model as one of the grid."""
    values = np.asarray(row, dtype=float).ravel()
    return np.r_[values[:3], values[3:].argmax()]


def some_relations(rng, only=None):
    """Relations, and what they say of rows of the grid beside a query; one or two, or just one."""
    own = {
        "forbidden": lambda: (
            Forbidden(Rises("a"), Becomes("d", LABELS[k])),
            lambda r, q: ~((r[:, 0] > q[0]) & (r[:, 3] == k)),
        ),
        "stays": lambda: (
            Forbidden(Changes("b"), Stays("c")),
            lambda r, q: ~((r[:, 1] != q[1]) & (r[:, 2] == q[2])),
        ),
        "pairs": lambda: (
            AllowedPairs("a", "b", pairs),
            lambda r, q: np.array([(a, b) in set(pairs) for a, b in r[:, :2]]),
        ),
        "mixed": lambda: (
            AllowedPairs("d", "c", mixed),
            lambda r, q: np.array([(LABELS[int(d)], c) in set(mixed) for c, d in r[:, 2:]]),
        ),
        "precedence": lambda: (
            Precedence("d", [LABELS[i] for i in order]),
            lambda r, q: np.array(
                [
                    not (f in order and q[3] in order and order.index(f) < order.index(q[3]))
                    for f in r[:, 3]
                ]
            ),
        ),
        "sum": lambda: (
            Linear({"a": 1, "b": -1}, "<=", float(k)),
            lambda r, q: r[:, 0] - r[:, 1] <= k,
        ),
        "implies": lambda: (
            Implies(Changes("d"), Rises("b")),
            lambda r, q: (r[:, 3] == q[3]) | (r[:, 1] > q[1]),
        ),
        "together": lambda: (
            Together("a", "c"),
            lambda r, q: (r[:, 0] != q[0]) == (r[:, 2] != q[2]),
        ),
        "follows": lambda: (
            AllowedPairs("a", "b", follows),
            lambda r, q: np.array([follows.get(a) == b for a, b in r[:, :2]]),
        ),
    }
    k = int(rng.integers(3))
    every = list(itertools.product(range(5), range(4)))
    pairs = [tuple(map(int, every[i])) for i in rng.choice(len(every), 11, replace=False)]
    others = list(itertools.product(LABELS, (0, 1)))
    mixed = [others[i] for i in rng.choice(len(others), 4, replace=False)]
    order = list(map(int, rng.permutation(3)[: rng.integers(2, 4)]))
    follows = {a: int(b) for a, b in enumerate(rng.integers(4, size=5)) if rng.random() < 0.9}
    follows = follows or {0: 0}
    names = [only] if only else rng.choice(list(own), int(rng.integers(1, 3)), replace=False)
    relations, tells = zip(*(own[name]() for name in names), strict=True)
    return list(relations), lambda r, q: np.all([tell(r, q) for tell in tells], axis=0)


def some_model(rng, kind, X, classes=2):
    weight = rng.normal(size=6)
    signal = X.to_numpy() @ weight + rng.normal(size=len(X)) * 0.5
    y = np.digitize(signal, np.quantile(signal, [0.55, 0.85])[: classes - 1])
    seed, trees, depth = int(rng.integers(2**31)), int(rng.integers(2, 8)), int(rng.integers(2, 4))
    match kind:
        case "forest":
            model = RandomForestClassifier(trees, max_depth=depth, random_state=seed)
        case "extra":
            model = ExtraTreesClassifier(trees, max_depth=depth, random_state=seed)
        case "hard":
            model = HardVotingClassifier(
                RandomForestClassifier(trees, max_depth=depth, random_state=seed)
            )
        case "xgboost":
            model = XGBClassifier(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=1)
        case "lightgbm":
            model = LGBMClassifier(
                n_estimators=trees,
                max_depth=depth,
                min_child_samples=4,
                random_state=seed,
                n_jobs=1,
                verbose=-1,
            )
    return model.fit(X, y)


class Case:
    """A model of the grid, a row that it refuses, and what every row of the grid costs."""

    def __init__(self, seed, only=None, classes=2):
        self.rng = rng = np.random.default_rng(seed)
        kind = KINDS[seed % len(KINDS)]
        self.X = encoded(ALL[rng.integers(len(ALL), size=80)])
        for i, row in enumerate(
            encoded(np.array([[0, 0, 0, 0], [4, 3, 1, 1], [0, 0, 0, 2]])).to_numpy()
        ):
            self.X.iloc[i] = row
        self.model = some_model(rng, kind, self.X, classes)
        self.grid = encoded(ALL)
        self.labels = np.ravel(self.model.predict(self.grid))
        refused = np.flatnonzero(self.labels == 0)
        self.q = ALL[rng.choice(refused)] if refused.size else None
        if self.q is None:
            return
        self.x = encoded(self.q[None, :]).iloc[0]
        self.relations, self.tell = some_relations(rng, only)
        self.allowed = self.tell(ALL, self.q)
        self.cost = self.costs(self.q)
        self.where = f"seed {seed}, {kind}, {self.relations}, {self.q}"

    def costs(self, q):
        return np.abs(ALL - q)[:, :3] / [4.0, 3.0, 1.0] @ np.ones(3) + (ALL[:, 3] != q[3])

    def explainer(self, **more):
        return Explainer(
            self.model,
            self.X,
            features={"a": {"kind": "ordinal"}, "b": {"kind": "ordinal"}},
            **more,
        )

    def changed(self):
        return self.q != ALL


def cases(part, size=6):
    """Two cases of each part that always runs, and more of the others."""
    for seed in range(part * size, part * size + (size if part else 2)):
        case = Case(seed)
        if case.q is not None:
            yield case


def check(found, best, where):
    """The distance is the best there is, and the JSON tells the same."""
    assert found.status == ("infeasible" if math.isinf(best) else "optimal"), (where, best, found)
    assert math.isclose(found.distance, best, rel_tol=1e-9, abs_tol=1e-12), (where, best, found)
    told = json.loads(found.to_json())
    assert told == json.loads(json.dumps(found.to_dict())), where
    assert told["status"] == found.status, where


def in_region(region):
    """Which rows of the grid a region holds."""
    held = [np.array([region[n].holds(float(v)) for v in ALL[:, i]]) for i, n in enumerate("abc")]
    d = np.array([region["d"].holds(LABELS[int(v)]) for v in ALL[:, 3]])
    return np.all([*held, d], axis=0)


def check_widest(case, region, right):
    """A region holds, and no side of it can be moved on."""
    inside = in_region(region)
    assert region.status == "optimal" and right[inside].all(), (case.where, region)
    json.loads(region.to_json())
    values = [set(ALL[inside][:, at]) for at in range(4)]
    for at, name in enumerate(GRID):
        for v in set(map(float, GRID[name])) - values[at]:
            if name == "d" or {v - 1, v + 1} & values[at]:
                tried = [{v} if i == at else values[i] for i in range(4)]
                wider = np.all([np.isin(ALL[:, i], list(t)) for i, t in enumerate(tried)], axis=0)
                assert not right[wider].all(), (case.where, name, v, region)
