"""Evaluation of policies on rows that they were not trained on."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.core.close_names import close_names
from encoders.core.cores import usable_cores
from encoders.core.errors import InputError
from selector.descriptors import NAMES
from selector.learning.costs import Spent
from selector.learning.examples import Examples, TextArray
from selector.learning.policies import (
    SINGLE_BEST,
    VIRTUAL_BEST,
    Policy,
    baselines,
    by_diagram,
    follow,
)
from selector.logs.summary import PAR_FACTOR

DATA_SET, TIME = "data-set", "time"
# Hold-out schemes by name, with the plural that error messages use.
LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        DATA_SET: "data sets",
        "question-type": "types of questions",
        "norm": "norms",
        TIME: "points in time",
    }
)
MOST_FOLDS = 40  # each fold trains once; if there are more groups, they are merged
BLOCKS = 5  # blocks of equal size in time order; the first one is only trained on


@dataclass(frozen=True, eq=False)
class Fold:
    """A split of rows into training and test rows.

    Attributes
    ----------
    train, test : masks, bool (n_rows,) each, without common rows
    """

    train: BoolArray
    test: BoolArray


def folds_of(examples: Examples, by: str = DATA_SET, rows: BoolArray | None = None) -> list[Fold]:
    """Return folds that leave out one group each, or all later rows if ``by`` is "time".

    In time order rows are cut into five blocks. Each block but the first is tested with what was
    trained on all older rows, of both metrics.
    """
    check_left_out([by])
    judged = np.ones(len(examples), dtype=bool) if rows is None else rows
    if by == TIME:
        folds = _in_time(examples, judged)
    else:
        labels = _labels(examples, by, judged)
        names = np.unique(labels[judged]).tolist()
        folds = [Fold(labels != name, judged & (labels == name)) for name in names]
        folds = folds if len(names) > 1 else []
    # Baselines are trained on the judged rows of the other folds, so these must exist.
    folds = [fold for fold in folds if (fold.train & judged).any()]
    if not folds:
        raise InputError(
            f"Evaluation by {by!r} leaves {LEFT_OUT[by]} out, but the logs have fewer than two of "
            "them. Add logs, or use another --leave-out."
        )
    return folds


def check_left_out(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of hold-out schemes; raise InputError if one is unknown."""
    schemes = tuple(names)
    for name in schemes:
        if name not in LEFT_OUT:
            raise InputError(
                f"unknown hold-out scheme {name!r}.{close_names(name, LEFT_OUT)} Use one of "
                f"{', '.join(LEFT_OUT)}."
            )
    return schemes


def _labels(examples: Examples, by: str, judged: BoolArray) -> TextArray:
    if by == DATA_SET:
        return examples.groups
    if by == "norm":
        return np.asarray(examples.values[:, NAMES.index("norm")].astype(np.str_))
    names, place = np.unique(examples.questions[judged], return_inverse=True)
    if len(names) <= MOST_FOLDS:
        return examples.questions
    joined = dict(zip(names.tolist(), joined_evenly(np.bincount(place), MOST_FOLDS), strict=True))
    return np.array([str(joined.get(name, -1)) for name in examples.questions.tolist()])


def joined_evenly(counts: IntArray, bins: int) -> list[int]:
    """Return a bin for each group so that bins get about equal numbers of rows."""
    sizes = np.zeros(bins, dtype=np.int64)
    bin_of_group = [0] * len(counts)
    for group in np.argsort(-counts, kind="stable").tolist():
        bin_of_group[group] = int(sizes.argmin())
        sizes[bin_of_group[group]] += counts[group]
    return bin_of_group


def _in_time(examples: Examples, judged: BoolArray) -> list[Fold]:
    order = np.flatnonzero(judged)[np.argsort(examples.time[judged], kind="stable")]
    folds = []
    for block in np.array_split(order, BLOCKS)[1:]:
        if not block.size:
            continue
        test = np.zeros(len(examples), dtype=bool)
        test[block] = True
        older = np.asarray(examples.time < examples.time[block[0]])
        if older.any():
            folds.append(Fold(older & ~test, test))
    return folds


__all__ = ["Score", "by_diagram", "evaluate", "follow", "left_out"]

