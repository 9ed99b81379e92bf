"""Algorithm selectors from the literature, on scikit-learn and on the package asf."""

import importlib.util
from itertools import combinations
from typing import Any

import numpy as np

from encoders.arrays import FloatArray, IntArray
from selector.case import NAMES
from selector.learning.examples import Examples
from selector.learning.policies import Fitted, Policy, picked
from selector.logs.summary import PAR_FACTOR

TREES = 99  # trees per forest, as in SATzilla 2011
ROUNDS = 3  # fits; each one uses the imputed values of the one before
LEAST_S = 1e-3  # shorter times count as this on a logarithmic scale


def field() -> dict[str, Policy]:
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
