"""Figures with confidence intervals over queries."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from encoders.core.arrays import FloatArray

LEVEL = 0.95
RESAMPLES = 2000
LEAST = 6  # least queries for a verdict: 0.025 ** (1 / 5) < 1/2 < 0.025 ** (1 / 6)


@dataclass(frozen=True)
class Estimate:
    """Figure with a 95 % confidence interval.

    Attributes
    ----------
    value, low, high : figure and limits of the interval, nan without any query.
    count : number of queries.
    """

    value: float
    low: float
    high: float
    count: int


def share(hits: int, count: int) -> Estimate:
    """Return a share with its exact binomial interval, as a bootstrap fails if all agree."""
    if not count:
        return Estimate(np.nan, np.nan, np.nan, 0)
    interval = binomtest(hits, count).proportion_ci(LEVEL)
    return Estimate(hits / count, float(interval.low), float(interval.high), count)


def median(values: FloatArray) -> Estimate:
    """Return a median with its bootstrap interval."""
    if not values.size:
        return Estimate(np.nan, np.nan, np.nan, 0)
    rng = np.random.default_rng(0)
    drawn = np.sort(values)[rng.integers(0, values.size, (RESAMPLES, values.size))]
    tail = (1 - LEVEL) / 2
    # An order statistic and not a mean of two, so that infinite values are supported.
    middles = np.sort(drawn, axis=1)[:, values.size // 2]
    low, high = np.quantile(middles, [tail, 1 - tail], method="nearest")
    middle = np.sort(values)[values.size // 2]
    return Estimate(float(middle), float(low), float(high), values.size)
