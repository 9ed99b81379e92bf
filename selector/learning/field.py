"""Selectors as the field builds them, on scikit-learn, and one of the package asf."""

import importlib.util
from itertools import combinations
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from selector.case import NAMES
from selector.learning.examples import Examples
from selector.learning.policies import Fitted, Policy, picked
from selector.logs.summary import PAR_FACTOR

TREES = 99  # of each forest, as SATzilla 2011 has them
ROUNDS = 3  # of fitting; what was imputed is fitted again
LEAST_S = 1e-3  # below which seconds count alike on a logarithmic scale


def field() -> dict[str, Policy]:
    """Policies of the field, by name; fitting them takes longer than a diagram."""
    found: dict[str, Policy] = {"SATzilla'11 forests": _pairwise, "censored forests": _censored}
    if importlib.util.find_spec("asf") is not None:
        found["SATzilla of asf"] = _of_asf
    return found


def _pairwise(train: Examples) -> Fitted:
    """A vote of one forest per pair of backends, each row weighing what the wrong one costs (Xu,
    Hutter, Hoos and Leyton-Brown, 2012); ties go to the better one on all rows."""
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
    """A forest per backend of the logarithm of seconds, the least prediction wins. A run that was
    stopped counts what the forest expects of runs that take longer than that (Schmee and Hahn,
    1979), at most ten time limits."""
    most = np.log(PAR_FACTOR * train.limit_s)
    forests = [
        _imputing(train.values, train.seconds[:, k], train.least[:, k], most)
        for k in range(len(train.backends))
    ]

    def pick(test: Examples) -> IntArray:
        return np.asarray(np.argmin([forest.predict(test.values) for forest in forests], axis=0))

    return picked(pick)


def _imputing(values: FloatArray, seconds: FloatArray, least: FloatArray, most: FloatArray) -> Any:
    """A forest of logarithms of seconds, fitted anew with what it expects of stopped runs."""
    from sklearn.ensemble import RandomForestRegressor

    known = np.isfinite(seconds)
    wanted = np.log(np.maximum(np.where(known, seconds, least), LEAST_S))
    bound = wanted.copy()
    forest = RandomForestRegressor(TREES, max_features=1 / 3, oob_score=True, random_state=0)
    for _ in range(ROUNDS):
        forest.fit(values, wanted)
        if known.all() or not known.any():
            break
        expected = forest.oob_prediction_
        spread = float(np.std(wanted[known] - expected[known])) or 1.0
        wanted = np.where(known, wanted, np.minimum(_beyond(expected, spread, bound), most))
    return forest


def _beyond(mean: FloatArray, spread: float, bound: FloatArray) -> FloatArray:
    """Mean of a normal distribution where it is above a bound."""
    from scipy.stats import norm

    z = (bound - mean) / spread
    hazard = np.exp(norm.logpdf(z) - norm.logsf(z))
    return np.asarray(mean + spread * hazard)


def _of_asf(train: Examples) -> Fitted:
    """What asf calls SATzilla: a ridge regression per backend, with its own defaults."""
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
        told = selector.predict(pd.DataFrame(test.values, columns=list(NAMES), index=rows))
        return np.array([test.backends.index(told[row][0][0]) for row in rows])

    return picked(pick)
