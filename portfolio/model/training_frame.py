"""Conversion of the user's training data to a frame in the model's column order."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray
from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.features import Feature, FeatureSpace
from encoders.query.names import feature_name
from encoders.query.one_hot_groups import begins_with
from encoders.query.overrides import as_entries
from portfolio.model.frames import as_pandas


def training_frame(X_train: Any, model_columns: list[str] | None, n_columns: int) -> pd.DataFrame:
    """Return the training data as a frame in the model's column order, with text for names."""
    if hasattr(X_train, "toarray"):
        raise InputError(
            "X_train is a sparse matrix. Some libraries read entries that are not stored as "
            "missing, others as 0. Pass X_train.toarray() if they are 0."
        )
    X_train, _ = as_pandas(X_train)
    if not isinstance(X_train, pd.DataFrame):
        try:
            array = np.asarray(X_train)
        except ValueError as error:
            raise InputError(f"X_train must be a table of rows and columns: {error}.") from error
        if array.ndim != 2:
            raise InputError(f"X_train must be a table of rows and columns, got {array.ndim}-d.")
        names = model_columns or [f"x{i}" for i in range(array.shape[1])]
        if len(names) != array.shape[1]:
            raise InputError(
                f"X_train has {array.shape[1]} columns, the model was trained on {n_columns}. "
                "Pass the columns of the training data."
            )
        X_train = pd.DataFrame(array, columns=names)
    frame, names_given = named(X_train), list(X_train.columns)
    if frame.columns.has_duplicates:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise InputError(f"X_train has two columns named {twice!r}. Rename one.")
    if frame.shape[1] != n_columns:
        if model_columns is not None:
            check_names(frame.columns, model_columns, "X_train")
        raise InputError(
            f"X_train has {frame.shape[1]} columns, the model was trained on {n_columns}. Pass the "
            "columns of the training data."
        )
    if model_columns is not None:
        frame = frame.iloc[:, places_of(model_columns, names_given, "X_train")]
    if frame.empty:
        raise InputError(
            "X_train has no rows. Pass training rows; the bounds of the features come from them."
        )
    return frame


def places_of(model_columns: list[str], frame_names: list[Any], where: str) -> list[int]:
    """Return the position of each model column among names, which libraries may rewrite."""
    for rewritten in REWRITTEN:
        names = [rewritten(name) for name in frame_names]
        if names == model_columns:
            return list(range(len(names)))
        if sorted(names) == sorted(set(model_columns)):
            return [names.index(name) for name in model_columns]
    check_names(map(feature_name, frame_names), model_columns, where)
    raise InputError(f"{where} has two columns of the same name. Rename one.")


def _joined(name: Any) -> str:
    return " ".join(map(str, name)) if isinstance(name, tuple) else feature_name(name)


# How libraries rewrite names: unchanged; LightGBM without blanks; XGBoost with joined levels; and
# file readers that strip blanks.
REWRITTEN: tuple[Callable[[Any], str], ...] = (
    feature_name,
    lambda name: feature_name(name).replace(" ", "_"),
    _joined,
    lambda name: feature_name(name).strip(),
)


def check_names(
    frame_names: Any, expected: list[str], where: str, optional: Container[int] = ()
) -> None:
    """Raise InputError unless the names are the model's, in any order."""
    frame_names = list(frame_names)
    there, expected_names = set(frame_names), set(expected)
    missing = [name for at, name in enumerate(expected) if name not in there and at not in optional]
    extra = [str(name) for name in frame_names if name not in expected_names]
    if missing or extra:
        parts = [f"lacks {missing[0]!r}"] if missing else []
        parts += [f"has {extra[0]!r}, which the model does not know"] if extra else []
        close = close_names(extra[0], missing) if extra else ""
        raise InputError(
            f"{where} {' and '.join(parts)}.{close} Use the columns of the model.", "other-columns"
        )


