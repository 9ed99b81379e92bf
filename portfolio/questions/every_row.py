"""The rows that a question about the decision itself is about: all of the feature space."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from encoders.errors import InputError
from encoders.query.constraints import AllowMissing
from encoders.query.features import Feature, FeatureSpace

if TYPE_CHECKING:
    from portfolio.model.explained_model import ExplainedModel
    from portfolio.model.row import Row
    from portfolio.solving.ask import Asker

Bounds = Literal["features"] | None


def every_row(asker: Asker, bounds: Bounds = "features", also: bool = False) -> Asker:
    """Asks about every row of the feature space, whatever people may do to get there.

    Default actions are dropped. Bounds, listed values, categories and steps stay.
    """
    if bounds not in ("features", None):
        raise InputError(f"bounds must be 'features' or None, got {bounds!r}.")
    model = asker.model
    if model.also and not also:
        raise InputError(
            "reason codes, contrasts and batches of radii are about the decisions of one model; "
            "use an explainer without also."
        )
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
    """To have no value is one of the values of a feature that may be missing."""
    values = space.values(row.values)
    return tuple(
        AllowMissing(feature.name)
        for feature, value in zip(space.features, values, strict=True)
        if (feature.missing and not np.isnan(value)) or feature.codes
    )
