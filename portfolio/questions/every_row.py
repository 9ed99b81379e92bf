"""Explainers of the whole feature space, without default actions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from encoders.core.errors import InputError
from encoders.query.constraints import AllowMissing
from encoders.query.features import Feature, FeatureSpace
from portfolio.model.one_output import alone_only

if TYPE_CHECKING:
    from portfolio.engine.ask import Asker
    from portfolio.model.explained_model import ExplainedModel
    from portfolio.model.row import Row

Bounds = Literal["features"] | None


def every_row(asker: Asker, bounds: Bounds = "features", also: bool = False) -> Asker:
    """Return an asker without default actions, so that every row of the feature space counts.

    Bounds, value lists, categories and steps stay.
    """
    if bounds not in ("features", None):
        raise InputError(f"bounds must be 'features' or None, got {bounds!r}.")
    model = asker.model
    if model.also and not also:
        raise alone_only(model, "reason codes, contrasts and robustness batches support")
    features = tuple(_free(feature, model, bounds) for feature in model.space.features)
    if features == model.space.features:
        return asker
    return replace(asker, model=replace(model, space=FeatureSpace(features, model.space.columns)))


def _free(feature: Feature, model: ExplainedModel, bounds: Bounds) -> Feature:
    freed = replace(feature, action="free")
    if bounds == "features" or feature.kind != "numeric" or feature.values:
        return freed
    most = float(np.finfo(model.input_type).max)
    return replace(freed, lower=-most, upper=most)


def may_lack(space: FeatureSpace, row: Row) -> tuple[AllowMissing, ...]:
    """Return constraints that allow missing values and special codes of features."""
    values = space.values(row.values)
    return tuple(
        AllowMissing(feature.name)
        for feature, value in zip(space.features, values, strict=True)
        if (feature.missing and not np.isnan(value)) or feature.codes
    )
