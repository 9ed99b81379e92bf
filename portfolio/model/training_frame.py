"""Conversion of the user's training data to a frame in the model's column order."""

from collections.abc import Callable, Container
from typing import Any

import numpy as np
import pandas as pd

from encoders.arrays import FloatArray
from encoders.close_names import close_names
from encoders.errors import InputError
from encoders.query.names import feature_name
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
        raise InputError(f"{where} {' and '.join(parts)}.{close} Use the columns of the model.")


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
