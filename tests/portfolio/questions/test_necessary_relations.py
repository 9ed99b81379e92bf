"""Necessary features where relations hold: every row of a grid, asked of the model itself."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from portfolio import (
    Changes,
    Explainer,
    Forbidden,
    Implies,
    InputError,
    Linear,
    MaxChanges,
    Rises,
    Stays,
    Together,
)
from tests.support.parts import few_and_large

NAMES, TOP = tuple("abcd"), 3
GRID = np.array(list(itertools.product(range(TOP + 1), repeat=len(NAMES))), dtype=float)
PARTS, EACH = few_and_large(1, 40), 15


def relation(rng, x):
    """A relation, and which rows of the grid keep it."""
    i, j, k = (int(at) for at in rng.permutation(len(NAMES))[:3])
    first, second, third = NAMES[i], NAMES[j], NAMES[k]
    apart = x != GRID
    match rng.integers(6):
        case 0:
            bound = float(rng.integers(0, 6))
            return Linear({first: 2, second: -1, third: 1}, "<=", bound), (
                2 * GRID[:, i] - GRID[:, j] + GRID[:, k] <= bound
            )
        case 1:
            total = x[i] + x[j]
            return Linear({first: 1, second: 1}, "==", total), GRID[:, i] + GRID[:, j] == total
        case 2:
            rises = GRID[:, i] > x[i]
            return Implies(Rises(first), Rises(second)), ~rises | (GRID[:, j] > x[j])
        case 3:
            return Implies(Changes(first), Stays(second)), ~apart[:, i] | ~apart[:, j]
        case 4:
            return Together(first, second), apart[:, i] == apart[:, j]
        case _:
            both = apart[:, i] & ~apart[:, j]
            return Forbidden(Changes(first), Stays(second)), ~both


@pytest.mark.slow
@pytest.mark.parametrize("batch", PARTS)
def test_necessary_features_under_relations_equal_brute_force(batch):
    found_some = 0
    for seed in range(batch * EACH, (batch + 1) * EACH):
        rng = np.random.default_rng(seed)
        X = pd.DataFrame(rng.choice(GRID, 120), columns=list(NAMES))
        X.iloc[:2] = [[0] * len(NAMES), [TOP] * len(NAMES)]
        labels = (X @ rng.normal(size=len(NAMES)) > rng.normal()).astype(int)
        labels[:2] = [0, 1]
        model = ExtraTreesClassifier(3, max_depth=4, random_state=seed).fit(X, labels)
        x = X.iloc[int(rng.integers(len(X)))]
        rules, keep = zip(
            *[relation(rng, x.to_numpy()) for _ in range(rng.integers(1, 4))], strict=True
        )
        rows = GRID[np.logical_and.reduce(keep)]
        if rng.random() < 0.3:
            rules, rows = (*rules, MaxChanges(2)), rows[(rows != x.to_numpy()).sum(axis=1) <= 2]
        own = model.predict(x.to_frame().T)[0]
        good = rows[:0]
        if len(rows):
            good = rows[model.predict(pd.DataFrame(rows, columns=list(NAMES))) != own]
        where = f"seed {seed}: {rules}"
        try:
            found = Explainer(model, X).necessary(x, constraints=rules)
        except InputError as error:
            assert "contradict" in str(error) and not len(good), f"{where}: {error}"
            continue
        if not len(good):
            assert found.status == "infeasible" and found.features == (), where
            continue
        wanted = [n for at, n in enumerate(NAMES) if (good[:, at] != x.iloc[at]).all()]
        assert found.status == "optimal" and list(found.features) == wanted, where
        found_some += len(wanted)
    assert found_some
