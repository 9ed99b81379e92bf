"""A CatBoost model in its library's own JSON."""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from encoders.arrays import IntArray
from encoders.errors import UnsupportedModelError
from encoders.trees.kinds import kind_of

UNREADABLE = {"text_features": "text", "embedding_features": "embedding"}
DAMAGED = "the catboost model's {} are not those of its own export; save it anew with save_model."
COUNTERS = (
    "the catboost model turns categories into statistics of the target (counters), whose splits "
    "are no sets of categories; train with one_hot_max_size of at least the number of categories, "
    "or encode them in a pipeline step before it."
)


def is_catboost(model: Any) -> bool:
    """Whether a model is of CatBoost's library."""
    return kind_of(model).library == "catboost"


def exported(model: Any) -> dict[str, Any]:
    """The model in CatBoost's own JSON, which it writes to files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        try:
            model.save_model(str(path), format="json")
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except Exception as error:  # its own type of error, which is no public class of ours
            raise UnsupportedModelError(
                "this catboost model can't be exported to JSON, so its trees can't be read; train "
                "it without text, embeddings or counters."
            ) from error
    features = content["features_info"]
    for kind, word in UNREADABLE.items():
        if features.get(kind):
            raise UnsupportedModelError(
                f"the catboost model takes {word} features, whose splits are no thresholds; encode "
                "them as numbers and retrain."
            )
    if features.get("ctrs"):
        raise UnsupportedModelError(COUNTERS)
    return content


def loss_of(content: dict[str, Any]) -> str:
    """The name of the loss that a model was trained with."""
    params = content.get("model_info", {}).get("params", {})
    params = json.loads(params) if isinstance(params, str) else params
    return str(params.get("loss_function", {}).get("type", "unknown"))


class Split(NamedTuple):
    """A split on one of the model's columns.

    Attributes
    ----------
    column : -1 at a leaf
    border : the largest float32 that goes left, -inf for a category
    missing_left : where a missing value goes
    code : of the category that goes right, -1 for a number
    """

    column: int
    border: float
    missing_left: bool
    code: int


class Splits:
    """What a split of the export says of the model's columns.

    A value goes right if it is above a border, or if it is one category. Categories have hashes; a
    hash' code is its place in the export's own list.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        numbers = content["features_info"].get("float_features") or []
        self._number = _columns(numbers)
        # What is missing is compared as it is (and not above a border), as -inf, or as inf.
        self._missing_left = np.array([f["nan_value_treatment"] != "AsTrue" for f in numbers])
        self._category = category_columns(content)
        self._code = [
            {value: code for code, value in enumerate(hashes)} for hashes in hashes_of(content)
        ]

    def read(self, split: dict[str, Any]) -> Split:
        """One split."""
        if split["split_type"] == "FloatFeature":
            own = split["float_feature_index"]
            border = float(np.float32(split["border"]))
            return Split(int(self._number[own]), border, bool(self._missing_left[own]), -1)
        if split["split_type"] != "OneHotFeature":
            raise UnsupportedModelError(COUNTERS)
        own = split["cat_feature_index"]
        return Split(int(self._category[own]), -np.inf, True, self._code[own][split["value"]])


def category_columns(content: dict[str, Any]) -> IntArray:
    """The model's column of each category feature."""
    return _columns(content["features_info"].get("categorical_features") or [])


def hashes_of(content: dict[str, Any]) -> list[list[int]]:
    """Of each category feature the hashes of the categories that some split asks for."""
    features = content["features_info"].get("categorical_features") or []
    return [list(feature.get("values") or []) for feature in features]


def _columns(features: list[dict[str, Any]]) -> IntArray:
    return np.array([feature["flat_feature_index"] for feature in features], dtype=np.int64)
