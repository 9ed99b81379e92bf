"""Brute force over raw rows, through the native predict of whatever takes the user's frame.

Nothing here uses the project's reading of trees, its codes, cells, costs or constraints.
"""

import json
import math
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tests.support.brute import thresholds

NUMBER = int | float | np.number


@dataclass(frozen=True)
class Raw:
    """One raw column as the test sees it: candidate values besides the query's own."""

    name: str
    values: tuple = ()
    spread: float = 1.0  # change that costs 1, for numbers
    number: bool = True
    missing_cost: float = 1.0
    code: float | None = None  # stands for a missing value; no number becomes it


def missing(value):
    return value is None or value is pd.NA or value != value


def cheapest(raws, row, frame, decide, limit=200_000):
    """Least cost of a row that ``decide`` takes, inf without one; None if there are too many."""
    choices = [choices_of(raw, row[raw.name]) for raw in raws]
    if math.prod(map(len, choices)) > limit:
        return None
    places = np.indices([len(own) for own in choices]).reshape(len(choices), -1)
    cost, held = np.zeros(places.shape[1]), {}
    for raw, own, at in zip(raws, choices, places, strict=True):
        cost += np.array([price for _, price in own])[at]
        held[raw.name] = column_of([value for value, _ in own], frame[raw.name].dtype).take(at)
    rows = pd.DataFrame(held)[list(frame.columns)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        good = np.asarray(decide(rows))
    return float(cost[good].min()) if good.any() else math.inf


def column_of(values, dtype):
    """Values as a column of a frame."""
    if isinstance(dtype, pd.CategoricalDtype):
        return pd.Categorical([None if missing(v) else v for v in values], dtype=dtype)
    if getattr(dtype, "kind", "") == "b":
        return np.array(values, dtype=bool)
    if isinstance(dtype, pd.Int64Dtype | pd.Float64Dtype):
        whole = all(missing(v) or float(v).is_integer() for v in values)
        return pd.array(
            [pd.NA if missing(v) else v for v in values], dtype=dtype if whole else "Float64"
        )
    if getattr(dtype, "kind", "") in "iuf" or all(isinstance(v, NUMBER) for v in values):
        # A row of several columns may say pd.NA where its column says NaN.
        return np.array([np.nan if missing(v) else v for v in values], dtype=float)
    return pd.Series(values, dtype=object).to_numpy()


def choices_of(raw, own):
    """What a column may hold, and what each value costs."""
    values = [value for value in raw.values if value != raw.code]
    if missing(own) or own == raw.code:
        return [(own, 0.0), *((v, raw.missing_cost) for v in values)]

    def price(value):
        # In float64, whatever the column: what float32 rounds would be taken for a difference.
        return abs(float(value) - float(own)) / raw.spread if raw.number else 1.0

    return [(own, 0.0), *((v, price(v)) for v in values if v != own)]


def around(cuts, low, high, single):
    """Values at, just below and just above every cut, within bounds."""
    found = {float(low), float(high)}
    for cut in cuts:
        near = [float(cut), np.nextafter(cut, -np.inf), np.nextafter(cut, np.inf)]
        if single:
            one = np.float32(cut)
            for way in (-np.inf, np.inf):
                middle = (float(one) + float(np.nextafter(one, np.float32(way)))) / 2
                near += [middle, np.nextafter(middle, -np.inf), np.nextafter(middle, np.inf)]
            near.append(float(one))
        found.update(float(v) for v in near)
    return tuple(sorted(v for v in found if low <= v <= high))


def cuts(model, X):
    """Thresholds of the number columns, from the library's own dump."""
    if type(model).__module__.startswith("xgboost"):
        found = [set() for _ in X.columns]
        booster = model.get_booster()
        names = booster.feature_names or [f"f{at}" for at in range(len(X.columns))]
        for dump in booster.get_dump(dump_format="json"):
            waiting = [json.loads(dump)]
            while waiting:
                node = waiting.pop()
                if "children" in node:
                    waiting += node["children"]
                    if not isinstance(node.get("split_condition", []), list):
                        found[names.index(node["split"])].add(
                            float(np.float32(node["split_condition"]))
                        )
        return found, np.float32
    if type(model).__name__ == "CatBoostClassifier":
        borders = model.get_borders()
        return [set(borders.get(at, ())) for at in range(X.shape[1])], np.float32
    if type(model).__name__ == "LGBMClassifier":
        found = [set() for _ in X.columns]
        waiting = [tree["tree_structure"] for tree in model.booster_.dump_model()["tree_info"]]
        while waiting:
            node = waiting.pop()
            if "split_feature" in node:
                waiting += [node["left_child"], node["right_child"]]
                if node["decision_type"] == "<=":
                    found[node["split_feature"]].add(float(node["threshold"]))
        return found, np.float64
    if type(model).__name__ == "HistGradientBoostingClassifier" and np.any(model.is_categorical_):
        order = [*np.flatnonzero(model.is_categorical_), *np.flatnonzero(~model.is_categorical_)]
        found = [set() for _ in X.columns]
        for stage in model._predictors:
            for tree in stage:
                for node in tree.nodes:
                    if not (node["is_leaf"] or node["is_categorical"]):
                        found[order[node["feature_idx"]]].add(float(node["num_threshold"]))
        return found, np.float64
    return thresholds(model, X.shape[1])