RESAMPLES = 1000  # bootstrap samples
NO_GAP = 1e-9  # seconds; of a smaller gap the closed share is undefined
MILD_FACTOR = 2  # the other customary penalty, PAR2
AT_LEAST = 1  # without penalty: a run without proof counts as its time limit

Interval = tuple[float, float]


@dataclass(frozen=True)
class Score:
    """The results of a policy on all test rows.

    The measures are those of the ASlib format; times are wall-clock seconds.

    Attributes
    ----------
    rows : number of test rows.
    par10_s, par2_s : mean seconds; a run without proof counts as ten or two time limits.
    at_least_s : mean seconds; a run without proof counts as its limit, which gives a lower bound of
        the mean without limits.
    core_s : mean core seconds, with the penalty of ``par10_s``.
    proved : share of rows with a proof.
    regret_s, worst_regret_s : mean and maximum of PAR10 minus that of the virtual best solver.
    closed : share of the gap between the single best and the virtual best solver that is closed,
        nan without a gap.
    worst_set : largest ratio of PAR10 to that of the single best solver on any data set.
    par10_interval_s, closed_interval : 95 % bootstrap intervals over data sets, nan with one data
        set.
    """

    policy: str
    rows: int
    par10_s: float
    par2_s: float
    at_least_s: float
    core_s: float
    proved: float
    regret_s: float
    worst_regret_s: float
    closed: float
    worst_set: float
    par10_interval_s: Interval
    closed_interval: Interval


def evaluate(
    examples: Examples,
    policies: Mapping[str, Policy],
    seed: int = 0,
    by: str = DATA_SET,
    rows: BoolArray | None = None,
    others: Mapping[str, Policy] | None = None,
) -> list[Score]:
    """Evaluate policies on rows that they were not trained on."""
    judged = np.ones(len(examples), dtype=bool) if rows is None else rows
    folds = folds_of(examples, by, judged)
    judged_folds = [Fold(fold.train & judged, fold.test) for fold in folds]
    factors = (PAR_FACTOR, MILD_FACTOR, AT_LEAST)
    took = {
        name: left_out(examples, policy, judged_folds, factors)
        for name, policy in baselines(examples.backends).items()
    }
    # scikit-learn's forests change the warning filters, which threads share, so use one thread.
    took |= {
        name: left_out(examples, policy, judged_folds, factors, at_once=1)
        for name, policy in (others or {}).items()
    }
    took |= {name: left_out(examples, policy, folds, factors) for name, policy in policies.items()}
    tested = np.any([fold.test for fold in folds], axis=0)
    return _scores(examples.of(tested), {n: _of(each, tested) for n, each in took.items()}, seed)


def _of(took: Sequence[Spent], rows: BoolArray) -> list[Spent]:
    return [Spent(spent.wall[rows], spent.cores[rows]) for spent in took]


def left_out(
    examples: Examples,
    policy: Policy,
    folds: Sequence[Fold] | None = None,
    factors: tuple[int, ...] = (PAR_FACTOR,),
    at_once: int | None = None,
) -> list[Spent]:
    """Return the time of each row by a policy trained on other rows, one entry per factor."""
    wall, cores = np.full((2, len(factors), len(examples)), np.nan)

    def judge(fold: Fold) -> None:
        fitted = policy(examples.of(fold.train))
        test = examples.judging(fold.test)
        for place, factor in enumerate(factors):
            wall[place, fold.test], cores[place, fold.test] = fitted(test, factor)

    with ThreadPoolExecutor(at_once or usable_cores()) as pool:
        list(pool.map(judge, folds_of(examples) if folds is None else folds))
    return [Spent(*each) for each in zip(wall, cores, strict=True)]


@dataclass(frozen=True)
class HeldOut:
    """Mean PAR10 seconds of a policy and of the single best backend on rows left out of training.

    Attributes
    ----------
    rows, data_sets : number of queries and of their data sets.
    policy_s, single_s : mean seconds of the policy and of the single best backend.
    ratio : ``policy_s`` divided by ``single_s``.
    interval : 95 % bootstrap interval of the ratio, over data sets or over queries of one data set.
    """

    rows: int
    data_sets: int
    policy_s: float
    single_s: float
    ratio: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval
        drawn = f"{self.data_sets} data sets" if self.data_sets > 1 else "the queries"
        return (
            f"On {self.rows} queries left out in turn, the diagram takes {self.policy_s:.3g} s on "
            f"average and the single best backend {self.single_s:.3g} s. The ratio is "
            f"{self.ratio:.2f} (95 % interval over {drawn}: {low:.2f} to {high:.2f})."
        )


