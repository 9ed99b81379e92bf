"""Diverse answers where rows have categories and gaps, against brute force over raw rows."""

import itertools
import math
import os

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

from portfolio import AllowMissing, Explainer
from portfolio.api.variants import asker_of
from portfolio.questions.several import diverse_finder

LETTERS = list("abcde")
EMPTIED = 0.5  # cost of having no value
FILLED = {"a": 0.4, "b": 0.7}  # cost of having one where the query has none


def table(rng, n=120):
    """A column of categories, two of whole numbers, one on a grid of quarters; some with gaps."""
    X = pd.DataFrame(
        {
            "c": pd.Categorical(rng.choice(LETTERS, n), categories=LETTERS),
            "a": rng.integers(0, 5, n).astype(float),
            "b": rng.integers(0, 4, n).astype(float),
            "d": np.round(rng.normal(size=n) * 4) / 4,
        }
    )
    for name in "cab":
        X.loc[rng.random(n) < 0.12, name] = np.nan
    wave = X["c"].cat.codes * 0.6 + X["a"].fillna(2) + X["d"] + rng.normal(size=n)
    return X, (wave > wave.quantile(0.6)).astype(int)


def numbers(frame):
    """Rows as floats, categories as codes."""
    codes = frame["c"].cat.codes.to_numpy(dtype=float)
    return np.column_stack([np.where(codes < 0, np.nan, codes), frame[list("abd")].to_numpy(float)])


def trained(seed, X, y):
    """A model, and what gives the leaf of each of its trees."""
    if seed % 2:
        model = XGBClassifier(
            n_estimators=4, max_depth=3, enable_categorical=True, random_state=seed, n_jobs=1
        ).fit(X, y)
        return model, model.apply
    model = LGBMClassifier(
        n_estimators=4, max_depth=3, min_child_samples=5, verbose=-1, random_state=seed, n_jobs=1
    ).fit(X, y)
    return model, lambda rows: model.predict(rows, pred_leaf=True)


class Question:
    """What is asked of a row, and distances by definition."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        X, y = table(rng)
        self.model, self.leaves = trained(seed, X, y)
        described = {n: {"kind": "ordinal", "missing_cost": c} for n, c in FILLED.items()}
        self.explainer = Explainer(self.model, X, features=described | {"d": {"step": 0.25}})
        self.x = X.iloc[[int(rng.integers(len(X)))]]
        self.target = 1 - int(self.model.predict(self.x)[0])
        self.norm, self.k = (0, 1, "inf")[seed % 3], 2 + seed % 2
        self.within = float(rng.choice([0.2, 0.6, 1.5]))
        self.emptied = [AllowMissing("a", EMPTIED)] if rng.random() < 0.5 else []

    @property
    def settings(self):
        names = ("k", "within", "target", "norm")
        return {name: getattr(self, name) for name in names}

    def distances(self, row, rows):
        """From one row to each of some, whose categories are codes."""
        total = []
        for at, name in enumerate("cabd"):
            one, others = row[at], rows[:, at]
            feature = self.explainer.features.named(name)
            gap = np.abs(others - one) / ((feature.upper - feature.lower) or 1.0)
            if name == "c" or self.norm == 0:
                gap = (others != one).astype(float)
            filled = pd.isna(self.x[name].iloc[0])
            absent = FILLED.get(name, 1.0) if filled else EMPTIED
            lacks = np.isnan(others) != np.isnan(one)
            total.append(np.where(np.isnan(others) | np.isnan(one), absent * lacks, gap))
        return np.max(total, axis=0) if self.norm == "inf" else np.sum(total, axis=0)

    def rows(self):
        """Every admissible raw row that the model decides as wanted."""
        values = {"c": list(LETTERS)}
        for name, step in (("a", 1.0), ("b", 1.0), ("d", 0.25)):
            feature = self.explainer.features.named(name)
            first, last = math.ceil(feature.lower / step), math.floor(feature.upper / step)
            values[name] = [step * at for at in range(first, last + 1)]
        for name, own in self.x.iloc[0].items():
            if pd.isna(own) or (name == "a" and self.emptied):
                values[name] = [*values[name], np.nan]
        every = pd.DataFrame(list(itertools.product(*values.values())), columns=list(values))
        every["c"] = pd.Categorical(every["c"], categories=LETTERS)
        return every[self.model.predict(every) == self.target]


def check_one(seed):
    """Whether there was something to choose from."""
    asked, listed = Question(seed), []
    own = diverse_finder.near_rows

    def heard(*given):
        listed.append(own(*given))
        return listed[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diverse_finder, "near_rows", heard)
        found = asked.explainer.diverse(
            asked.x, **asked.settings, constraints=asked.emptied, threads=1
        )
    every = asked.rows()
    cost = asked.distances(numbers(asked.x)[0], numbers(every))
    if not cost.size:
        assert found.status == "infeasible", seed
        return False
    limit = cost.min() * (1 + asked.within)
    assert found.status == "optimal" and math.isclose(found.limit, limit, abs_tol=1e-12), seed
    near = asker_of(asked.explainer).model.native.table.frame(listed[0].up_to(found.limit).row)
    cheap = every[cost <= limit * (1 + 1e-9)]
    assert {*map(tuple, asked.leaves(near))} == {*map(tuple, asked.leaves(cheap))}, seed
    rows = numbers(near)
    gap = np.array([asked.distances(row, rows) for row in rows])
    if len(rows) <= asked.k or math.comb(len(rows), asked.k) > 50_000:
        return False
    sets = np.array(list(itertools.combinations(range(len(rows)), asked.k)))
    pairs = [gap[sets[:, a], sets[:, b]] for a, b in itertools.combinations(range(asked.k), 2)]
    most = np.min(pairs, axis=0).max()
    assert math.isclose(found.apart, most, rel_tol=1e-9, abs_tol=1e-12), seed
    return True


@pytest.mark.parametrize("seed", [1, 2])
def test_answers_with_categories_and_gaps_are_as_far_apart_as_can_be(seed):
    check_one(seed)


@pytest.mark.large
def test_many_random_tables():
    count = int(os.environ.get("DIVERSE_TABLES", "600"))
    found = [check_one(seed) for seed in range(1000, 1000 + count)]
    print(f"diverse tables: {count} questions, {sum(found)} with something to choose from")
