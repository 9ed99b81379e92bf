"""Columns that a model reads as categories, and the code of its library for each category."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import UnsupportedModelError
from encoders.readers.kinds import predictor, unwrapped
from encoders.readers.layout import Layout, is_owner
from encoders.readers.read import read_ensemble
from encoders.readers.reader import Codes, positions, reader_of
from encoders.trees.ensemble import Ensemble, with_codes
from portfolio.model.table import Table


def library_codes(model: Any, layout: Layout, frame: pd.DataFrame) -> dict[int, Codes]:
    """Return the codes of each column that the model reads as categories, by position.

    Members of a model may have codes of their own. Then these are joint codes for all of them.
    """
    if not is_owner(predictor(model)):
        return reader_of(predictor(model)).codes(predictor(model), frame)
    labels: dict[int, dict[Any, None]] = {}
    for member, place in layout.leaves:
        columns = layout.columns_of(place)
        for at, codes in reader_of(member).codes(member, frame.iloc[:, columns]).items():
            labels.setdefault(int(columns[at]), {}).update(dict.fromkeys(codes))
    for at, names in labels.items():
        names.update(dict.fromkeys(pd.unique(frame.iloc[:, at]).tolist()))
    return {at: positions(list(names)) for at, names in labels.items()}


def in_codes_of_all(
    model: Any, ensemble: Ensemble, codes: Mapping[int, Codes], frame: pd.DataFrame
) -> Ensemble:
    """Return the trees of a model, in joint codes if it has members that share them."""
    if not (codes and is_owner(predictor(model))):
        return ensemble

    def recoded(member: Any, trees: Ensemble, places: IntArray) -> Ensemble:
        mine, other = reader_of(member).codes(member, frame.iloc[:, places]), other_code(member)
        shared = {at: codes[place] for at, place in enumerate(places.tolist()) if place in codes}
        values = {
            at: np.array([_code(label, mine.get(at), other) for label in labels])
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
    typed, inner = frame.copy(deep=False), unwrapped(model)
    for name, labels in reader_of(inner).labels(inner, frame).items():
        column = frame[name]
        if not isinstance(column.dtype, pd.CategoricalDtype) and column.dropna().isin(labels).all():
            typed[name] = pd.Categorical(column, categories=labels)
    return typed


def other_code(model: Any) -> float:
    """Return the code of the categories that a model without members does not know."""
    return reader_of(predictor(model)).other_code


def _code(label: Any, codes: Codes | None, other: float) -> float:
    """Return a member's code of a label, or the label itself if it reads the column as numbers."""
    if codes is not None:
        return codes.get(label, other)
    try:
        return float(label)
    except (TypeError, ValueError) as error:
        raise UnsupportedModelError(
            f"one member of the model reads a column as numbers, but for another member {label!r} "
            "is a category of that column. Fit both on the same numeric codes."
        ) from error


def own_codes(
    codes: Mapping[int, Codes], table: Table | None, other: float
) -> dict[int, FloatArray]:
    """Return the library's codes of the table's labels by position of the column, float64 (n + 1,).

    They are ``other`` where the library has none, as for the last: categories that training rows
    lack.
    """
    return {
        at: np.array([*(codes.get(at, {}).get(label, other) for label in column.labels), other])
        for at, column in enumerate(table.columns if table else ())
        if column.labels is not None
    }
