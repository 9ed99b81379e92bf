"""How well policies pick backends, on data sets that they have not seen."""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError
from selector.learning.examples import Examples
from selector.learning.policies import (
    SINGLE_BEST,
    VIRTUAL_BEST,
    Policy,
    baselines,
    by_diagram,
    follow,
)
from selector.logs.summary import PAR_FACTOR

__all__ = ["Score", "by_diagram", "evaluate", "follow", "left_out"]

RESAMPLES = 1000  # of the bootstrap
NO_GAP = 1e-9  # seconds; what share of it is closed has no meaning
MILD_FACTOR = 2  # the other customary penalty, PAR2

Interval = tuple[float, float]


@dataclass(frozen=True)
class Score:
    """A policy on all examples, each predicted by what was learned from other data sets.

    The measures are those of the ASlib format; times are wall-clock seconds.

    Attributes
    ----------
    par10_s, par2_s : mean seconds, a run without proof counting ten or two times its limit
    proved : share of rows
    regret_s, worst_regret_s : mean and maximum of PAR10 beyond the virtual best
    closed : share of the gap between the single best and the virtual best solver that is closed,
        nan if there is none
    par10_interval_s, closed_interval : 95 % bootstrap intervals over data sets
    """

    policy: str
    par10_s: float
    par2_s: float
    proved: float
    regret_s: float
    worst_regret_s: float
    closed: float
    par10_interval_s: Interval
    closed_interval: Interval


def evaluate(
    examples: Examples, policies: Mapping[str, Policy], cores: int = 2, seed: int = 0
) -> list[Score]:
    """Leave one data set out after the other.

    Parameters
    ----------
    examples : of at least two data sets
    policies : by the name they get in the scores; :func:`baselines` come first by themselves
    cores : that a race has to itself
    seed : of the bootstrap

    Raises
    ------
    InputError
        Fewer than two data sets.
    """
    if np.unique(examples.groups).size < 2:
        raise InputError("evaluation leaves data sets out: it needs logs of at least two.")
    every = {**baselines(examples.backends, cores), **policies}
    both = {
        name: left_out(examples, policy, (PAR_FACTOR, MILD_FACTOR))
        for name, policy in every.items()
    }
    strong = {name: seconds[0] for name, seconds in both.items()}
    return [_score(examples, name, strong, both[name][1], seed) for name in every]


def left_out(
    examples: Examples, policy: Policy, factors: tuple[int, ...] = (PAR_FACTOR,)
) -> FloatArray:
    """Seconds by a policy fitted to all other data sets, float64 (n_factors, n_rows).

    Parameters
    ----------
    examples : its ``groups`` are left out one by one
    policy : fitted once per group, of which there may be several at work
    factors : what a run without proof counts, in time limits
    """
    seconds = np.empty((len(factors), len(examples)))

    def judge(group: str) -> None:
        out = examples.groups == group
        fitted = policy(examples.of(~out))
        for place, factor in enumerate(factors):
            seconds[place, out] = fitted(examples.of(out), factor)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(judge, np.unique(examples.groups).tolist()))
    return seconds


def _score(
    examples: Examples, name: str, strong: Mapping[str, FloatArray], weak: FloatArray, seed: int
) -> Score:
    took, best, single = strong[name], strong[VIRTUAL_BEST], strong[SINGLE_BEST]
    regret = took - best
    draws = _resampled(examples, seed)
    means = np.array([[part[rows].mean() for part in (took, best, single)] for rows in draws])
    return Score(
        policy=name,
        par10_s=float(took.mean()),
        par2_s=float(weak.mean()),
        proved=float((took < PAR_FACTOR * examples.limit_s).mean()),
        regret_s=float(regret.mean()),
        worst_regret_s=float(regret.max()),
        closed=float(_closed(took.mean(), best.mean(), single.mean())),
        par10_interval_s=_interval(means[:, 0]),
        closed_interval=_interval(_closed(*means.T)),
    )


def _closed(took: FloatArray, best: FloatArray, single: FloatArray) -> FloatArray:
    gap = np.asarray(single - best)
    return np.asarray((single - took) / np.where(gap > NO_GAP, gap, np.nan))


def _resampled(examples: Examples, seed: int) -> list[FloatArray]:
    """Rows of data sets drawn with replacement."""
    rng = np.random.default_rng(seed)
    members = [np.flatnonzero(examples.groups == group) for group in np.unique(examples.groups)]
    draws = rng.integers(0, len(members), (RESAMPLES, len(members)))
    return [np.concatenate([members[k] for k in draw]) for draw in draws]


def _interval(values: FloatArray) -> Interval:
    known = values[~np.isnan(values)]
    low, high = np.quantile(known, [0.025, 0.975]) if known.size else (np.nan, np.nan)
    return float(low), float(high)
