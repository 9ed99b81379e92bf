"""CatBoost models in the JSON format of the library."""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from encoders.arrays import IntArray
from encoders.errors import UnsupportedModelError
from encoders.trees.kinds import kind_of

UNREADABLE = {"text_features": "text", "embedding_features": "embedding"}
DAMAGED = "the CatBoost model's {} differ from its JSON export. Save it again with save_model."
COUNTERS = (
    "the CatBoost model splits on statistics of the target by category (counters), not on "
    "categories. Train with one_hot_max_size of at least the number of categories, or encode them "
    "in a pipeline step."
)


def is_catboost(model: Any) -> bool:
    """Return whether a model is a CatBoost model."""
    return kind_of(model).library == "catboost"


def exported(model: Any) -> dict[str, Any]:
    """Return a model as CatBoost's JSON document, which the library writes to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except Exception as error:  # CatBoostError, without an import of CatBoost
            raise UnsupportedModelError(
                "CatBoost cannot export this model to JSON, so its trees cannot be read. Train it "
                "without text features, embeddings and counters."
            ) from error
    features = content["features_info"]
    for kind, word in UNREADABLE.items():
        if features.get(kind):
            raise UnsupportedModelError(
                f"the CatBoost model has {word} features, whose splits are not thresholds. Encode "
                "them as numbers and train it again."
            )
    if features.get("ctrs"):
        raise UnsupportedModelError(COUNTERS)
    return content


def loss_of(content: dict[str, Any]) -> str:
    """Return the name of the loss that a model was trained with."""
    params = content.get("model_info", {}).get("params", {})
    params = json.loads(params) if isinstance(params, str) else params
    return str(params.get("loss_function", {}).get("type", "unknown"))


class Split(NamedTuple):
    """Split on one of the model's columns.

    Attributes
    ----------
    column : index of the column, -1 at a leaf.
    border : largest float32 that goes left, -inf for a category.
    missing_left : whether a missing value goes left.
    code : code of the category that goes right, -1 for a number.
    """

    column: int
    border: float
    missing_left: bool
    code: int


class Splits:
    """Reader of the splits of an export.

    A value goes right if it is above a border, or if it is the one category of the split. The
    export has hashes of categories; the code of a hash is its index in the export's list.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        numbers = content["features_info"].get("float_features") or []
        self._number = _columns(numbers)
        # A missing value is compared as NaN (not above a border), as -inf, or as inf.
        self._missing_left = np.array([f["nan_value_treatment"] != "AsTrue" for f in numbers])
        self._category = category_columns(content)
        self._code = [
            {value: code for code, value in enumerate(hashes)} for hashes in hashes_of(content)
        ]

    def read(self, split: dict[str, Any]) -> Split:
        """Return a split of the export."""
        if split["split_type"] == "FloatFeature":
            index = split["float_feature_index"]
            border = float(np.float32(split["border"]))
            return Split(int(self._number[index]), border, bool(self._missing_left[index]), -1)
        if split["split_type"] != "OneHotFeature":
            raise UnsupportedModelError(COUNTERS)
        index = split["cat_feature_index"]
        return Split(int(self._category[index]), -np.inf, True, self._code[index][split["value"]])


def category_columns(content: dict[str, Any]) -> IntArray:
    """Return the model's column of each category feature, int64 (n_categories,)."""
    return _columns(content["features_info"].get("categorical_features") or [])


def hashes_of(content: dict[str, Any]) -> list[list[int]]:
    """Return, for each category feature, the hashes of the categories that occur in a split."""
    features = content["features_info"].get("categorical_features") or []
    return [list(feature.get("values") or []) for feature in features]


def _columns(features: list[dict[str, Any]]) -> IntArray:
    return np.array([feature["flat_feature_index"] for feature in features], dtype=np.int64)
