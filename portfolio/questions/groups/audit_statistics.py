"""Means, shares and differences with confidence intervals, honest where costs are only bounded.

Of a row with an answer that is not proved the cost lies between its bound and that of the answer.
A row of which nothing is known may have no recourse at all, or one of any cost from its bound on.
Intervals go from the least that all this allows to the most.
"""

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # stats is imported when it is used: it takes half a second

from encoders.arrays import FloatArray

Statistic = Callable[..., Any]
DIGITS = 12  # of the largest cost: what differs by less differs by the order of sums


@dataclass(frozen=True)
class Estimate:
    """A number of a group: what it is, and what it may be.

    Attributes
    ----------
    low, high : the number lies between them; equal where every row is proved
    ci_low, ci_high : confidence interval, of groups like this one; None where rows are too few
    """

    low: float
    high: float
    ci_low: float | None
    ci_high: float | None

    @property
    def exact(self) -> bool:
        """Whether the number itself is known."""
        return self.low == self.high

    def __str__(self) -> str:
        told = f"{self.low:.4g}" if self.exact else f"{self.low:.4g} to {_told(self.high)}"
        if self.ci_low is None or self.ci_high is None:
            return told
        return f"{told} ({_told(self.ci_low)} to {_told(self.ci_high)})"


def _told(number: float) -> str:
    return f"{number:.4g}" if math.isfinite(number) else "any"


@dataclass(frozen=True, eq=False)
class Costs:
    """What recourse costs the rows of a group.

    Attributes
    ----------
    lower, upper : float64 (n_found,), of each row with an answer
    open : float64 (n_open,), bounds of the rows of which it is not known whether they have recourse
    without : how many rows are proved to have none
    """

    lower: FloatArray
    upper: FloatArray
    open: FloatArray
    without: int

    @property
    def proved(self) -> bool:
        """Whether everything is known."""
        return self.open.size == 0 and bool((self.lower == self.upper).all())

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.lower.size + self.open.size + self.without


@dataclass(frozen=True)
class Sampling:
    """How intervals are made.

    Attributes
    ----------
    confidence : such as 0.95
    resamples : of the bootstrap and of permutations
    seed : of both
    """

    confidence: float
    resamples: int
    seed: int

    @property
    def generator(self) -> np.random.Generator:
        """A fresh source of random numbers, always the same."""
        return np.random.default_rng(self.seed)


def average(costs: Costs, statistic: Statistic, sampling: Sampling) -> Estimate | None:
    """A mean or median cost of the rows that have recourse; None where no row is known to.

    Its confidence interval is the bootstrap's: bias-corrected and accelerated for means,
    percentiles for medians.
    """
    if costs.lower.size == 0:
        return None
    least, most = _extremes(costs, statistic)
    low, high = float(statistic(least)), float(statistic(most))
    if costs.lower.size < 2:
        return Estimate(low, high, None, None)
    ci_low = _bootstrap((least,), statistic, sampling)[0]
    ci_high = _bootstrap((most,), statistic, sampling)[1] if np.isfinite(most).all() else math.inf
    return Estimate(low, high, ci_low, ci_high)


def _extremes(costs: Costs, statistic: Statistic) -> tuple[FloatArray, FloatArray]:
    """The costs of the rows with recourse for which the statistic is least, and largest."""
    least, most = costs.lower, costs.upper
    for count in range(1, costs.open.size + 1):
        lower = np.concatenate([costs.lower, np.sort(costs.open)[:count]])
        upper = np.concatenate([costs.upper, np.full(count, np.inf)])
        least = min(least, lower, key=statistic)
        most = max(most, upper, key=statistic)
    return least, most


def share(sure: int, maybe: int, rows: int, sampling: Sampling) -> Estimate:
    """A share of the rows, with Wilson's interval."""
    ends = [
        scipy.stats.binomtest(count, rows).proportion_ci(sampling.confidence, "wilson")
        for count in (sure, sure + maybe)
    ]
    low, high = sure / rows, (sure + maybe) / rows
    return Estimate(low, high, float(ends[0].low), float(ends[1].high))


