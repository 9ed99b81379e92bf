"""Policies that pick backends: diagrams and the baselines of evaluations."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.registry import all_backends
from encoders.errors import InputError
from selector.backend_facts import PAPER_BACKEND
from selector.case import NAMES
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
    from sklearn import config_context
    from sklearn.ensemble import GradientBoostingRegressor

    cost = np.log(train.penalised())
    # Without this, scikit-learn validates the input again for each of the hundred trees.
    with config_context(assume_finite=True, skip_parameter_validation=True):
        models = [
            GradientBoostingRegressor(random_state=0).fit(train.values, cost[:, k])
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
