"""Any supported model -> :class:`Ensemble`, through treelite."""

import re
from dataclasses import replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, frozen, starts
from encoders.ensemble import Ensemble, as_votes, largest_at_most
from encoders.errors import UnsupportedModelError

SUPPORTED = (
    "scikit-learn RandomForest, ExtraTrees, DecisionTree, GradientBoosting and "
    "HistGradientBoosting classifiers, HardVotingClassifier, XGBClassifier or a classifying "
    "xgboost Booster, LGBMClassifier or a classifying lightgbm Booster"
)
_SKLEARN_DTYPE = {
    "RandomForestClassifier": np.float32,
    "ExtraTreesClassifier": np.float32,
    "DecisionTreeClassifier": np.float32,
    "ExtraTreeClassifier": np.float32,
    "GradientBoostingClassifier": np.float32,
    "HistGradientBoostingClassifier": np.float64,
}
NATIVE_CATEGORIES = (
    "the model splits on native categories; one-hot encode those columns and retrain."
)
_LESS_EQUAL, _LESS_THAN = 3, 2  # treelite's Operator codes


def read_ensemble(model: Any) -> Ensemble:
    """Read a fitted model.

    Raises
    ------
    UnsupportedModelError
        Unknown kind, regressor, unfitted, categorical splits, several outputs.
    """
    name = type(model).__name__
    if name == "HardVotingClassifier":
        _require_fitted(model, "forest_")
        return as_votes(read_ensemble(model.forest_))
    package = type(model).__module__.split(".")[0]
    if package == "sklearn" and name in _SKLEARN_DTYPE:
        return _from_treelite(_sklearn_trees(model), np.dtype(_SKLEARN_DTYPE[name]), "sklearn")
    if package == "xgboost" and name in {"XGBClassifier", "XGBRFClassifier", "Booster"}:
        return _from_treelite(_xgboost_trees(model), np.dtype(np.float32), "xgboost")
    if package == "lightgbm" and name in {"LGBMClassifier", "Booster"}:
        read = _from_treelite(_lightgbm_trees(model), np.dtype(np.float64), "lightgbm")
        return replace(read, last_left=frozen(_around_zero(read.last_left)))
    hint = " Pass its last step and the transformed frame." if name == "Pipeline" else ""
    raise UnsupportedModelError(
        f"a model of type {name} can't be read exactly; supported are {SUPPORTED}.{hint}"
    )


def _require_fitted(model: Any, attribute: str) -> None:
    if not hasattr(model, attribute):
        raise UnsupportedModelError(
            f"this {type(model).__name__} is not fitted: call fit(X, y) before explaining it."
        )


def _sklearn_trees(model: Any) -> Any:
    import treelite

    _require_fitted(model, "classes_")
    if isinstance(model.classes_, list):
        raise UnsupportedModelError(
            "the model has several outputs; fit one classifier per output and explain each."
        )
    if np.any(getattr(model, "is_categorical_", None)):
        raise UnsupportedModelError(NATIVE_CATEGORIES)
    if hasattr(model, "tree_"):
        model = _forest_of_one(model)
    try:
        return treelite.sklearn.import_model(model)
    except (treelite.TreeliteError, NotImplementedError, ValueError) as error:
        raise UnsupportedModelError(
            f"this {type(model).__name__} can't be read exactly ({_first_line(error)}); "
            "use numeric input columns and the default initial estimator."
        ) from error


def _forest_of_one(tree: Any) -> Any:
    """treelite takes forests only; a forest of this one tree decides the same."""
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(n_estimators=1)
    forest.estimators_ = [tree]
    forest.classes_ = tree.classes_
    forest.n_classes_ = tree.n_classes_
    forest.n_outputs_ = tree.n_outputs_
    forest.n_features_in_ = tree.n_features_in_
    return forest


def _xgboost_trees(model: Any) -> Any:
    import treelite
    import xgboost

    booster = model
    if not isinstance(model, xgboost.Booster):
        if not model.__sklearn_is_fitted__():
            _require_fitted(model, "_counterfolio_never_set")
        if model.get_xgb_params().get("booster") == "gblinear":
            raise UnsupportedModelError("a linear booster (gblinear) has no trees to explain.")
        booster = model.get_booster()
        best = getattr(model, "best_iteration", None)
        if best is not None:  # predict() of the wrapper stops there too
            booster = booster[: best + 1]
    objective = xgboost_objective(booster)
    if not objective.startswith(("binary:", "multi:")):
        raise UnsupportedModelError(
            f"an xgboost model with objective {objective} does not classify; "
            "train with binary:logistic or multi:softprob."
        )
    try:
        return treelite.frontend.from_xgboost(booster)
    except treelite.TreeliteError as error:
        if "categor" in str(error):
            raise UnsupportedModelError(NATIVE_CATEGORIES) from error
        raise UnsupportedModelError(
            f"this xgboost model can't be read exactly ({_first_line(error)})."
        ) from error


def xgboost_objective(booster: Any) -> str:
    """Objective name of a trained booster; linear boosters are refused here."""
    import json

    learner = json.loads(booster.save_config())["learner"]
    if learner["gradient_booster"]["name"] == "gblinear":
        raise UnsupportedModelError("a linear booster (gblinear) has no trees to explain.")
    return str(learner["objective"]["name"])


