"""Policies that pick backends: diagrams, baselines, and algorithm selectors from the literature."""

import importlib.util
import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import combinations
from typing import Any

import numpy as np

from encoders.backends.registry import all_backends
from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.core.errors import InputError
from selector.candidates import PAPER_BACKEND
from selector.descriptors import NAMES
from selector.diagram import Diagram
from selector.learning.costs import Spent
from selector.learning.examples import Examples
from selector.logs.summary import PAR_FACTOR
from selector.schedule import Schedule, alone

NEIGHBOURS = 5  # default of scikit-learn

# Seconds of each row, given the penalty factor of a run without proof.
Fitted = Callable[[Examples, int], Spent]
Policy = Callable[[Examples], Fitted]

VIRTUAL_BEST, SINGLE_BEST = "virtual best", "single best"


def baselines(backends: Sequence[str]) -> dict[str, Policy]:
    """Return the baseline policies by name."""
    papers = {f"always {PAPER_BACKEND}": _always(PAPER_BACKEND)}
    return (papers if PAPER_BACKEND in backends else {}) | {
        VIRTUAL_BEST: lambda train: lambda test, factor: _alone(test.penalised(factor).min(axis=1)),
        SINGLE_BEST: _single_best,
        "race of two": lambda train: _race(train, 2),
        "race of all": lambda train: _race(train, len(train.backends)),
        "boosted trees": _boosted,
        "nearest neighbours": _nearest,
    }


def by_diagram(learn: Callable[[Examples], Diagram]) -> Policy:
    """Return the policy that learns a diagram from training rows; includes descriptor time."""
    return lambda train: partial(follow, learn(train))


def follow(diagram: Diagram, examples: Examples, factor: int = PAR_FACTOR) -> Spent:
    """Compute the seconds of a diagram's schedules, including the time of descriptors.

    On rows with reused models, backends that do not support sessions are skipped, as in a session.
    """
    wall, cores = np.empty(len(examples)), np.empty(len(examples))
    picked = _picked(diagram, examples)
    if missing := missing_runs(diagram, examples):
        raise InputError(
            f"The diagram picks {', '.join(missing)}, of which the logs hold no run, so its time "
            "is unknown. Log runs of every backend that the diagram names."
        )
    keepers = [b.name for b in all_backends() if b.capability.sessions]
    able = {False: examples.backends, True: [k for k in keepers if k in examples.backends]}
    for schedule, kept in set(picked):
        rows = [row for row, other in enumerate(picked) if other == (schedule, kept)]
        turns = _usable(schedule, able[kept] or examples.backends)
        spent = examples.spent(turns, factor)
        wall[rows], cores[rows] = spent.wall[rows], spent.cores[rows]
    return Spent(wall + examples.describe_s, cores + examples.describe_s)


def missing_runs(diagram: Diagram, examples: Examples) -> list[str]:
    """Return the backends that a diagram picks for some row and that have no run, sorted."""
    schedules = {schedule for schedule, _ in _picked(diagram, examples)}
    names = {name for schedule in schedules for turn in schedule for name in turn[0]}
    return sorted(names - set(examples.backends))


def _picked(diagram: Diagram, examples: Examples) -> list[tuple[Schedule, bool]]:
    """Return the schedule of each row, and whether backends reuse their models."""
    return [
        (diagram.decide(dict(zip(NAMES, values.tolist(), strict=True))).leaf.schedule, kept)
        for values, kept in zip(examples.values, examples.solver.tolist(), strict=True)
    ]


def _usable(schedule: Schedule, known: Sequence[str]) -> Schedule:
    able = [(tuple(name for name in names if name in known), s) for names, s in schedule]
    turns = [turn for turn in able if turn[0]]
    return (*turns[:-1], (turns[-1][0], math.inf)) if turns else alone(known[0])


def _alone(seconds: FloatArray) -> Spent:
    return Spent(seconds, seconds)


def _always(backend: str) -> Policy:
    return lambda train: lambda test, factor: test.spent(alone(backend), factor)


def _single_best(train: Examples) -> Fitted:
    best = train.penalised().sum(axis=0).argmin()
    return lambda test, factor: _alone(np.asarray(test.penalised(factor)[:, best]))


def _race(train: Examples, count: int) -> Fitted:
    """Fit a race of the backends that are best together, which share the cores evenly."""
    cost = train.penalised()
    chosen: list[int] = []
    for _ in range(count):
        so_far = cost[:, chosen].min(axis=1, initial=np.inf)[:, None]
        together = np.minimum(cost, so_far).sum(axis=0)
        together[chosen] = np.inf
        chosen.append(int(together.argmin()))

    def fitted(test: Examples, factor: int) -> Spent:
        costs = test.contention
        seconds = test.seconds[:, chosen].min(axis=1) * costs.slower(count) + costs.start_s(count)
        wall = np.where(seconds <= test.limit_s, seconds, factor * test.limit_s)
        return Spent(wall, wall * min(count, costs.cores))

    return fitted


def _boosted(train: Examples) -> Fitted:
    """Fit one regression of log seconds per backend; the smallest prediction wins."""
    from xgboost import XGBRegressor

    cost = np.log(train.penalised())
    # Those of scikit-learn, with the same parameters, take ten times as long for so few rows.
    settings = {"max_depth": 3, "learning_rate": 0.1, "reg_lambda": 0.0, "tree_method": "exact"}
    models = [
        XGBRegressor(n_estimators=100, n_jobs=1, **settings).fit(train.values, cost[:, k])
        for k in range(len(train.backends))
    ]
    return picked(lambda test: np.argmin([m.predict(test.values) for m in models], axis=0))


