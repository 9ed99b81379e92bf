"""Reader of XGBoost's classifiers, regressors and boosters."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray, IntArray, frozen
from encoders.core.errors import UnsupportedModelError
from encoders.readers.advice import other_objectives
from encoders.readers.kinds import kind_of
from encoders.readers.outputs import OutputReader
from encoders.readers.reader import (
    Codes,
    FileFormat,
    Reader,
    ReadMember,
    in_columns,
    numbers_as_codes,
    of_both_classes,
    positions,
)
from encoders.readers.refusals import not_fitted, unreadable
from encoders.readers.treelite_nodes import from_treelite
from encoders.trees.arithmetic import SINGLE, Link, LinkKind, rounding_of
from encoders.trees.ensemble import Ensemble, with_missing_numbers
from encoders.trees.floats import largest_at_most

# Links from raw scores to predictions of regressors (``src/objective/``, regression_obj.cu etc.).
REGRESSION: dict[str, LinkKind] = {
    "reg:squarederror": "mean",
    "reg:squaredlogerror": "mean",
    "reg:pseudohubererror": "mean",
    "reg:absoluteerror": "mean",
    "reg:quantileerror": "mean",
    "reg:logistic": "sigmoid",
    "count:poisson": "exp",
    "reg:gamma": "exp",
    "reg:tweedie": "exp",
    "survival:aft": "exp",  # time
    "survival:cox": "exp",  # hazard ratio
    "rank:map": "mean",
    "rank:ndcg": "mean",
    "rank:pairwise": "mean",
}
CLASSES: dict[str, LinkKind] = {
    "binary:logistic": "sigmoid",
    "multi:softprob": "softmax",
}
CATEGORY = "c"  # feature type of categories
LIKELIEST = ("binary:logistic", "multi:softprob")  # others predict differently
CLASSIFYING = "binary:logistic, multi:softprob"
# Key of the weights that dropout of trees (dart) multiplies leaves by. Since XGBoost 3.4 the
# booster's name does not depend on it.
WEIGHTS = b"weight_drop"
LARGEST_SUM = 1e37  # limit of the sum of all leaf values; float32 overflows at 3.4e38
LINEAR = "a linear booster (gblinear) has no trees to explain. Train with booster='gbtree'."


def read_xgboost(model: Any, target: int = -1) -> Ensemble:
    """Read an ``XGBClassifier``, ``XGBRegressor``, their forests (``XGBRF...``) or a ``Booster``.

    ``target`` is the index of the output to read of an estimator of several.

    Leaves and bias are added in float32 (``src/predictor/cpu_predictor.cc``), and probabilities
    are float32 as well. Class 1 of two needs a probability above 0.5. With several classes, the
    first of the largest wins (``xgboost/sklearn.py``, XGBClassifier.predict). A regressor's
    prediction is the raw score, its exponential, or its sigmoid, in float32.
    """
    import treelite

    booster = xgboost_booster(model)
    objective = xgboost_objective(booster)
    if not (objective.startswith(("binary:", "multi:")) or objective in REGRESSION):
        raise UnsupportedModelError(
            f"an XGBoost model with objective {objective} does not classify or predict a number. "
            "Train with one of the objectives "
            f"{other_objectives(model, CLASSIFYING, ', '.join(REGRESSION))}."
        )
    if kind_of(model).name.endswith("Regressor") and objective not in REGRESSION:
        raise UnsupportedModelError(
            f"an XGBRegressor with objective {objective} predicts classes. Train an XGBClassifier "
            "instead."
        )
    try:
        if "c" in (booster.feature_types or ()):
            trees = treelite.frontend.from_xgboost_json(_without_categories(booster))
        else:
            trees = treelite.frontend.from_xgboost(booster)
    except treelite.TreeliteError as error:
        raise unreadable("XGBoost model", error, ".") from error
    read = from_treelite(trees, np.dtype(np.float32), "xgboost", objective in REGRESSION, target)
    read = replace(read, bias=frozen(_bias(booster, read, target)))
    if np.abs(read.score).max() * read.root.size > LARGEST_SUM:
        raise UnsupportedModelError(
            "sums of the model's leaf values may overflow float32. Scale the target or train with "
            "more regularisation."
        )
    magnitude, offset = read.bias, 0.0
    if objective == "binary:logitraw" and booster is not model:
        # XGBClassifier compares the raw score with 0.5, as if it were a probability.
        magnitude = np.abs(read.bias) + np.array([0.0, 0.5])
        read, offset = replace(read, bias=frozen(read.bias - np.array([0.0, 0.5]))), 0.5
    has_weights = WEIGHTS in bytes(booster.save_raw("ubj"))
    rounding = rounding_of(
        read.score,
        read.root,
        magnitude,
        SINGLE,
        # The bias is exact up to the rounding of one boosting round. With weights, XGBoost before
        # 3.4 adds it to each leaf and subtracts it again (``src/gbm/gbtree.cc``, InplacePredict).
        terms=_trees_a_round(booster, read) + (read.root.size if has_weights else 0),
        link=CLASSES.get(objective, ""),
        may_be_exact=not has_weights,
    )
    kind = REGRESSION.get(objective) or CLASSES.get(objective, "none")
    if objective == "multi:softmax" and booster is not model:
        kind = "softmax"  # predict_proba of XGBClassifier applies it to the raw scores
    read = replace(read, rounding=rounding, link=Link(kind, unit=SINGLE, offset=offset))
    return _with_missing(read, xgboost_missing(model))


def _with_missing(read: Ensemble, missing: float) -> Ensemble:
    """Return the trees with a number that counts as missing, after rounding to float32."""
    if np.isnan(missing):
        return read
    if read.sets is not None or not np.isfinite(missing):
        raise UnsupportedModelError(
            f"the model treats the value {missing!r} as missing, which is supported for finite "
            "numbers and models without native categories only. Train with missing=nan."
        )
    rounded = float(np.float32(missing))
    below = float(largest_at_most(rounded, np.dtype(np.float32), strict=True))
    return with_missing_numbers(read, range(read.n_columns), below, rounded)


def xgboost_missing(model: Any) -> float:
    """Return the number that a model treats as missing, NaN by default."""
    missing = getattr(model, "missing", None)
    return float("nan") if missing is None else float(missing)


def _without_categories(booster: Any) -> str:
    """Return the model as JSON without the names of categories, which treelite does not accept.

    Trees contain codes, which are indices into the list of names.
    """
    model = json.loads(bytes(booster.save_raw("json")))
    trees = model["learner"]["gradient_booster"]
    trees = trees.get("gbtree", trees)["model"]  # dart has its trees one level deeper
    if "cats" in trees:
        trees["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}
    return json.dumps(model)


def _bias(booster: Any, read: Ensemble, target: int) -> FloatArray:
    """Return the bias with which XGBoost begins its sums, float64 (n_classes,).

    ``base_score`` is a probability that XGBoost clips and converts to a raw score in float32, where
    digits cancel near 1; versions differ. So the bias is measured: it is the raw score of the first
    boosting round less its leaves. If it equals treelite's value up to rounding, that one is used.
    """
    import xgboost

    row = np.zeros((1, read.n_columns), dtype=np.float32)
    matrix = xgboost.DMatrix(
        row,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )
    leaves = read.leaves(row.astype(np.float64))[0, : _trees_a_round(booster, read)]
    explained = read.score[leaves].sum(axis=0)
    raw = np.zeros(read.n_classes)
    first = np.ravel(booster[:1].predict(matrix, output_margin=True))
    first = first if target < 0 else first[target : target + 1]
    raw[-first.size :] = first  # a single raw score is that of class 1
    bias = raw - explained
    magnitude = np.abs(read.score[leaves]).sum(axis=0) + np.abs(raw)
    rounded = (leaves.size + 1) * SINGLE * magnitude
    return np.where(np.abs(bias - read.bias) <= rounded, read.bias, bias)


def _trees_a_round(booster: Any, read: Ensemble) -> int:
    return read.root.size // max(int(booster.num_boosted_rounds()), 1)


def xgboost_booster(model: Any) -> Any:
    """Return the booster that a model predicts with, up to the best iteration of estimators."""
    import xgboost

    if isinstance(model, xgboost.Booster):
        return model
    if not model.__sklearn_is_fitted__():
        raise not_fitted(model)
    if model.get_xgb_params().get("booster") == "gblinear":
        raise UnsupportedModelError(LINEAR)
    booster = model.get_booster()
    best = getattr(model, "best_iteration", None)
    return booster if best is None else booster[: best + 1]  # as predict does


def xgboost_objective(booster: Any) -> str:
    """Return the objective of a booster; UnsupportedModelError if it is linear."""
    learner = _learner(booster)
    if learner["gradient_booster"]["name"] == "gblinear":
        raise UnsupportedModelError(LINEAR)
    return str(learner["objective"]["name"])


def _learner(booster: Any) -> dict[str, Any]:
    learner: dict[str, Any] = json.loads(booster.save_config())["learner"]
    return learner


class XGBoostEstimator(Reader):
    """Reader of XGBoost's estimators, which predict arrays in place."""

    zeros_missing = True
    calibration_remedy = "Train it with objective='binary:logistic'"

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_xgboost`."""
        return read_xgboost(model)

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return the outputs of an estimator that was fitted to several."""
        from encoders.trees.outputs import XGBoostOutput

        count = _n_targets(model.get_booster()) if model.__sklearn_is_fitted__() else 1
        return tuple(XGBoostOutput(model, at) for at in range(count)) if count > 1 else ()

    def sigmoid_unit(
        self, model: Any, ensemble: Ensemble
    ) -> tuple[float, float, "np.dtype[Any]"] | None:
        """Return units of ``binary:logistic``, whose probabilities are float32."""
        logistic = xgboost_objective(xgboost_booster(model)) == "binary:logistic"
        return (1.0, 1.0, np.dtype(np.float32)) if logistic else None

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaf indices of the booster that the model predicts with."""
        import xgboost

        matrix = xgboost.DMatrix(rows, missing=xgboost_missing(model), enable_categorical=True)
        return xgboost_booster(model).predict(matrix, pred_leaf=True)

    def scores(self, model: Any, rows: Any, margin_unit: float) -> FloatArray:
        """Return the raw scores of the model's own predict, less its threshold.

        An estimator predicts arrays in place. With dart this rounds differently from predict of its
        booster.
        """
        scores = in_columns(self._margins(model, rows))
        if threshold := self._threshold(model):
            scores[:, 1] -= threshold
        return scores

    def raw(self, model: Any, rows: Any, output: int) -> FloatArray:
        """Return the raw score without the threshold that :meth:`scores` subtracts."""
        return super().raw(model, rows, output) + self._threshold(model)

    def likeliest(self, model: Any) -> bool:
        """Return whether the objective is one whose predict takes the first largest probability."""
        return kind_of(model).name == "XGBClassifier" and model.objective in LIKELIEST

    def takes_arrays(self, model: Any) -> bool:
        """Return whether a classifier has no categories; it reads an array as the same values."""
        classifies = kind_of(model).name in ("XGBClassifier", "XGBRFClassifier")
        return classifies and CATEGORY not in (model.get_booster().feature_types or ())

    def missing_number(self, model: Any) -> float:
        """Return the model's setting ``missing``."""
        return xgboost_missing(model)

    def codes(self, model: Any, frame: pd.DataFrame) -> dict[int, Codes]:
        """Return codes of stored names since XGBoost 3.1, else those of the frame."""
        booster = self._booster(model)
        types, names = booster.feature_types or [], booster.feature_names or []
        named_columns = {name: frame.iloc[:, at] for at, name in enumerate(names)}
        stored = _kept_codes(booster, named_columns) if CATEGORY in types else {}
        codes: dict[int, Codes] = {}
        for at, kind in enumerate(types):
            if kind == CATEGORY:
                column = frame.iloc[:, at]
                if names and names[at] in stored:
                    codes[at] = stored[names[at]]
                elif isinstance(column.dtype, pd.CategoricalDtype):
                    codes[at] = positions(column.dtype.categories.tolist())
                else:
                    codes[at] = numbers_as_codes(column)
        return codes

    def labels(self, model: Any, frame: pd.DataFrame) -> dict[Any, list[Any]]:
        """Return the stored names of categories since XGBoost 3.1."""
        booster = self._booster(model)
        columns = {name: frame[name] for name in frame.columns}
        codes = _kept_codes(booster, columns) if CATEGORY in (booster.feature_types or []) else {}
        return {name: list(codes[name]) for name in frame.columns if name in codes}

    def has_categories(self, model: Any) -> bool:
        """Return whether a feature is of the type of categories."""
        return CATEGORY in (getattr(model, "feature_types", None) or ())

    def _booster(self, model: Any) -> Any:
        return model.get_booster()

    def _margins(self, model: Any, rows: Any) -> Any:
        return model.predict(rows, output_margin=True)

    def _threshold(self, model: Any) -> float:
        """Return the raw score that class 1 must exceed: predict compares raw scores with 0.5."""
        return 0.5 if model.objective == "binary:logitraw" else 0.0


class XGBoostOutputReader(OutputReader, XGBoostEstimator):
    """Reader of one output of an estimator, whose trees are of one output or of all of them."""

    def read(self, model: Any, read: ReadMember) -> Ensemble:
        """See :func:`read_xgboost`."""
        return read_xgboost(model.whole, model.at)

    def leaves(self, model: Any, rows: Any) -> Any:
        """Return the leaves of the output's trees; in each round, outputs come one by one."""
        booster, leaves = xgboost_booster(model.whole), super().leaves(model, rows)
        rounds, size = int(booster.num_boosted_rounds()), len(leaves)
        leaves = leaves.reshape(size, rounds, -1, _n_parallel(booster))
        if leaves.shape[2] == 1:  # trees of all outputs
            return leaves.reshape(size, -1)
        return leaves[:, :, model.at].reshape(size, -1)

    def _margins(self, model: Any, rows: Any) -> Any:
        return super()._margins(model.whole, rows)[:, model.at]

    def _threshold(self, model: Any) -> float:
        return super()._threshold(model.whole)


def _n_targets(booster: Any) -> int:
    """Return the number of outputs of a booster."""
    return int(_learner(booster)["learner_model_param"].get("num_target", 1))


def _n_parallel(booster: Any) -> int:
    """Return the number of trees of an output in a round."""
    trees = _learner(booster)["gradient_booster"]
    return int(trees.get("gbtree", trees)["gbtree_model_param"]["num_parallel_tree"])


class XGBoostBooster(XGBoostEstimator):
    """Reader of boosters, which predict a DMatrix and have no labels."""

    def outputs(self, model: Any) -> tuple[Any, ...]:
        """Return nothing: several outputs of a booster are refused."""
        return ()

    def predictions(self, model: Any, rows: Any) -> Any:
        """Return predictions of a DMatrix."""
        return model.predict(_matrix(rows))

    def probabilities(self, model: Any, rows: Any) -> Any:
        """Return predictions as probabilities of all classes."""
        return of_both_classes(self.predictions(model, rows))

    def class_indices(self, model: Any, rows: Any) -> IntArray:
        """Return classes as XGBoost's classifiers derive them from predictions."""
        scores = np.asarray(self.predictions(model, rows))
        objective = xgboost_objective(model)
        if scores.ndim == 2:
            best = scores.argmax(axis=1)
        elif objective == "binary:logitraw":
            best = scores > 0
        elif objective.startswith("binary:"):
            best = scores > 0.5
        else:
            best = scores
        return np.asarray(best, dtype=np.int64)

    def likeliest(self, model: Any) -> bool:
        """Return False: boosters have no labels."""
        return False

    def takes_arrays(self, model: Any) -> bool:
        """Return False: a DMatrix checks names."""
        return False

    def classes(self, model: Any, n_classes: int) -> tuple[Any, ...]:
        """Return the numbers of the classes."""
        return tuple(range(n_classes))

    def columns(self, model: Any) -> Any:
        """Return the booster's names of features."""
        return model.feature_names

    def sizes(self, part: Any) -> Iterator[Callable[[], Any]]:
        """Yield the number of rounds and the best one: training goes on in place."""
        yield part.num_boosted_rounds
        yield lambda: part.attr("best_iteration")

    def _booster(self, model: Any) -> Any:
        return model

    def _margins(self, model: Any, rows: Any) -> Any:
        return model.predict(_matrix(rows), output_margin=True)

    def _threshold(self, model: Any) -> float:
        return 0.0


def _matrix(rows: Any) -> Any:
    import xgboost

    return xgboost.DMatrix(rows, enable_categorical=True)


def _kept_codes(booster: Any, columns: "Mapping[Any, pd.Series[Any]]") -> dict[str, Codes]:
    """Return by column the codes of the categories that a booster stores, in their order."""
    if not hasattr(booster, "get_categories"):
        return {}
    stored = booster.get_categories(export_to_arrow=True).to_arrow() or []
    return {
        name: _codes_by_name(values, _whole_names(values, name, columns[name]))
        for name, values in stored
        if values is not None and name in columns
    }


def _codes_by_name(values: Any, labels: list[Any]) -> Codes:
    """Return the code of each category as predict finds it: the first of equal truncated names."""
    if str(values.type) != "string":
        return positions(labels)
    content, pairs = _stored_text(values)
    first: dict[bytes, float] = {}
    codes = [first.setdefault(content[s:e], float(at)) for at, (s, e) in enumerate(pairs)]
    return dict(zip(labels, codes, strict=True))


def _stored_text(values: Any) -> tuple[bytes, list[tuple[int, int]]]:
    """Return the text of all names that XGBoost stores, and where each begins and ends."""
    ends = np.frombuffer(values.buffers()[1], dtype=np.int32)[: len(values) + 1].tolist()
    content = bytes((values.buffers()[2] or b"")[: ends[-1]]) if len(values) else b""
    return content, list(pairwise(ends))


def _whole_names(values: Any, name: str, column: "pd.Series[Any]") -> list[Any]:
    """Return the stored names of a column's categories.

    XGBoost stores text as UTF-8, truncated where its characters would end if each were a byte. So
    names beyond ASCII are read by characters, and the last ones are completed from the frame.
    """
    if str(values.type) != "string":
        return list(values.to_pylist())
    frame_values = (
        column.dtype.categories if isinstance(column.dtype, pd.CategoricalDtype) else column
    )
    texts = {text for text in pd.unique(pd.Series(frame_values)).tolist() if isinstance(text, str)}
    content, pairs = _stored_text(values)
    if content.isascii():
        return list(values.to_pylist())
    # The library truncates names in the frame's order in the same way when it predicts. Categories
    # created from text are sorted.
    order = list(frame_values) if isinstance(frame_values, pd.Index) else sorted(texts)
    sizes = [len(str(label)) for label in order] == [end - start for start, end in pairs]
    if sizes and "".join(map(str, order)).encode(errors="replace").startswith(content):
        return order
    by_byte = [content[start:end].decode(errors="replace") for start, end in pairs]
    if texts.issuperset(by_byte):
        return by_byte
    text = content.decode(errors="ignore")
    labels = [text[start:end] for start, end in pairs]
    for at, (start, end) in enumerate(pairs):
        if len(labels[at]) < end - start:
            fits = [text for text in sorted(texts - set(labels)) if len(text) == end - start]
            fits = [text for text in fits if text.startswith(labels[at])]
            if len(fits) != 1:
                raise UnsupportedModelError(
                    f"XGBoost stores the categories of column {name!r} only in part, because some "
                    "are not ASCII text. Give X_train the categorical dtype of the training frame, "
                    "which a Parquet file keeps and a CSV does not."
                )
            labels[at] = fits[0]
    return labels


def _load_xgboost(path: Path) -> Any:
    import xgboost

    booster = xgboost.Booster()
    booster.load_model(path)
    if booster.attr("scikit_learn") is None:
        return booster
    # An estimator: its predict stops at best_iteration, and returns classes.
    kinds = {"regressor": xgboost.XGBRegressor, "ranker": xgboost.XGBRanker}
    text = booster.attr("scikit_learn")
    named = (each for kind, each in kinds.items() if f'"{kind}"' in text)
    estimator = next(named, xgboost.XGBClassifier)()
    estimator.load_model(path)
    return estimator


ESTIMATOR = XGBoostEstimator()
ESTIMATORS = ("XGBClassifier", "XGBRFClassifier", "XGBRegressor", "XGBRFRegressor", "XGBRanker")
READERS = {
    **dict.fromkeys(ESTIMATORS, ESTIMATOR),
    "Booster": XGBoostBooster(),
    "XGBoostOutput": XGBoostOutputReader(),
}


def _save_xgboost(model: Any, path: Path) -> None:
    model.save_model(path)


FORMATS = (FileFormat((".ubj", ".json"), _load_xgboost, "xgboost", _save_xgboost),)
