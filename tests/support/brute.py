"""Brute force over every cell, from the native model's own thresholds and its own predict.

Nothing here uses the project's reading of trees, its cells, costs or constraints.
"""

import itertools
import json
import math
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import xgboost


@dataclass(frozen=True)
class Spec:
    """One feature as the test sees it."""

    name: str
    kind: str
    columns: tuple[int, ...]
    lower: float
    upper: float
    levels: tuple[float, ...] = ()


def thresholds(model, n_columns):
    """Every split threshold per column, and the type in which the model compares."""
    name, package = type(model).__name__, type(model).__module__.split(".")[0]
    found = [set() for _ in range(n_columns)]
    if len(getattr(model, "calibrated_classifiers_", [])) > 1:
        folds = [pair.estimator for pair in model.calibrated_classifiers_]
        return _joined(folds, [range(n_columns)] * len(folds), n_columns)
    if name in ("HardVotingClassifier", "FrozenEstimator", "CalibratedClassifierCV"):
        return thresholds(_wrapped(model), n_columns)
    if name.startswith(("Bagging", "Voting")) or name in ("AdaBoostClassifier", "IsolationForest"):
        return _thresholds_of_members(model, n_columns)
    if package == "xgboost":
        booster = model if name == "Booster" else model.get_booster()
        for dump in booster.get_dump(dump_format="json"):
            _walk_xgboost(json.loads(dump), found, booster)
        return found, np.float32
    if package == "catboost":
        for column, borders in model.get_borders().items():
            found[column] |= {float(border) for border in borders}
        return found, np.float32
    if name.startswith("HistGradientBoosting"):
        for stage in model._predictors:
            for tree in stage:
                inner = tree.nodes[tree.nodes["is_leaf"] == 0]
                for column, value in zip(inner["feature_idx"], inner["num_threshold"], strict=True):
                    found[column].add(float(value))
        return found, np.float64
    if package == "lightgbm":
        booster = model if name == "Booster" else model.booster_
        for tree in booster.dump_model()["tree_info"]:
            _walk_lightgbm(tree["tree_structure"], found)
        return found, np.float64
    trees = [model] if hasattr(model, "tree_") else np.ravel(model.estimators_)
    for tree in trees:
        inner = tree.tree_.children_left >= 0
        pairs = zip(tree.tree_.feature[inner], tree.tree_.threshold[inner], strict=True)
        for column, value in pairs:
            found[column].add(float(value))
    return found, np.float32


def _wrapped(model):
    if hasattr(model, "forest_"):
        return model.forest_
    if hasattr(model, "calibrated_classifiers_"):
        return model.calibrated_classifiers_[0].estimator
    return model.estimator


def _thresholds_of_members(model, n_columns):
    """Thresholds of every member on the columns that it sees; float64 unless all read float32."""
    every = [range(n_columns)] * len(model.estimators_)
    columns = getattr(model, "estimators_features_", every)
    return _joined(model.estimators_, columns, n_columns)


def _joined(members, columns_of, n_columns):
    parts = []
    for member, columns in zip(members, columns_of, strict=True):
        parts.append((columns, *thresholds(member, len(columns))))
    single = all(dtype is np.float32 for _, _, dtype in parts)
    found = [set() for _ in range(n_columns)]
    for columns, cuts, dtype in parts:
        for column, values in zip(columns, cuts, strict=True):
            moved = dtype is np.float32 and not single
            found[column] |= {m for v in values for m in halfway(v)} if moved else values
    return found, np.float32 if single else np.float64


def halfway(cut):
    """Where a float64 begins and ends to be read as the float32 at a threshold."""
    near = np.float32(cut)
    others = [np.nextafter(near, np.float32(side)) for side in (-np.inf, np.inf)]
    return [(float(near) + float(other)) / 2 for other in others]


def _walk_xgboost(node, found, booster):
    if "children" in node:
        names = booster.feature_names
        column = names.index(node["split"]) if names else int(node["split"][1:])
        found[column].add(float(np.float32(node["split_condition"])))
        for child in node["children"]:
            _walk_xgboost(child, found, booster)