def named(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with text for column names, including those of several levels."""
    return frame.set_axis([feature_name(name) for name in frame.columns], axis=1)


def as_numbers(frame: pd.DataFrame, where: str, takes_missing: bool) -> pd.DataFrame:
    """Return the same frame in float64."""
    columns = {}
    for name in frame.columns:
        try:
            if getattr(frame[name].dtype, "kind", "") in "cmM":
                raise TypeError
            values = frame[name].to_numpy(dtype=np.float64)
        except OverflowError as error:
            raise InputError(
                f"{where}: column {name!r} holds a number larger than any float64. Rescale it."
            ) from error
        except (TypeError, ValueError) as error:
            raise InputError(
                f"{where}: column {name!r} is not numeric. Encode it as for training."
            ) from error
        refuse_values(values, name, where, takes_missing)
        columns[name] = values
    return pd.DataFrame(columns, index=frame.index, columns=frame.columns)


def refuse_values(values: FloatArray, name: Any, where: str, takes_missing: bool) -> None:
    """Raise InputError for infinite values, and for missing ones that the model rejects."""
    wrong = np.isinf(values) if takes_missing else ~np.isfinite(values)
    bad = np.flatnonzero(wrong)
    if bad.size and np.isnan(values[bad[0]]):
        raise InputError(
            f"{where}: column {name!r} is missing in row {int(bad[0])}, and the model does not "
            "accept missing values. Fill or drop them."
        )
    if bad.size:
        raise InputError(
            f"{where}: column {name!r} is infinite in row {int(bad[0])}. Fill or drop infinite "
            "values."
        )


ROWS = 100  # generated; parsed trees are compared with the model on them
Values = Mapping[str, np.ndarray[Any, Any]]  # candidate values by column


def has_no_rows(X_train: Any) -> bool:
    """Return whether the training data has no rows."""
    return X_train is None or (hasattr(X_train, "shape") and X_train.shape[:1] == (0,))


def made_up_rows(
    X_train: Any, features: Any, names: Sequence[str] | None, width: int, in_pipeline: bool
) -> tuple[pd.DataFrame, Any]:
    """Return a frame of generated rows, and the features without entries used only for them."""
    empty = as_pandas(X_train)[0]
    frame = empty if isinstance(empty, pd.DataFrame) else None  # arrays have no names
    rng = np.random.default_rng(0)
    candidates: dict[str, Any] = {}
    entries: dict[str, Any] = {}
    if isinstance(features, FeatureSpace):
        candidates = random_values(features, rng)
        columns = _names(frame, names, candidates, width)
    else:
        described_entries = as_entries(features)
        columns = _names(frame, names, described_entries, width)
        for name, entry in described_entries.items():
            group = [] if name in columns else _group(name, entry, columns)
            candidates.update(
                _of_group(entry, group, rng) if group else _of_column(name, entry, rng)
            )
            coded = entry.get("kind") == "categorical" and not group
            dropped = ("labels", "values") if coded else ()
            entries[name] = {key: value for key, value in entry.items() if key not in dropped}
    values_of = {}
    for name in columns:
        dtype = None if frame is None else frame.iloc[:, columns.index(name)].dtype
        values = _of_type(dtype) if name not in candidates else candidates[name]
        if values is not None:
            values_of[name] = in_dtype(np.resize(values, ROWS), dtype, in_pipeline)
    lacking = [name for name in columns if name not in values_of]
    if lacking:
        raise InputError(
            f"X_train has no rows, and features does not describe {', '.join(map(repr, lacking))}. "
            "Give each of them a kind, and bounds, values or labels."
        )
    described = features if isinstance(features, FeatureSpace) else entries
    return pd.DataFrame(values_of)[columns], described


def without_spread(space: FeatureSpace) -> FeatureSpace:
    """Return the features without statistics of spread, which generated rows do not have."""
    middle = [(f.lower + f.upper) / 2 if f.missing and not f.coded else 0.0 for f in space.features]
    pairs = zip(space.features, middle, strict=True)
    features = tuple(replace(f, typical=m, std=np.nan, mad=np.nan) for f, m in pairs)
    return replace(space, features=features)


def _names(
    frame: pd.DataFrame | None, names: Sequence[str] | None, entries: Mapping[str, Any], width: int
) -> list[str]:
    """Return the columns: the frame's, else the model's, else those described, in their order."""
    if frame is not None:
        return [feature_name(name) for name in frame.columns]
    if names is not None:
        return list(names)
    listed = []
    for name, entry in entries.items():
        columns = entry.get("columns") if isinstance(entry, Mapping) else None
        listed += list(columns or [name])
    if len(listed) != width:
        raise InputError(
            f"X_train has no rows, and features describes {len(listed)} of the model's {width} "
            "columns, which have no names. Describe all of them, in the model's order."
        )
    return listed


def _group(name: str, entry: Mapping[str, Any], columns: list[str]) -> list[str]:
    columns_named = list(entry.get("columns") or [])
    return columns_named or [column for column in columns if begins_with(column, name)]


def _of_group(entry: Mapping[str, Any], columns: list[str], rng: np.random.Generator) -> Values:
    base = bool(entry.get("base", len(entry.get("labels", ())) > len(columns)))
    place = _mixed(np.arange(len(columns) + base), rng)
    return {column: (place == at).astype(float) for at, column in enumerate(columns)}


def _of_column(name: str, entry: Mapping[str, Any], rng: np.random.Generator) -> Values:
    kind, bounds = entry.get("kind"), entry.get("bounds")
    values = entry.get("values") or (entry.get("labels") if kind == "categorical" else None)
    if kind == "binary" and not values:
        values = (0.0, 1.0)
    if values and kind:
        array = np.empty(len(values), dtype=object)
        array[:] = list(values)
        return {name: _mixed(array if kind == "categorical" else array.astype(float), rng)}
    if kind not in ("numeric", "ordinal") or not bounds or len(bounds) != 2:
        return {}
    return {name: _between(float(bounds[0]), float(bounds[1]), kind == "ordinal", rng)}


def random_values(space: FeatureSpace, rng: np.random.Generator) -> dict[str, Any]:
    """Return random values of each column, both ends and all listed values included."""
    values: dict[str, Any] = {}
    for feature in space.features:
        columns = [space.columns[at] for at in feature.columns]
        values |= _of_feature(feature, columns, rng)
    return {name: values[name] for name in space.columns}


def _of_feature(feature: Feature, columns: list[str], rng: np.random.Generator) -> Values:
    if feature.one_hot:
        return _of_group({"base": feature.has_base}, columns, rng)
    if feature.coded:
        indices = feature.values or tuple(range(len(feature.labels)))
        labels = np.array([feature.labels[int(at)] for at in indices], dtype=object)
        return {columns[0]: _mixed(labels, rng)}
    if feature.values:
        return {columns[0]: _mixed(np.array(feature.values), rng)}
    whole = feature.kind == "ordinal"
    return {columns[0]: _between(feature.lower, feature.upper, whole, rng)}


def _between(
    low: float, high: float, whole: bool, rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    """Return both ends, and numbers between them."""
    random_numbers = rng.uniform(0, 1, ROWS - 2) * (high - low) + low
    numbers = np.clip(np.concatenate([[low, high], random_numbers]), low, high)
    rounded: np.ndarray[Any, Any] = np.clip(np.round(numbers), np.ceil(low), np.floor(high))
    return rounded if whole else numbers


def _mixed(values: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Return every value once, then random ones of them."""
    more = max(ROWS - len(values), 0)
    return np.concatenate([values, values[rng.integers(0, len(values), more)]])[:ROWS]


def _of_type(dtype: Any) -> np.ndarray[Any, Any] | None:
    """Return values that a column's dtype implies, or None."""
    if isinstance(dtype, pd.CategoricalDtype) and len(dtype.categories):
        return np.array(dtype.categories.tolist(), dtype=object)
    if dtype is not None and pd.api.types.is_bool_dtype(dtype):
        return np.array([False, True])
    return None


def in_dtype(values: np.ndarray[Any, Any], dtype: Any, in_pipeline: bool = True) -> Any:
    """Return values in a dtype, or as they are if it cannot hold them."""
    if getattr(dtype, "kind", "O") == "O" and not isinstance(
        dtype, pd.CategoricalDtype
    ):  # empty columns of files have dtype object
        category = values.dtype == object and not in_pipeline
        return pd.Categorical(values) if category else values
    try:
        return pd.Series(values).astype(dtype)
    except (TypeError, ValueError):
        return values
