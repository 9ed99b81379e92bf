"""Columns that a model reads as categories, and the code of its library for each category."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray, IntArray
from encoders.errors import InputError, UnsupportedModelError
from encoders.query.features import is_missing
from encoders.trees.ensemble import Ensemble, with_codes
from encoders.trees.inputs import Layout, is_owner
from encoders.trees.kinds import kind_of
from encoders.trees.read import read_ensemble
from encoders.trees.wrappers import predictor, unwrapped
from portfolio.model.catboost_categories import catboost_codes
from portfolio.model.table import Table

CATEGORY = "c"  # XGBoost's feature type of categories
Codes = Mapping[Any, float]  # label -> the library's code


def library_codes(model: Any, layout: Layout, frame: pd.DataFrame) -> dict[int, Codes]:
    """Return the codes of each column that the model reads as categories, by position.

    Members of a model may have codes of their own. Then these are joint codes for all of them.
    """
    if not is_owner(predictor(model)):
        return _codes_of(predictor(model), frame)
    labels: dict[int, dict[Any, None]] = {}
    for member, place in layout.leaves:
        columns = layout.columns_of(place)
        for at, codes in _codes_of(member, frame.iloc[:, columns]).items():
            labels.setdefault(int(columns[at]), {}).update(dict.fromkeys(codes))
    for at, names in labels.items():
        names.update(dict.fromkeys(pd.unique(frame.iloc[:, at]).tolist()))
    return {at: _counted(list(names)) for at, names in labels.items()}


def in_codes_of_all(
    model: Any, ensemble: Ensemble, codes: Mapping[int, Codes], frame: pd.DataFrame
) -> Ensemble:
    """Return the trees of a model, in joint codes if it has members that share them."""
    if not (codes and is_owner(predictor(model))):
        return ensemble

    def recoded(member: Any, trees: Ensemble, places: IntArray) -> Ensemble:
        mine = _codes_of(member, frame.iloc[:, places])
        shared = {at: codes[place] for at, place in enumerate(places.tolist()) if place in codes}
        values = {
            at: np.array([_code(label, mine.get(at)) for label in labels])
            for at, labels in shared.items()
        }
        read = {
            at: codes_of_labels.astype(trees.dtype).astype(np.float64)
            for at, codes_of_labels in values.items()
        }
        return with_codes(trees, read)

    return read_ensemble(model, recoded)


def typed_as_trained(model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with category dtypes where the model stores a column's categories.

    A CSV has no dtypes. Columns with a value that the model does not know stay as they are.
    """
    typed = frame.copy(deep=False)
    for name, labels in _labels(unwrapped(model), frame).items():
        column = frame[name]
        if not isinstance(column.dtype, pd.CategoricalDtype) and column.dropna().isin(labels).all():
            typed[name] = pd.Categorical(column, categories=labels)
    return typed


def _labels(model: Any, frame: pd.DataFrame) -> dict[Any, list[Any]]:
    """Return the categories that a model of one library stores, by column."""
    package = kind_of(model).library
    if package == "xgboost":
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        columns = {name: frame[name] for name in frame.columns}
        codes = _kept_codes(booster, columns) if CATEGORY in (booster.feature_types or []) else {}
        return {name: list(codes[name]) for name in frame.columns if name in codes}
    if package == "lightgbm":
        booster = model.booster_ if hasattr(model, "booster_") else model
        return _lightgbm_labels(booster, frame)
    return {}


def _lightgbm_labels(booster: Any, frame: pd.DataFrame) -> dict[Any, list[Any]]:
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


def _code(label: Any, codes: Codes | None) -> float:
    """Return a member's code of a label, or the label itself if it reads the column as numbers."""
    if codes is not None:
        return codes.get(label, np.nan)
    try:
        return float(label)
    except (TypeError, ValueError) as error:
        raise UnsupportedModelError(
            f"one member of the model reads a column as numbers, but for another member {label!r} "
            "is a category of that column. Fit both on the same numeric codes."
        ) from error


def _codes_of(model: Any, frame: pd.DataFrame) -> dict[int, Codes]:
    """Return the codes of a model without members, by position of the column."""
    package = kind_of(model).library
    if package == "xgboost":
        return _xgboost(model, frame)
    if package == "lightgbm":
        return _lightgbm(model, frame)
    if package == "catboost":
        return dict(catboost_codes(model, frame))
    categorical = getattr(model, "is_categorical_", None)
    if categorical is None or not np.any(categorical):
        return {}
    categories = model._preprocessor.named_transformers_["encoder"].categories_
    places = np.flatnonzero(categorical).tolist()
    return {at: _counted(labels.tolist()) for at, labels in zip(places, categories, strict=True)}


def own_codes(codes: Mapping[int, Codes], table: Table | None) -> dict[int, FloatArray]:
    """Return the library's codes of the table's labels by position of the column, float64 (n + 1,).

    They are NaN where the library has none, as for the last: categories that training rows lack.
    """
    return {
        at: np.array([*(codes.get(at, {}).get(label, np.nan) for label in column.labels), np.nan])
        for at, column in enumerate(table.columns if table else ())
        if column.labels is not None
    }


def _xgboost(model: Any, frame: pd.DataFrame) -> dict[int, Codes]:
    """Return XGBoost's codes: of stored names since XGBoost 3.1, else those of the frame."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    types, names = booster.feature_types or [], booster.feature_names or []
    own_columns = {name: frame.iloc[:, at] for at, name in enumerate(names)}
    stored = _kept_codes(booster, own_columns) if CATEGORY in types else {}
    codes: dict[int, Codes] = {}
    for at, kind in enumerate(types):
        if kind == CATEGORY:
            column = frame.iloc[:, at]
            if names and names[at] in stored:
                codes[at] = stored[names[at]]
            elif isinstance(column.dtype, pd.CategoricalDtype):
                codes[at] = _counted(column.dtype.categories.tolist())
            else:
                codes[at] = _themselves(column)
    return codes


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
        return _counted(labels)
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


def _lightgbm(model: Any, frame: pd.DataFrame) -> dict[int, Codes]:
    """Return LightGBM's codes: positions of stored names, else the whole numbers themselves."""
    booster = model.booster_ if hasattr(model, "booster_") else model
    dtypes = [frame.iloc[:, at].dtype for at in range(frame.shape[1])]
    named = [at for at, dtype in enumerate(dtypes) if isinstance(dtype, pd.CategoricalDtype)]
    stored = booster.pandas_categorical or []
    if len(named) != len(stored):
        raise InputError(
            f"the model was fitted on a frame with {len(stored)} category columns, X_train has "
            f"{len(named)}. Convert X_train to the same dtypes."
        )
    codes = {at: _counted(labels) for at, labels in zip(named, stored, strict=True)}
    ranges = booster.dump_model(num_iteration=1)["feature_infos"]
    for at, name in enumerate(booster.feature_name()):
        if ranges.get(name, {}).get("values") and at not in codes:
            codes[at] = _themselves(frame.iloc[:, at])
    return codes


def _counted(labels: list[Any]) -> Codes:
    return {label: float(code) for code, label in enumerate(labels) if not is_missing(label)}


def _themselves(column: "pd.Series[Any]") -> Codes:
    """Return the values of a numeric column as their own codes."""
    values = [value for value in pd.unique(column).tolist() if not is_missing(value)]
    return {value: float(value) for value in sorted(values)}