def _walk_lightgbm(node, found):
    if "split_feature" in node:
        found[node["split_feature"]].add(float(node["threshold"]))
        _walk_lightgbm(node["left_child"], found)
        _walk_lightgbm(node["right_child"], found)


def decides(model, rows, label):
    """Which rows the model's own predict gives the label, bool (n_rows,)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return predicted(model, rows) == label


def predicted(model, rows):
    """The model's own labels; a booster of XGBoost or LightGBM names none, but scores classes."""
    if type(model).__name__ != "Booster":
        return np.ravel(model.predict(as_frame(model, rows)))
    if hasattr(model, "feature_name"):  # lightgbm
        scores, half = np.asarray(model.predict(rows)), 0.5
    else:
        given = xgboost.DMatrix(rows, feature_names=model.feature_names)
        objective = json.loads(model.save_config())["learner"]["objective"]["name"]
        scores, half = model.predict(given), 0.0 if objective == "binary:logitraw" else 0.5
        if objective == "multi:softmax":
            return scores.astype(int)
    return scores.argmax(axis=1) if scores.ndim == 2 else (scores > half).astype(int)


def candidates(spec, x, cuts, dtype):
    """Values that can be cheapest in some cell: the query, both ends of every cell, levels."""
    own = float(x[spec.columns[0]])
    if spec.kind == "categorical":
        return [tuple(float(i == j) for i in range(len(spec.columns))) for j in
                range(len(spec.columns))]  # fmt: skip
    if spec.levels:
        return [(v,) for v in {*spec.levels, own}]
    low, high = min(spec.lower, own), max(spec.upper, own)
    values = {own}
    if spec.kind == "ordinal":
        values |= {float(v) for v in range(math.ceil(low), math.floor(high) + 1)}
        return [(v,) for v in values]
    tiny = np.finfo(dtype).max
    values |= {float(low), float(high)}
    for cut in (*cuts, low, high):
        if abs(cut) > tiny:
            continue
        near = dtype(cut)
        around = [float(np.nextafter(near, dtype(s * np.inf))) for s in (-1, 1)] + [float(near)]
        if dtype is np.float64:
            values.update(around)
            continue
        # A float64 is read as the value it rounds to: its neighbours' reach ends halfway.
        for other in around[:2]:
            middle = (other + around[2]) / 2
            values |= {middle, float(np.nextafter(middle, -np.inf)),
                       float(np.nextafter(middle, np.inf))}  # fmt: skip
    return [(v,) for v in values if v == own or low <= v <= high]


def all_rows(specs, x, model, dtype, cuts, limit):
    """Every combination of candidates, or None if there are more than ``limit``."""
    choices = [candidates(s, x, cuts[s.columns[0]], dtype) for s in specs]
    if math.prod(len(c) for c in choices) > limit:
        return None
    columns = [c for s in specs for c in s.columns]
    rows = np.array(
        [list(itertools.chain.from_iterable(combo)) for combo in itertools.product(*choices)]
    )
    ordered = np.empty_like(rows)
    ordered[:, columns] = rows
    return ordered


def distances(specs, x, rows, p, units, weights):
    """The definition of the cost, feature by feature."""
    parts = []
    for spec, unit, weight in zip(specs, units, weights, strict=True):
        old, new = x[list(spec.columns)], rows[:, spec.columns]
        if spec.kind in ("categorical", "binary") or p == 0:
            cost = (new != old).any(axis=1).astype(float)
        else:
            gap = np.abs(new[:, 0] - old[0]) / unit
            cost = gap if math.isinf(p) else gap**p
        parts.append(weight * cost)
    table = np.column_stack(parts)
    return table.max(axis=1) if math.isinf(p) else table.sum(axis=1)


def as_frame(model, rows):
    names = getattr(model, "feature_names_in_", None)
    if type(model).__name__.startswith("CatBoost"):
        names = model.feature_names_
    return rows if names is None else pd.DataFrame(rows, columns=list(names))