def held_out(examples: Examples, policy: Policy, folds: Sequence[Fold], seed: int = 0) -> HeldOut:
    """Compare a policy with the single best backend on rows that neither was trained on."""
    single = left_out(examples, baselines(examples.backends)[SINGLE_BEST], folds)[0].wall
    wall = left_out(examples, policy, folds)[0].wall
    draws = _resampled(examples, seed) or _resampled_rows(len(examples), seed)
    ratios = np.array([wall[rows].mean() / single[rows].mean() for rows in draws])
    return HeldOut(
        rows=len(examples),
        data_sets=np.unique(examples.groups).size,
        policy_s=float(wall.mean()),
        single_s=float(single.mean()),
        ratio=float(wall.mean() / single.mean()),
        interval=_interval(ratios),
    )


def _resampled_rows(count: int, seed: int) -> list[IntArray]:
    """Draw rows with replacement."""
    return list(np.random.default_rng(seed).integers(0, count, (RESAMPLES, count)))


def _scores(examples: Examples, took: Mapping[str, list[Spent]], seed: int) -> list[Score]:
    best, single = (took[name][0].wall for name in (VIRTUAL_BEST, SINGLE_BEST))
    means = _means_of_draws(np.array([spent[0].wall for spent in took.values()]), examples, seed)
    drawn = dict(zip(took, means.T, strict=True))
    sets = _members(examples)
    scores = []
    for name, (strong, mild, least) in took.items():
        wall = strong.wall
        regret = wall - best
        score = Score(
            policy=name,
            rows=len(examples),
            par10_s=float(wall.mean()),
            par2_s=float(mild.wall.mean()),
            at_least_s=float(least.wall.mean()),
            core_s=float(strong.cores.mean()),
            proved=float((wall < PAR_FACTOR * examples.limit_s).mean()),
            regret_s=float(regret.mean()),
            worst_regret_s=float(regret.max()),
            closed=float(_closed(wall.mean(), best.mean(), single.mean())),
            worst_set=max(float(wall[rows].mean() / single[rows].mean()) for rows in sets),
            par10_interval_s=_interval(drawn[name]),
            closed_interval=_interval(
                _closed(drawn[name], drawn[VIRTUAL_BEST], drawn[SINGLE_BEST])
            ),
        )
        scores.append(score)
    return scores


def _closed(took: FloatArray, best: FloatArray, single: FloatArray) -> FloatArray:
    gap = np.asarray(single - best)
    return np.asarray((single - took) / np.where(gap > NO_GAP, gap, np.nan))


def _members(examples: Examples) -> list[IntArray]:
    """Return the row indices of each data set."""
    return [np.flatnonzero(examples.groups == group) for group in np.unique(examples.groups)]


def _means_of_draws(walls: FloatArray, examples: Examples, seed: int) -> FloatArray:
    """Return the mean seconds of policies on resampled rows, float64 (n_draws, n_policies)."""
    draws = _resampled(examples, seed)
    means = [np.take(walls, rows, axis=1).mean(axis=1) for rows in draws]
    return np.array(means).reshape(-1, len(walls))


def _resampled(examples: Examples, seed: int) -> list[IntArray]:
    """Draw data sets with replacement and return their rows; empty if there is only one."""
    rng = np.random.default_rng(seed)
    members = _members(examples)
    if len(members) < 2:
        return []
    draws = rng.integers(0, len(members), (RESAMPLES, len(members)))
    return [np.concatenate([members[k] for k in draw]) for draw in draws]


def _interval(values: FloatArray) -> Interval:
    known = values[~np.isnan(values)]
    low, high = np.quantile(known, [0.025, 0.975]) if known.size else (np.nan, np.nan)
    return float(low), float(high)
