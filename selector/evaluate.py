"""How well policies pick backends, on data sets that they have not seen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.errors import InputError
from selector.diagram import Diagram, alone
from selector.examples import PAR, Examples
from selector.vector import NAMES

RESAMPLES = 1000
NEIGHBOURS = 5
NO_GAP = 1e-9  # seconds; what share of it is closed has no meaning
WEAK = 2  # the other customary penalty

# Seconds on each row, float64 (n_rows,), given by what factor a run without proof is penalised.
Fitted = Callable[[Examples, int], FloatArray]
Policy = Callable[[Examples], Fitted]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Score:
    """A policy on all examples, each predicted by what was learned from other data sets.

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
    cores : that a race has to itself

    Raises
    ------
    InputError
        Fewer than two data sets.
    """
    if np.unique(examples.groups).size < 2:
        raise InputError("evaluation leaves data sets out: it needs logs of at least two.")
    every = {**baselines(examples.backends, cores), **policies}
    both = {name: left_out(examples, policy, (PAR, WEAK)) for name, policy in every.items()}
    strong = {name: seconds[0] for name, seconds in both.items()}
    return [_score(examples, name, strong, both[name][1], seed) for name in every]


def left_out(examples: Examples, policy: Policy, factors: tuple[int, ...] = (PAR,)) -> FloatArray:
    """Seconds by a policy fitted to all other data sets, float64 (n_factors, n_rows)."""
    seconds = np.empty((len(factors), len(examples)))
    for group in np.unique(examples.groups):
        out = examples.groups == group
        fitted = policy(examples.of(~out))
        for place, factor in enumerate(factors):
            seconds[place, out] = fitted(examples.of(out), factor)
    return seconds


def _score(
    examples: Examples, name: str, strong: Mapping[str, FloatArray], weak: FloatArray, seed: int
) -> Score:
    own, best, single = strong[name], strong[VIRTUAL_BEST], strong[SINGLE_BEST]
    regret = own - best
    draws = _resampled(examples, seed)
    means = np.array([[part[rows].mean() for part in (own, best, single)] for rows in draws])
    return Score(
        policy=name,
        par10_s=float(own.mean()),
        par2_s=float(weak.mean()),
        proved=float((own < PAR * examples.limit_s).mean()),
        regret_s=float(regret.mean()),
        worst_regret_s=float(regret.max()),
        closed=float(_closed(own.mean(), best.mean(), single.mean())),
        par10_interval_s=_interval(means[:, 0]),
        closed_interval=_interval(_closed(*means.T)),
    )


def _closed(own: FloatArray, best: FloatArray, single: FloatArray) -> FloatArray:
    gap = np.asarray(single - best)
    return np.asarray((single - own) / np.where(gap > NO_GAP, gap, np.nan))


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


VIRTUAL_BEST, SINGLE_BEST = "virtual best", "single best"


def baselines(backends: Sequence[str], cores: int) -> dict[str, Policy]:
    """What needs no diagram."""
    return ({"always cp": _always_cp} if "cp" in backends else {}) | {
        VIRTUAL_BEST: lambda train: lambda test, factor: test.penalised(factor).min(axis=1),
        SINGLE_BEST: _single_best,
        "race of two": lambda train: _race(train, 2, cores),
        "race of all": lambda train: _race(train, len(train.backends), cores),
        "boosted trees": _boosted,
        "nearest neighbours": _nearest,
    }


def by_diagram(learn: Callable[[Examples], Diagram]) -> Policy:
    """The policy of a diagram learned from the training rows; computing descriptors is charged."""

    return lambda train: partial(follow, learn(train))


def follow(diagram: Diagram, examples: Examples, factor: int = PAR) -> FloatArray:
    """Seconds by a diagram's schedules; backends that the logs lack are passed over."""
    seconds = np.empty(len(examples))
    known = set(examples.backends)
    decided = [
        diagram.decide(dict(zip(NAMES, values.tolist(), strict=True))).leaf.schedule
        for values in examples.values
    ]
    for schedule in set(decided):
        rows = [row for row, own in enumerate(decided) if own == schedule]
        had = [(tuple(name for name in names if name in known), s) for names, s in schedule]
        left = tuple(turn for turn in had if turn[0]) or alone(examples.backends[0])
        seconds[rows] = examples.cost(left, factor)[rows]
    return seconds + examples.describe_s


def _always_cp(train: Examples) -> Fitted:
    return lambda test, factor: test.cost(alone("cp"), factor)


def _single_best(train: Examples) -> Fitted:
    best = train.penalised().sum(axis=0).argmin()
    return lambda test, factor: np.asarray(test.penalised(factor)[:, best])


def _race(train: Examples, count: int, cores: int) -> Fitted:
    """The backends that are best together, each with its share of the cores from the start."""
    cost = train.penalised()
    chosen: list[int] = []
    for _ in range(count):
        held = cost[:, chosen].min(axis=1, initial=np.inf)[:, None]
        together = np.minimum(cost, held).sum(axis=0)
        together[chosen] = np.inf
        chosen.append(int(together.argmin()))
    slower = max(1.0, count / cores)

    def fitted(test: Examples, factor: int) -> FloatArray:
        seconds = test.seconds[:, chosen].min(axis=1) * slower
        return np.where(seconds <= test.limit_s, seconds, factor * test.limit_s)

    return fitted


def _boosted(train: Examples) -> Fitted:
    """One regression of the logarithm of seconds per backend, the least prediction wins."""
    from sklearn.ensemble import GradientBoostingRegressor

    cost = np.log(train.penalised())
    models = [
        GradientBoostingRegressor(random_state=0).fit(train.values, cost[:, k])
        for k in range(len(train.backends))
    ]
    return _picked(lambda test: np.argmin([m.predict(test.values) for m in models], axis=0))


def _nearest(train: Examples) -> Fitted:
    """The backend that is best on average for the nearest rows, on a logarithmic scale."""
    from sklearn.neighbors import NearestNeighbors
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    scale = make_pipeline(FunctionTransformer(_log), StandardScaler()).fit(train.values)
    near = NearestNeighbors(n_neighbors=min(NEIGHBOURS, len(train)))
    near.fit(scale.transform(train.values))
    cost = train.penalised()

    def pick(test: Examples) -> IntArray:
        index = near.kneighbors(scale.transform(test.values))[1]
        return np.asarray(cost[index].mean(axis=1).argmin(axis=1))

    return _picked(pick)


def _log(values: FloatArray) -> FloatArray:
    return np.log1p(np.maximum(values, 0))


def _picked(pick: Callable[[Examples], IntArray]) -> Fitted:
    """Seconds of the backends picked; computing descriptors is charged."""

    def fitted(test: Examples, factor: int) -> FloatArray:
        cost = test.penalised(factor)[np.arange(len(test)), pick(test)]
        return np.asarray(cost + test.describe_s)

    return fitted