def _nearest(train: Examples) -> Fitted:
    """Pick the backend that is best on average for the nearest rows, on a logarithmic scale."""
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

    return picked(pick)


def _log(values: FloatArray) -> FloatArray:
    return np.log1p(np.maximum(values, 0))


def picked(pick: Callable[[Examples], IntArray]) -> Fitted:
    """Return the seconds of the picked backends, including the time of descriptors."""
    once = lru_cache(maxsize=1)(pick)  # picks do not depend on the penalty factor

    def fitted(test: Examples, factor: int) -> Spent:
        cost = test.penalised(factor)[np.arange(len(test)), once(test)]
        return _alone(np.asarray(cost + test.describe_s))

    return fitted


def picked_backends(data: Examples, diagram: Diagram) -> list[str]:
    """Return the first backend of the last turn of each row's schedule."""
    rows = [dict(zip(NAMES, values, strict=True)) for values in data.values.tolist()]
    return [diagram.decide(values).leaf.backend for values in rows]


def hits(data: Examples, diagram: Diagram) -> BoolArray:
    """Return whether the picked backend is the fastest, bool (n_rows,)."""
    best = data.penalised().argmin(axis=1).tolist()
    names = picked_backends(data, diagram)
    return np.array([data.backends[k] == name for k, name in zip(best, names, strict=True)])


TREES = 99  # trees per forest, as in SATzilla 2011
ROUNDS = 3  # fits; each one uses the imputed values of the one before
LEAST_S = 1e-3  # shorter times count as this on a logarithmic scale


def literature() -> dict[str, Policy]:
    """Return selectors from the literature by name; fitting them takes longer than a diagram."""
    policies: dict[str, Policy] = {"SATzilla'11 forests": _pairwise, "censored forests": _censored}
    if importlib.util.find_spec("asf") is not None:
        policies["SATzilla of asf"] = _of_asf
    return policies


def _pairwise(train: Examples) -> Fitted:
    """Fit one forest per pair of backends, which vote (Xu, Hutter, Hoos and Leyton-Brown, 2012).

    A row's weight is the cost difference of the pair. Ties go to the backend that is better on all
    rows.
    """
    from sklearn.ensemble import RandomForestClassifier

    cost = train.penalised()
    forests = {}
    for i, j in combinations(range(len(train.backends)), 2):
        first, weight = cost[:, i] < cost[:, j], np.abs(cost[:, i] - cost[:, j])
        if weight.any():
            forest = RandomForestClassifier(TREES, max_features="log2", random_state=0)
            forests[i, j] = forest.fit(train.values, first, sample_weight=weight)
    by_rank = 1 / (2 + cost.sum(axis=0).argsort().argsort())  # less than a vote

    def pick(test: Examples) -> IntArray:
        votes = np.tile(by_rank, (len(test), 1))
        for (i, j), forest in forests.items():
            first = forest.predict(test.values)
            votes[:, i] += first
            votes[:, j] += ~first
        return np.asarray(votes.argmax(axis=1))

    return picked(pick)


def _censored(train: Examples) -> Fitted:
    """Fit one forest per backend to the logarithm of seconds; the smallest prediction wins.

    A censored run counts as the forest's expectation of runs that take longer than it (Schmee and
    Hahn, 1979), at most ten time limits.
    """
    most = np.log(PAR_FACTOR * train.limit_s)
    forests = [
        _imputing(train.values, train.seconds[:, k], train.least[:, k], most)
        for k in range(len(train.backends))
    ]

    def pick(test: Examples) -> IntArray:
        return np.asarray(np.argmin([forest.predict(test.values) for forest in forests], axis=0))

    return picked(pick)


def _imputing(values: FloatArray, seconds: FloatArray, least: FloatArray, most: FloatArray) -> Any:
    """Fit a forest to log seconds, and refit it with its own expectations for censored runs."""
    from sklearn.ensemble import RandomForestRegressor

    known = np.isfinite(seconds)
    target = np.log(np.maximum(np.where(known, seconds, least), LEAST_S))
    bound = target.copy()
    forest = RandomForestRegressor(TREES, max_features=1 / 3, oob_score=True, random_state=0)
    for _ in range(ROUNDS):
        forest.fit(values, target)
        if known.all() or not known.any():
            break
        expected = forest.oob_prediction_
        spread = float(np.std(target[known] - expected[known])) or 1.0
        target = np.where(known, target, np.minimum(_beyond(expected, spread, bound), most))
    return forest


def _beyond(mean: FloatArray, spread: float, bound: FloatArray) -> FloatArray:
    """Return the mean of a normal distribution truncated to values above a bound."""
    from scipy.stats import norm

    z = (bound - mean) / spread
    hazard = np.exp(norm.logpdf(z) - norm.logsf(z))
    return np.asarray(mean + spread * hazard)


def _of_asf(train: Examples) -> Fitted:
    """Fit the SATzilla of asf, a ridge regression per backend, with its default settings."""
    import pandas as pd
    from asf.selectors.satzilla import SATzilla

    limit_s = float(train.limit_s.max())
    selector = SATzilla(budget=limit_s, maximize=False)
    selector.fit(
        pd.DataFrame(train.values, columns=list(NAMES)),
        pd.DataFrame(train.penalised(), columns=list(train.backends)),
    )

    def pick(test: Examples) -> IntArray:
        rows = [str(row) for row in range(len(test))]
        answers = selector.predict(pd.DataFrame(test.values, columns=list(NAMES), index=rows))
        return np.array([test.backends.index(answers[row][0][0]) for row in rows])

    return picked(pick)
