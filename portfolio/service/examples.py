"""A row to begin with, for who asks a model for the first time."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from encoders.query.features import Feature, FeatureSpace
from portfolio.as_json import as_plain


def typical_row(space: FeatureSpace, X: pd.DataFrame) -> dict[str, Any]:
    """Of each feature the value in the middle, or the commonest; no row of the table is told.

    Parameters
    ----------
    space : of the model
    X : frame of at least a row, with the space's columns
    """
    found: dict[str, Any] = {}
    for feature in space.features:
        found |= _typical(feature, X[[space.columns[at] for at in feature.columns]])
    return {name: found[name] for name in space.columns}


def plain_row(row: "pd.Series[Any] | Mapping[Any, Any]") -> dict[str, Any]:
    """A row as plain values, ready for JSON.

    Parameters
    ----------
    row : by column
    """
    return {str(name): as_plain(value) for name, value in row.items()}


def _typical(feature: Feature, part: pd.DataFrame) -> dict[str, Any]:
    if feature.one_hot:
        common = part.astype(float).sum().argmax()
        return {name: float(place == common) for place, name in enumerate(map(str, part))}
    known = part.iloc[:, 0].dropna()
    ordered = feature.kind in ("numeric", "ordinal") and pd.api.types.is_numeric_dtype(known)
    if known.empty:
        value = None
    elif ordered:
        value = known.sort_values().iloc[len(known) // 2]
    else:
        value = known.mode().iloc[0]
    return plain_row({part.columns[0]: value})
