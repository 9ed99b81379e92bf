"""Summaries of the training data that show where a value lies, without any of its rows."""

from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.query.features import Feature, FeatureSpace
from portfolio.results.codec import encode

BINS = 24  # of equal width between the least and the largest value
QUARTILES = 0.0, 0.25, 0.5, 0.75, 1.0


def distributions(space: FeatureSpace, rows: FloatArray) -> dict[str, dict[str, Any]]:
    """Return for each feature, by name, how the values of some rows are distributed.

    Ordered features have ``quartiles``, from the least to the largest value, and ``shares`` of the
    rows in bins of equal width between these two. Others have ``shares`` of their categories or
    values, in the order of the model's description. ``missing`` is the share of missing values.
    """
    values = space.values_of_rows(rows)
    return {
        feature.name: encode(_of(feature, values[:, at]))
        for at, feature in enumerate(space.features)
    }


def _of(feature: Feature, values: FloatArray) -> dict[str, Any]:
    unknown = np.isnan(values) | np.isin(values, feature.codes)
    present = values[~unknown]
    missing = float(unknown.mean()) if len(values) else 0.0
    if feature.kind in ("numeric", "ordinal"):
        if not len(present):
            return {"quartiles": [], "shares": [], "missing": missing}
        counts, _ = np.histogram(present, BINS)
        quartiles = np.quantile(present, QUARTILES)
        return {"quartiles": quartiles, "shares": counts / len(present), "missing": missing}
    count = len(feature.labels) if feature.kind == "categorical" else 0
    places = np.arange(count, dtype=np.float64) if count else np.array(feature.values)
    shares = [float(np.mean(present == place)) if len(present) else 0.0 for place in places]
    return {"shares": shares, "missing": missing}
