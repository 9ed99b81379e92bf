"""Reader of LightGBM's classifiers, regressors and boosters."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen
from encoders.core.errors import InputError, UnsupportedModelError
from encoders.readers.advice import other_objectives
from encoders.readers.kinds import kind_of
from encoders.readers.reader import (
    Codes,
    FileFormat,
    Reader,
    ReadMember,
    numbers_as_codes,
    of_both_classes,
    positions,
)
from encoders.readers.refusals import not_fitted, several_outputs, unreadable
from encoders.readers.treelite_nodes import from_treelite
from encoders.trees.arithmetic import Link, LinkKind, rounding_of
from encoders.trees.ensemble import Ensemble, with_missing_numbers

# Links from raw scores to predictions of regressors (``src/objective/regression_objective.hpp``).
REGRESSION: dict[str, LinkKind] = {
    "regression": "mean",
    "regression_l1": "mean",
    "huber": "mean",
    "fair": "mean",
    "quantile": "mean",
    "mape": "mean",
    "poisson": "exp",
    "gamma": "exp",
    "tweedie": "exp",
    "cross_entropy": "sigmoid",
    "lambdarank": "mean",
    "rank_xendcg": "mean",
    "none": "mean",  # custom objective
}
PROBABILITY = "cross_entropy"  # classifiers use its sigmoid as the probability of class 1
CUSTOM = "none"  # LightGBM's name for a custom objective function
Kinds: TypeAlias = np.ndarray[Any, Any]
ZERO = float(np.float32(1e-35))  # largest magnitude that LightGBM reads as 0
REFUSED_SETTINGS = {
    "[linear_tree: 1]": (
        "LightGBM trees with linear leaves are not constant per leaf. Train with linear_tree=False."
    ),
}


def read_lightgbm(model: Any) -> Ensemble:
    """Read an ``LGBMClassifier``, ``LGBMRegressor`` or ``Booster``.

    Leaves are added in float64 (``src/boosting/gbdt_prediction.cpp``). Class 1 of two needs the
    larger probability. With several classes, the first of the largest wins. A regressor's
    prediction is the raw score, its exponential, or its sigmoid. With a custom objective, predict
    returns raw scores: a single one is a prediction, and of one per class the first of the largest
    wins.
    """
    import lightgbm
    import treelite

    booster = _booster(model)
    text = booster.model_to_string()
    n_scores = booster.num_model_per_iteration()
    objective = _objective(text)
    name = objective.partition(" ")[0]
    classifier = kind_of(model).name == "LGBMClassifier"
    regression = name in REGRESSION and n_scores == 1 and not (classifier and name == PROBABILITY)
    _check_objective(model, objective, regression)
    if name == CUSTOM and not regression:  # treelite accepts several scores for classes only
        text = text.replace("\n", f"\nobjective=multiclass num_class:{n_scores}\n", 1)
    for setting, sentence in REFUSED_SETTINGS.items():
        if setting in text:
            raise UnsupportedModelError(sentence)
    try:
        trees = treelite.frontend.from_lightgbm(lightgbm.Booster(model_str=text))
    except treelite.TreeliteError as error:
        raise unreadable("LightGBM model", error, ".") from error
    read = from_treelite(trees, np.dtype(np.float64), "lightgbm", regression)
    steepness = _steepness(objective) / read.margin_unit  # of averaged scores
    kind = REGRESSION[name] if regression else _link(name)
    rounding = rounding_of(
        read.score,
        read.root,
        read.bias,
        link="" if regression or kind == "none" else kind,
        steepness=steepness,
    )
    read = replace(
        read,
        last_left=frozen(_around_zero(read.last_left)),
        rounding=rounding,
        link=Link(kind, divisor=read.margin_unit, steepness=steepness),
    )
    return _with_missing(read, *_ways_of_missing(booster, read))


def _booster(model: Any) -> Any:
    if not hasattr(model, "fit"):
        return model
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    if model.get_params().get("pred_early_stop"):  # a setting of predict, not stored in model files
        raise UnsupportedModelError(
            "a LightGBM model with pred_early_stop=True does not add up all trees. Set it to False."
        )
    return model.booster_


def _objective(text: str) -> str:
    lines = (line[10:] for line in text.splitlines() if line.startswith("objective="))
    return next(lines, CUSTOM)


def _check_objective(model: Any, objective: str, regression: bool) -> None:
    """Raise UnsupportedModelError if the objective does not fit the class or sums of leaves."""
    name, _, rest = objective.partition(" ")
    if not (name.startswith(("binary", "multiclass")) or name in REGRESSION) or rest == "sqrt":
        if rest == "sqrt":
            raise UnsupportedModelError(
                f"a LightGBM model with objective {objective} squares its raw score, which is not "
                "supported. Train with reg_sqrt=False."
            )
        usable = other_objectives(
            model, "binary, multiclass", ", ".join(each for each in REGRESSION if each != CUSTOM)
        )
        raise UnsupportedModelError(
            f"a LightGBM model with objective {objective} does not classify or predict by score. "
            f"Train with one of the objectives {usable}."
        )
    if regression or not kind_of(model).name.endswith("Regressor"):
        return
    if name == CUSTOM:
        raise several_outputs("regressor")
    raise UnsupportedModelError(
        f"an LGBMRegressor with objective {objective} predicts classes. Train an LGBMClassifier "
        "instead."
    )


def _steepness(objective: str) -> float:
    sigmoid = re.search(r"sigmoid:(\S+)", objective)
    return float(sigmoid[1]) if sigmoid else 1.0


def _link(objective: str) -> LinkKind:
    if objective == CUSTOM:
        return "none"
    if objective.startswith("binary") or objective == PROBABILITY:
        return "sigmoid"
    return "sigmoids" if objective.startswith("multiclassova") else "softmax"


def _ways_of_missing(booster: Any, read: Ensemble) -> tuple[Kinds, BoolArray]:
    """Return the missing type of each split, and whether missing values go left, (n_nodes,) each.

    "None": a missing value is read as 0, because none was missing in training, or
    ``use_missing=false``. "NaN": the split has a default direction for missing values. "Zero": 0
    takes that direction as well (``zero_as_missing``). See NumericalDecision in
    ``include/LightGBM/tree.h``; treelite does not expose the missing type.
    """
    kind, left = np.full(read.column.size, "", dtype="U4"), np.zeros(read.column.size, np.bool_)
    dumped = booster.dump_model()["tree_info"]
    waiting = [
        (root, tree["tree_structure"])
        for root, tree in zip(read.root.tolist(), dumped, strict=True)
    ]
    while waiting:
        node, split = waiting.pop()
        if "split_feature" in split:
            kind[node] = split["missing_type"] if split["decision_type"] == "<=" else ""
            left[node] = split["default_left"]
            waiting.append((int(read.left[node]), split["left_child"]))
            waiting.append((int(read.right[node]), split["right_child"]))
    return kind, left


def _with_missing(read: Ensemble, kind: Kinds, left: BoolArray) -> Ensemble:
    """Return the trees with the direction of each split for what it considers missing."""
    assert read.default_left is not None
    left = np.where(kind == "None", read.last_left >= 0, left)
    read = replace(read, default_left=frozen(np.where(kind == "", read.default_left, left)))
    zeros = frozenset(read.column[kind == "Zero"].tolist())
    if zeros & frozenset(read.column[(kind == "None") | (kind == "NaN")].tolist()):
        raise UnsupportedModelError(
            "some trees of the LightGBM model were trained with zero_as_missing, and some without. "
            "Train all of them with the same setting."
        )
    below = float(np.nextafter(-ZERO, -np.inf))
    return with_missing_numbers(read, zeros, below, ZERO) if zeros else read


def _around_zero(last_left: FloatArray) -> FloatArray:
    """Move splits within +-1e-35 (a float32) to its ends: LightGBM reads values there as 0."""
    beyond = np.where(last_left < 0, np.nextafter(-ZERO, -np.inf), ZERO)
    moved: FloatArray = np.where(np.abs(last_left) <= ZERO, beyond, last_left)
    return moved


class LightGBMEstimator(Reader):
    """Reader of LightGBM's estimators."""

    calibration_remedy = "Train it with objective='binary'"

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_lightgbm`."""
        return read_lightgbm(model)

    def decision_unit(self, model: Any, ensemble: Ensemble) -> float:
        """Return 1: decision_function is never averaged, whatever the boosting type."""
        return 1.0

    def sigmoid_unit(
        self, model: Any, ensemble: Ensemble
    ) -> tuple[float, float, "np.dtype[Any]"] | None:
        """Return units of the sigmoid, whose steepness is a setting."""
        steepness = _steepness(_objective(model.booster_.model_to_string()))
        return ensemble.margin_unit, steepness, np.dtype(np.float64)

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the library's leaf indices."""
        return model.predict(rows, pred_leaf=True)

    def scores(self, model: Any, rows: Any, margin_unit: float) -> Any:
        """Return raw scores, which are never averaged, also those of random forests."""
        return model.predict(rows, raw_score=True)

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return predictions; those of a custom objective without the library's warning."""
        return (
            model.predict(rows, raw_score=True)
            if self.returns_scores(model)
            else (model.predict(rows))
        )

    def returns_scores(self, model: Any) -> bool:
        """Return whether a classifier has a custom objective."""
        return kind_of(model).name == "LGBMClassifier" and callable(model.objective_)

    def likeliest(self, model: Any) -> bool:
        """Return whether a classifier has an objective of the library."""
        return kind_of(model).name == "LGBMClassifier" and not self.returns_scores(model)

    def codes(self, model: Any, frame: pd.DataFrame) -> dict[int, Codes]:
        """Return positions of stored names, else the whole numbers themselves."""
        booster = self._booster(model)
        dtypes = [frame.iloc[:, at].dtype for at in range(frame.shape[1])]
        named = [at for at, dtype in enumerate(dtypes) if isinstance(dtype, pd.CategoricalDtype)]
        stored = booster.pandas_categorical or []
        if len(named) != len(stored):
            raise InputError(
                f"the model was fitted on a frame with {len(stored)} category columns, X_train has "
                f"{len(named)}. Convert X_train to the same dtypes."
            )
        codes = {at: positions(labels) for at, labels in zip(named, stored, strict=True)}
        ranges = booster.dump_model(num_iteration=1)["feature_infos"]
        for at, name in enumerate(booster.feature_name()):
            if ranges.get(name, {}).get("values") and at not in codes:
                codes[at] = numbers_as_codes(frame.iloc[:, at])
        return codes

    def labels(self, model: Any, frame: pd.DataFrame) -> dict[Any, list[Any]]:
        """Return the categories that LightGBM stores in column order without names."""
        return _labels(self._booster(model), frame)

    def has_categories(self, model: Any) -> bool:
        """Return whether categories are stored."""
        return bool(self._booster(model).pandas_categorical)

    def _booster(self, model: Any) -> Any:
        return model.booster_


class LightGBMBooster(LightGBMEstimator):
    """Reader of boosters, which have no labels."""

    def probabilities(self, model: Any, rows: Any) -> Any:
        """Return predictions as probabilities of all classes."""
        return of_both_classes(model.predict(rows))

    def class_indices(self, model: Any, rows: Any) -> IntArray:
        """Return classes as LightGBM's classifiers derive them from predictions."""
        scores = np.asarray(model.predict(rows))
        best = scores.argmax(axis=1) if scores.ndim == 2 else scores > 0.5
        return np.asarray(best, dtype=np.int64)

    def classes(self, model: Any, n_classes: int) -> tuple[Any, ...]:
        """Return the numbers of the classes."""
        return tuple(range(n_classes))

    def columns(self, model: Any) -> Any:
        """Return the booster's names of features."""
        return model.feature_name()

    def sizes(self, part: Any) -> Iterator[Callable[[], Any]]:
        """Yield the number of trees and the best round: training goes on in place."""
        yield part.num_trees
        yield lambda: part.best_iteration

    def _booster(self, model: Any) -> Any:
        return model


def _labels(booster: Any, frame: pd.DataFrame) -> dict[Any, list[Any]]:
    """Return the categories of LightGBM, which stores them in column order without names."""
    categories = booster.pandas_categorical or []
    by_name = {str(name).replace(" ", "_"): name for name in frame.columns}
    columns = [by_name.get(name) for name in booster.feature_name()]
    if not categories or None in columns:
        return {}
    ranges = booster.dump_model(num_iteration=1)["feature_infos"]
    named = [
        name
        for name, name_in_model in zip(columns, booster.feature_name(), strict=True)
        if ranges.get(name_in_model, {}).get("values")
        or not pd.api.types.is_numeric_dtype(frame[name].dtype)
    ]
    return dict(zip(named, categories, strict=True)) if len(named) == len(categories) else {}


def _load_lightgbm(path: Path) -> Any:
    try:
        import lightgbm
    except ImportError as error:
        raise InputError(
            "it needs lightgbm. Install it: pip install 'counterfolio[lightgbm]'"
        ) from error

    # Read the file here, as LightGBM's own reader ends the process on some damaged files.
    text = path.read_text(encoding="utf-8")
    _check_lightgbm(text)
    return lightgbm.Booster(model_str=text)


def _check_lightgbm(text: str) -> None:
    """Raise InputError unless trees are as long as stated; lightgbm reads past missing parts."""
    if not text.startswith("tree"):
        raise InputError("it is not a LightGBM model text file.")
    head, tree, _ = text.partition("\nTree=0\n")
    if "\nend of trees" not in text or (not tree and "\nTree=" in text):
        raise InputError("it ends before its last tree; it is truncated or damaged.")
    sizes = next((line for line in head.splitlines() if line.startswith("tree_sizes=")), "")
    content = text.encode()
    at = len(head.encode()) + 1
    for number, size in enumerate(sizes.partition("=")[2].split()):
        if not content.startswith(f"Tree={number}\n".encode(), at) or not size.isdecimal():
            raise InputError(
                f"its tree {number} is not where its header says. The file is damaged."
            )
        at += int(size)
    if sizes and not content.startswith(b"end of trees", at):
        raise InputError("its trees are not as long as its header says. The file is damaged.")


READERS = {
    **dict.fromkeys(("LGBMClassifier", "LGBMRegressor", "LGBMRanker"), LightGBMEstimator()),
    "Booster": LightGBMBooster(),
}


def _save_lightgbm(model: Any, path: Path) -> None:
    getattr(model, "booster_", model).save_model(path)


FORMATS = (
    FileFormat((".txt",), _load_lightgbm, "lightgbm", _save_lightgbm, optional=("sklearn",)),
)
