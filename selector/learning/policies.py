"""What picks backends: diagrams, and what they are compared with."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from encoders.arrays import FloatArray, IntArray
from selector.backend_facts import PAPER_BACKEND
from selector.case import NAMES
from selector.diagram import Diagram
from selector.learning.examples import Examples
from selector.logs.summary import PAR_FACTOR
from selector.schedule import alone

NEIGHBOURS = 5  # scikit-learn's own default

# Seconds on each row, float64 (n_rows,), given by what factor a run without proof is penalised.
Fitted = Callable[[Examples, int], FloatArray]
Policy = Callable[[Examples], Fitted]

VIRTUAL_BEST, SINGLE_BEST = "virtual best", "single best"


def baselines(backends: Sequence[str], cores: int) -> dict[str, Policy]:
    """Policies that need no diagram, by name.

    Parameters
    ----------
    backends : those that may be picked
    cores : that a query has; races of more backends slow each other down
    """
    papers = {f"always {PAPER_BACKEND}": _always(PAPER_BACKEND)}
    return (papers if PAPER_BACKEND in backends else {}) | {
        VIRTUAL_BEST: lambda train: lambda test, factor: test.penalised(factor).min(axis=1),
        SINGLE_BEST: _single_best,
        "race of two": lambda train: _race(train, 2, cores),
        "race of all": lambda train: _race(train, len(train.backends), cores),
        "boosted trees": _boosted,
        "nearest neighbours": _nearest,
    }


def by_diagram(learn: Callable[[Examples], Diagram]) -> Policy:
    """The policy of a diagram learned from the training rows; computing descriptors is charged.

    Parameters
    ----------
    learn : gives a diagram for training rows
    """

    return lambda train: partial(follow, learn(train))


def follow(diagram: Diagram, examples: Examples, factor: int = PAR_FACTOR) -> FloatArray:
    """Seconds by a diagram's schedules, float64 (n_rows,); descriptors are charged.

    Backends that the logs lack are passed over, as are those that are not installed in use.

    Parameters
    ----------
    diagram : that picks the schedules
    examples : rows to pick for
    factor : what a run without proof counts, in time limits
    """
    seconds = np.empty(len(examples))
    known = set(examples.backends)
    decided = [
        diagram.decide(dict(zip(NAMES, values.tolist(), strict=True))).leaf.schedule
        for values in examples.values
    ]
    for schedule in set(decided):
        rows = [row for row, other in enumerate(decided) if other == schedule]
        able = [(tuple(name for name in names if name in known), s) for names, s in schedule]
        turns = tuple(turn for turn in able if turn[0]) or alone(examples.backends[0])
        seconds[rows] = examples.cost(turns, factor)[rows]
    return seconds + examples.describe_s


def _always(backend: str) -> Policy:
    return lambda train: lambda test, factor: test.cost(alone(backend), factor)


def _single_best(train: Examples) -> Fitted:
    best = train.penalised().sum(axis=0).argmin()
    return lambda test, factor: np.asarray(test.penalised(factor)[:, best])


def _race(train: Examples, count: int, cores: int) -> Fitted:
    """The backends that are best together, each with its share of the cores from the start."""
    cost = train.penalised()
    chosen: list[int] = []
    for _ in range(count):
        so_far = cost[:, chosen].min(axis=1, initial=np.inf)[:, None]
        together = np.minimum(cost, so_far).sum(axis=0)
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
