"""Hashes of the categories of a frame in CatBoost models, found by calling CatBoost.

CatBoost stores hashes only. So a model with one tree per hash is derived from the export, and its
leaves show which categories have this hash.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from encoders.errors import InputError
from encoders.query.features import is_missing
from encoders.trees.catboost_export import category_columns, exported, hashes_of
from encoders.trees.refusals import first_line

Labels = dict[int, list[Any]]


def catboost_codes(model: Any, frame: pd.DataFrame) -> dict[int, dict[Any, float]]:
    """Return the code of each category that a split tests, by position of its column."""
    if not model.get_cat_feature_indices():
        return {}
    content = exported(model)
    places, hashes = category_columns(content).tolist(), hashes_of(content)
    labels = {at: _labels(frame.iloc[:, at]) for at in places}
    codes: dict[int, dict[Any, float]] = {at: {} for at in places}
    leaves = _has_category(content, hashes, _rows(frame, labels))
    tree = 0
    for at, values in zip(places, hashes, strict=True):
        for code in range(len(values)):
            met = np.flatnonzero(leaves[: len(labels[at]), tree])
            codes[at] |= {labels[at][place]: float(code) for place in met.tolist()}
            tree += 1
    return codes


def _labels(column: "pd.Series[Any]") -> list[Any]:
    values = pd.unique(column.astype(object)).tolist()
    missing = [value for value in values if is_missing(value)]
    if missing:
        raise InputError(
            f"X_train: column {column.name!r} has missing values, which CatBoost does not accept "
            "as categories. Replace them by a category such as 'missing', also in training."
        )
    return values


def _rows(frame: pd.DataFrame, labels: Labels) -> pd.DataFrame:
    """Return a frame with as many rows as one column has labels, each label in one of them."""
    most = max(map(len, labels.values()))
    columns = {
        at: pd.Series([labels[at][row % len(labels[at])] for row in range(most)], dtype=object)
        if at in labels
        else pd.Series(np.zeros(most))
        for at in range(frame.shape[1])
    }
    return pd.DataFrame(columns).set_axis(frame.columns, axis=1)


def _has_category(content: dict[str, Any], hashes: list[list[int]], rows: pd.DataFrame) -> Any:
    """Return whether each row has the category of each hash, 0 or 1, (n_rows, n_hashes)."""
    import catboost

    pairs = [(place, value) for place, values in enumerate(hashes) for value in values]
    if not pairs:
        return np.zeros((len(rows), 0))
    numbers = content["features_info"].get("float_features") or []
    before = sum(len(feature["borders"]) for feature in numbers)  # splits are numbered after these
    trees = [
        {
            "splits": [
                {
                    "split_type": "OneHotFeature",
                    "split_index": before + at,
                    "cat_feature_index": place,
                    "value": value,
                }
            ],
            "leaf_values": [0, 1],
            "leaf_weights": [1, 1],
        }
        for at, (place, value) in enumerate(pairs)
    ]
    asking = {name: part for name, part in content.items() if name != "trees"}
    asking |= {"oblivious_trees": trees, "scale_and_bias": [1, [0]]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "asking.json"
        path.write_text(json.dumps(asking), encoding="utf-8")
        model = catboost.CatBoost().load_model(str(path), format="json")
    try:
        return model.calc_leaf_indexes(rows, thread_count=1)
    except catboost.CatBoostError as error:
        raise InputError(
            f"X_train: CatBoost rejects a value as a category ({first_line(error)}). Pass the "
            "frame that the model was fitted on, with the same dtypes."
        ) from error
