"""Example rows of a model."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.errors import InputError
from encoders.query.features import Feature, FeatureSpace
from portfolio.api.explainer import Explainer
from portfolio.results.codec import encode

TRIES = 50  # random rows; a prediction takes milliseconds


def typical_row(space: FeatureSpace, X: pd.DataFrame) -> dict[str, Any]:
    """Return the median or most frequent value of each column, so that no actual row is shown."""
    row: dict[str, Any] = {}
    for feature in space.features:
        row |= _typical(feature, X[[space.columns[at] for at in feature.columns]])
    return {name: row[name] for name in space.columns}


def plain_row(row: "pd.Series[Any] | Mapping[Any, Any]") -> dict[str, Any]:
    """Return a row as plain values by column name, ready for JSON."""
    return {str(name): encode(value) for name, value in row.items()}


def another_row(explainer: Explainer, row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a random row with another prediction; None if no try finds one."""
    rng, space, prediction = np.random.default_rng(0), explainer.features, explainer.predict(row)
    for _ in range(TRIES):
        drawn: dict[str, Any] = {}
        for feature in space.features:
            names = [space.columns[at] for at in feature.columns]
            drawn |= dict(zip(names, _drawn(feature, rng), strict=True))
        candidate = {name: drawn[name] for name in space.columns}
        try:
            if explainer.predict(candidate) != prediction:
                return candidate
        except InputError:  # such as a row that the pipeline rejects
            continue
    return None


def _drawn(feature: Feature, rng: np.random.Generator) -> list[Any]:
    """Return random values of the feature's columns."""
    if feature.one_hot:
        at = rng.integers(len(feature.labels))
        return [float(place == at) for place in range(len(feature.columns))]
    if feature.kind == "categorical":
        return [feature.show(float(rng.integers(len(feature.labels))))]
    if feature.values:
        return [feature.show(feature.values[rng.integers(len(feature.values))])]
    value = float(rng.uniform(feature.lower, feature.upper))
    return [value if feature.kind == "numeric" else float(round(value))]


def _typical(feature: Feature, part: pd.DataFrame) -> dict[str, Any]:
    if feature.one_hot:
        common = part.astype(float).sum().argmax()
        return {name: float(place == common) for place, name in enumerate(map(str, part))}
    present = part.iloc[:, 0].dropna()
    ordered = feature.kind in ("numeric", "ordinal") and pd.api.types.is_numeric_dtype(present)
    if present.empty:
        value = None
    elif ordered:
        value = present.sort_values().iloc[len(present) // 2]
    else:
        value = present.mode().iloc[0]
    return plain_row({part.columns[0]: value})
