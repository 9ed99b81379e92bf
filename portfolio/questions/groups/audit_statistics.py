"""Means, shares and differences with confidence intervals, valid for costs that are only bounded.

If the answer of a row is not proved, its cost lies between its lower bound and the cost of the
answer. An undecided row may have no recourse, or one of any cost from its bound on. Intervals cover
all these possibilities.
"""

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy  # scipy.stats is imported on first use: that takes half a second

from encoders.core.arrays import FloatArray
from portfolio.results.printing import at_least, at_most, short

Statistic = Callable[..., Any]
ENDS = (-math.inf, math.inf) * 2  # infinite ends of a range and of an interval
DIGITS = 12  # relative to the largest cost; smaller differences depend on the order of sums


@dataclass(frozen=True)
class Estimate:
    """Number of a group, with its range and confidence interval.

    Attributes
    ----------
    low, high : float
        Range of the number; equal if every row is proved.
    ci_low, ci_high : float or None
        Confidence interval for groups like this one; None for too few rows.

    Examples
    --------
    >>> audit = explainer.audit(X_train[:40], by="sex", target="granted")
    >>> print(audit.groups[0].adverse_share)
    0.8095 (0.5999 to 0.9234)
    """

    low: float
    high: float
    ci_low: float | None
    ci_high: float | None

    @staticmethod
    def from_dict(members: Mapping[str, Any]) -> "Estimate":
        """Return the estimate in plain values, in which null stands for an infinite end.

        Parameters
        ----------
        members : mapping of str to object
            Plain values; None for an infinite end, or twice for no confidence interval.

        Returns
        -------
        Estimate
            The estimate.

        Examples
        --------
        >>> audit = explainer.audit(X_train[:40], by="sex", target="granted")
        >>> type(audit).from_dict(audit.to_dict()).groups[0].mean == audit.groups[0].mean
        True
        """
        low, high, *interval = (
            end if members[name] is None else members[name]
            for name, end in zip(("low", "high", "ci_low", "ci_high"), ENDS, strict=True)
        )
        without = members["ci_low"] is None and members["ci_high"] is None
        return Estimate(low, high, *([None, None] if without else interval))

    @property
    def exact(self) -> bool:
        """True if the number is known exactly."""
        return self.low == self.high

    def __str__(self) -> str:
        text = short(self.low) if self.exact else _range(self.low, self.high)
        if self.ci_low is None or self.ci_high is None:
            return text
        return f"{text} ({_range(self.ci_low, self.ci_high)})"


def _range(low: float, high: float) -> str:
    """Return a range in words, rounded outwards; "any" stands for a limit that is infinite."""
    lowest = at_least(low) if math.isfinite(low) else "any"
    return f"{lowest} to {at_most(high) if math.isfinite(high) else 'any'}"


@dataclass(frozen=True, eq=False)
class Costs:
    """Costs of recourse of the rows of a group.

    Attributes
    ----------
    lower, upper : float64 (n_found,), bounds on the cost of each row with an answer.
    open : float64 (n_open,), lower bounds of the rows for which recourse is undecided.
    without : int, number of rows proved to have no recourse.
    """

    lower: FloatArray
    upper: FloatArray
    open: FloatArray
    without: int

    @property
    def proved(self) -> bool:
        """True if the costs of all rows are proved."""
        return self.open.size == 0 and bool((self.lower == self.upper).all())

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.lower.size + self.open.size + self.without


@dataclass(frozen=True)
class Sampling:
    """Settings of intervals and tests."""

    confidence: float  # confidence level such as 0.95
    resamples: int  # number of resamples of the bootstrap and of permutation tests
    seed: int  # random seed of both

    @property
    def generator(self) -> np.random.Generator:
        """A new random generator, always with the same seed."""
        return np.random.default_rng(self.seed)


def average(costs: Costs, statistic: Statistic, sampling: Sampling) -> Estimate | None:
    """Return a mean or median cost of the rows with recourse; None if none is known to have it.

    Confidence intervals are by bootstrap: bias-corrected and accelerated for means, percentiles for
    medians.
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
    """Return the costs of rows with recourse that minimise and maximise the statistic."""
    least, most = costs.lower, costs.upper
    for count in range(1, costs.open.size + 1):
        lower = np.concatenate([costs.lower, np.sort(costs.open)[:count]])
        upper = np.concatenate([costs.upper, np.full(count, np.inf)])
        least = min(least, lower, key=statistic)
        most = max(most, upper, key=statistic)
    return least, most


def share(sure: int, maybe: int, rows: int, sampling: Sampling) -> Estimate:
    """Return a share of the rows, with Wilson's interval."""
    ends = [
        scipy.stats.binomtest(count, rows).proportion_ci(sampling.confidence, "wilson")
        for count in (sure, sure + maybe)
    ]
    low, high = sure / rows, (sure + maybe) / rows
    return Estimate(low, high, float(ends[0].low), float(ends[1].high))


def mean_difference(
    one: Costs, other: Costs, sampling: Sampling
) -> tuple[Estimate | None, float | None]:
    """Return the mean cost of one group minus that of another, and a p-value or None.

    The p-value is of a permutation test: how often randomly formed groups of these sizes differ by
    as much. There is none if costs are only bounded.
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
    """Return the difference of the shares without recourse, and Fisher's exact p-value.

    The interval is Newcombe's, from both Wilson intervals.
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
    """Return the statistic rounded so that it does not depend on the order of rows."""
    most = max(float(sample.max()) for sample in samples)
    if not 0 < most < math.inf:
        return statistic

    def steady(*arrays: FloatArray, axis: int = -1) -> Any:
        return np.round(statistic(*arrays, axis=axis) / most, DIGITS) * most + 0.0

    return steady


def _bootstrap(
    samples: Sequence[FloatArray], statistic: Statistic, sampling: Sampling
) -> tuple[float, float]:
    """Return the confidence interval; a single point if all values are equal."""
    if all(sample.min() == sample.max() for sample in samples):
        only = float(statistic(*samples))
        return only, only
    method = "percentile" if statistic is np.median else "BCa"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # scipy warns about samples that BCa cannot handle
        ends = _interval(samples, statistic, sampling, method)
        if not np.isfinite(ends).all():
            ends = _interval(samples, statistic, sampling, "percentile")
    return ends


def _interval(
    samples: Sequence[FloatArray], statistic: Statistic, sampling: Sampling, method: str
) -> tuple[float, float]:
    interval = scipy.stats.bootstrap(
        tuple(samples),
        _steady(statistic, samples),
        vectorized=True,
        n_resamples=sampling.resamples,
        confidence_level=sampling.confidence,
        method=method,
        random_state=sampling.generator,
    ).confidence_interval
    return float(interval.low), float(interval.high)