def mean_difference(
    one: Costs, other: Costs, sampling: Sampling
) -> tuple[Estimate | None, float | None]:
    """The mean cost of one group minus that of another, and the p-value of a permutation test.

    The test asks how often groups of these sizes differ by as much if rows are dealt to them at
    random. There is none where costs are only bounded.
    """
    if not (one.lower.size and other.lower.size):
        return None, None
    mine, theirs = _extremes(one, np.mean), _extremes(other, np.mean)
    pairs = ((mine[0], theirs[1]), (mine[1], theirs[0]))
    low, high = (float(_steady(_gap, pair)(*pair)) for pair in pairs)
    if min(one.lower.size, other.lower.size) < 2:
        return Estimate(low, high, None, None), None
    ends = [
        _bootstrap(pair, _gap, sampling)[side] if math.isfinite(end) else end
        for side, (pair, end) in enumerate(zip(pairs, (low, high), strict=True))
    ]
    p_value = None
    if one.proved and other.proved:
        test = scipy.stats.permutation_test(
            (one.lower, other.lower),
            _steady(_gap, (one.lower, other.lower)),
            vectorized=True,
            n_resamples=sampling.resamples,
            random_state=sampling.generator,
        )
        p_value = float(test.pvalue)
    return Estimate(low, high, *ends), p_value


def share_difference(one: Costs, other: Costs, sampling: Sampling) -> tuple[Estimate, float | None]:
    """The share without recourse of one group minus that of another, and Fisher's exact p-value.

    The interval is Newcombe's, made of both Wilson intervals.
    """
    mine, theirs = (share(c.without, c.open.size, c.rows, sampling) for c in (one, other))
    low, high = mine.low - theirs.high, mine.high - theirs.low
    assert mine.ci_low is not None and mine.ci_high is not None
    assert theirs.ci_low is not None and theirs.ci_high is not None
    ci_low = low - math.hypot(mine.low - mine.ci_low, theirs.ci_high - theirs.high)
    ci_high = high + math.hypot(mine.ci_high - mine.high, theirs.low - theirs.ci_low)
    p_value = None
    if not (one.open.size or other.open.size):
        table = [[c.without, c.rows - c.without] for c in (one, other)]
        p_value = float(scipy.stats.fisher_exact(table)[1])
    return Estimate(low, high, max(-1.0, ci_low), min(1.0, ci_high)), p_value


def _gap(one: FloatArray, other: FloatArray, axis: int = -1) -> Any:
    return np.mean(one, axis=axis) - np.mean(other, axis=axis)


def _steady(statistic: Statistic, samples: Sequence[FloatArray]) -> Statistic:
    """The same for rows in any order: whether two numbers are equal is asked of them."""
    most = max(float(sample.max()) for sample in samples)
    if not 0 < most < math.inf:
        return statistic

    def steady(*given: FloatArray, axis: int = -1) -> Any:
        return np.round(statistic(*given, axis=axis) / most, DIGITS) * most + 0.0

    return steady


def _bootstrap(
    samples: Sequence[FloatArray], statistic: Statistic, sampling: Sampling
) -> tuple[float, float]:
    """The confidence interval; where all values are equal it is the one number that there is."""
    if all(sample.min() == sample.max() for sample in samples):
        only = float(statistic(*samples))
        return only, only
    method = "percentile" if statistic is np.median else "BCa"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy tells of samples that BCa is not made for
        found = _interval(samples, statistic, sampling, method)
        if not np.isfinite(found).all():
            found = _interval(samples, statistic, sampling, "percentile")
    return found


def _interval(
    samples: Sequence[FloatArray], statistic: Statistic, sampling: Sampling, method: str
) -> tuple[float, float]:
    found = scipy.stats.bootstrap(
        tuple(samples),
        _steady(statistic, samples),
        vectorized=True,
        n_resamples=sampling.resamples,
        confidence_level=sampling.confidence,
        method=method,
        random_state=sampling.generator,
    ).confidence_interval
    return float(found.low), float(found.high)