def _lightgbm_trees(model: Any) -> Any:
    import treelite

    booster = model
    if hasattr(model, "booster_") or hasattr(model, "fit"):
        try:
            booster = model.booster_
        except Exception:  # lightgbm raises its own NotFittedError here
            _require_fitted(model, "_counterfolio_never_set")
    text = booster.model_to_string()
    objective = next(
        (line[10:] for line in text.splitlines() if line.startswith("objective=")), "none"
    )
    if not objective.startswith(("binary", "multiclass")):
        raise UnsupportedModelError(
            f"a lightgbm model with objective {objective} does not classify by score; "
            "train with objective binary or multiclass."
        )
    if "[zero_as_missing: 1]" in text:
        raise UnsupportedModelError(
            "a lightgbm model trained with zero_as_missing sends zeros its own way; "
            "train without it."
        )
    if "[linear_tree: 1]" in text:
        raise UnsupportedModelError("lightgbm trees with linear leaves are not constant per leaf.")
    import lightgbm

    try:
        return treelite.frontend.from_lightgbm(lightgbm.Booster(model_str=text))
    except treelite.TreeliteError as error:
        raise UnsupportedModelError(
            f"this lightgbm model can't be read exactly ({_first_line(error)})."
        ) from error


def _around_zero(last_left: FloatArray) -> FloatArray:
    """LightGBM reads every value within +-1e-35 (a float32) as zero, so splits there move."""
    zero = float(np.float32(1e-35))
    beyond = np.where(last_left < 0, np.nextafter(-zero, -np.inf), zero)
    moved: FloatArray = np.where(np.abs(last_left) <= zero, beyond, last_left)
    return moved


def _first_line(error: BaseException) -> str:
    """What a library says, without its source positions."""
    lines = str(error).strip().splitlines() or ["no reason given"]
    return re.sub(r"^\[[\d:]+\] \S+:\d+: ", "", lines[0])[:200]


def _from_treelite(trees: Any, dtype: np.dtype[Any], source: str) -> Ensemble:
    header = trees.get_header_accessor()
    n_trees = int(header.get_field("num_tree")[0])
    if n_trees == 0:
        raise UnsupportedModelError("the model holds no tree; train it for at least one round.")
    if int(header.get_field("num_target")[0]) != 1:
        raise UnsupportedModelError(
            "the model has several outputs; fit one classifier per output and explain each."
        )
    n_classes = int(header.get_field("num_class")[0])
    class_of_tree = header.get_field("class_id")
    parts = [_tree_arrays(trees.get_tree_accessor(t), dtype) for t in range(n_trees)]
    offset = starts(np.array([part["column"].size for part in parts]))
    score = np.concatenate(
        [_leaf_scores(part, n_classes, int(class_of_tree[t])) for t, part in enumerate(parts)]
    )
    # treelite hands out views of memory that goes with its model: copy.
    bias = np.array(header.get_field("base_scores"), dtype=np.float64)
    averaged = bool(header.get_field("average_tree_output")[0])
    if averaged:
        bias = bias * n_trees
    if n_classes == 1:  # one raw score: class 1 wins iff it is positive
        score = np.column_stack([np.zeros(score.shape[0]), score[:, 0]])
        bias = np.array([0.0, bias[0]])
    if not (np.isfinite(score).all() and np.isfinite(bias).all()):
        raise UnsupportedModelError(f"the {source} model holds leaf values that are not finite.")

    def shifted(field: str) -> np.ndarray[Any, Any]:
        return np.concatenate(
            [
                np.where(p[field] >= 0, p[field] + o, -1)
                for p, o in zip(parts, offset[:-1], strict=True)
            ]
        )

    return Ensemble(
        n_columns=int(header.get_field("num_feature")[0]),
        root=frozen(offset[:-1].copy()),
        column=frozen(np.concatenate([part["column"] for part in parts])),
        last_left=frozen(np.concatenate([part["last_left"] for part in parts])),
        left=frozen(shifted("left")),
        right=frozen(shifted("right")),
        score=frozen(score),
        bias=frozen(bias),
        dtype=dtype,
        margin_unit=float(n_trees) if averaged else 1.0,
        votes=False,
    )


def _tree_arrays(tree: Any, dtype: np.dtype[Any]) -> dict[str, Any]:
    if tree.get_field("has_categorical_split")[0]:
        raise UnsupportedModelError(NATIVE_CATEGORIES)
    left = tree.get_field("cleft").astype(np.int64)
    operator = tree.get_field("cmp")
    inner = left >= 0
    if not np.isin(operator[inner], (_LESS_EQUAL, _LESS_THAN)).all():
        raise UnsupportedModelError("the model has splits other than 'value < threshold'.")
    threshold = tree.get_field("threshold").astype(np.float64)
    if np.isnan(threshold[inner]).any():
        raise UnsupportedModelError(
            "the model has a split at NaN; train it without missing values."
        )
    loose = largest_at_most(threshold, dtype)
    strict = largest_at_most(threshold, dtype, strict=True)
    column = tree.get_field("split_index").astype(np.int64)
    return {
        "column": np.where(inner, column, -1),
        "last_left": np.where(operator == _LESS_THAN, strict, loose),
        "left": left,
        "right": tree.get_field("cright").astype(np.int64),
        "value": tree.get_field("leaf_value").astype(np.float64),
        "vector": tree.get_field("leaf_vector").astype(np.float64),
        "vector_begin": tree.get_field("leaf_vector_begin").astype(np.int64),
    }


def _leaf_scores(part: dict[str, Any], n_classes: int, tree_class: int) -> Any:
    """Scores of one tree's nodes, (n_nodes, n_classes); zero at inner nodes."""
    leaf = np.flatnonzero(part["left"] < 0)
    score = np.zeros((part["left"].size, n_classes))
    if part["vector"].size:
        index = part["vector_begin"][leaf][:, None] + np.arange(n_classes)
        score[leaf] = part["vector"][index]
    else:
        score[leaf, max(tree_class, 0)] = part["value"][leaf]
    return score
