"""Native categories and missing values: the optimum is that of the library's own predict."""

import math

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from portfolio import Allowed, AllowMissing, Explainer, Fixed, InputError, Range
from tests.support.brute_tables import Raw, around, cheapest, cuts

N = 240


def table(seed, gaps, categories):
    """Two numbers, and two category columns or none; a label that depends on all."""
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {"income": random.normal(size=N).round(2), "debt": random.gamma(2, 2, N).round(1)}
    )
    hidden = (X.income > 0.2).to_numpy() ^ (X.debt > 5).to_numpy()
    if categories:
        job = random.choice(["clerk", "cook", "nurse", "smith", "pilot"], N)
        X["job"] = pd.Categorical(job, categories=["smith", "cook", "pilot", "nurse", "clerk"])
        X["size"] = pd.Categorical(random.choice([3, 7, 11], N))
        hidden ^= np.isin(job, ["cook", "pilot"])
    if gaps:
        X.loc[random.random(N) < 0.15, "income"] = np.nan
        if categories:
            X.loc[random.random(N) < 0.15, "job"] = np.nan
    y = np.where(hidden ^ (random.random(N) < 0.05), "yes", "no")
    if seed % 3 == 2:
        y = np.where(X.debt > 6, "perhaps", y)
    return X, y


def fitted(kind, seed, X, y):
    trees, depth = 3 + seed % 3, 2 + seed % 2
    if kind == "xgboost":
        codes = {"no": 0, "yes": 1, "perhaps": 2}
        model = xgboost.XGBClassifier(
            n_estimators=trees, max_depth=depth, enable_categorical=True,
            max_cat_to_onehot=1 + 9 * (seed % 2), tree_method="hist",
        )  # fmt: skip
        return model.fit(X, np.array([codes[label] for label in y]))
    if kind == "lightgbm":
        return lightgbm.LGBMClassifier(
            n_estimators=trees, max_depth=depth, verbose=-1, min_child_samples=5,
            min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=1 + 9 * (seed % 2),
            use_missing=seed % 4 != 3,
        ).fit(X, y)  # fmt: skip
    if kind == "histograms":
        return HistGradientBoostingClassifier(
            max_iter=trees, max_depth=depth, min_samples_leaf=5, categorical_features="from_dtype",
        ).fit(X, y)  # fmt: skip
    forests = {"forest": RandomForestClassifier, "extra": ExtraTreesClassifier}
    if kind in forests:
        return forests[kind](trees, max_depth=depth, random_state=seed).fit(X, y)
    return DecisionTreeClassifier(max_depth=depth + 1, random_state=seed).fit(X, y)


def raws(model, X):
    found, dtype = cuts(model, X)
    parts = []
    for at, name in enumerate(X.columns):
        own = X[name]
        if isinstance(own.dtype, pd.CategoricalDtype):
            parts.append(Raw(name, tuple(own.dropna().unique()), number=False))
        else:
            low, high = own.min(), own.max()
            values = around([c for c in found[at] if abs(c) < 1e30], low, high, dtype is np.float32)
            parts.append(Raw(name, values, spread=high - low))
    return parts


def check(kind, seed, gaps, categories, queries=4):
    X, y = table(seed, gaps, categories)
    model = fitted(kind, seed, X, y)
    explainer = Explainer(model, X)
    parts = raws(model, X)
    random, tried = np.random.default_rng(seed), 0
    for place in random.choice(N, queries, replace=False):
        row = X.iloc[place]
        own = model.predict(X.iloc[[place]])[0]
        for target in [label for label in model.classes_ if label != own][:1]:
            best = cheapest(parts, row, X, lambda rows, t=target: model.predict(rows) == t)
            result = explainer.explain(row, target=target)
            if best is None:
                continue
            tried += 1
            if math.isinf(best):
                assert result.status == "infeasible", (kind, seed, place, result)
            else:
                assert result.status == "optimal", (kind, seed, place, result)
                assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12), (seed, place)
                answer = explainer.explain(X.iloc[[place]], target=target).counterfactual
                if categories:
                    assert model.predict(answer)[0] == target
    return tried


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_categories_are_those_of_the_library(kind, gaps):
    assert sum(check(kind, seed, gaps, True) for seed in range(4)) >= 8


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms", "forest", "extra", "tree"])
def test_gaps_go_where_the_library_sends_them(kind):
    assert sum(check(kind, seed, True, False) for seed in range(4)) >= 8


@pytest.mark.large
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms"])
def test_many_tables(kind):
    assert sum(check(kind, seed, seed % 2 == 0, seed % 5 != 0) for seed in range(10, 300)) >= 400


@pytest.fixture(scope="module")
def explained():
    X, y = table(1, True, True)
    return Explainer(fitted("lightgbm", 1, X, y), X), X


def test_a_value_becomes_missing_only_where_that_is_allowed(explained):
    explainer, X = explained
    row = X[X.income.notna() & X.job.notna()].iloc[0]
    free = [AllowMissing("income", cost=1e-6), AllowMissing("job", cost=1e-6)]
    others = [Fixed("debt"), Fixed("size")]
    with_gaps = explainer.explain(row, constraints=[*free, *others])
    without = explainer.explain(row, constraints=others)
    assert with_gaps.distance <= without.distance
    assert all(change.after is not None for change in without.changed)


def test_what_is_missing_stays_or_is_filled_in_at_its_price(explained):
    explainer, X = explained
    row = X[X.income.isna()].iloc[0]
    kept = explainer.explain(row, constraints=[Fixed("income")])
    assert kept.row is None or math.isnan(kept.counterfactual["income"])
    filled = explainer.explain(row, constraints=[Range("income", 0, 1)], weights={"income": 3})
    assert 0 <= filled.counterfactual["income"] <= 1 and filled.distance >= 3
    listed = explainer.explain(row, constraints=[Allowed("income", [None])])
    assert listed.distance == kept.distance


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"job": "baker"}, "job is 'baker', which is none of its categories: 'smith', 'cook'"),
        ({"debt": None}, r"debt is missing \(NaN\).*'missing': True"),
        ({"debt": "much"}, "debt is 'much'; the model needs a finite number"),
        ({"income": math.inf}, "income is infinite"),
    ],
)
def test_a_query_that_does_not_fit_the_table_is_told(explained, change, words):
    explainer, X = explained
    with pytest.raises(InputError, match=words):
        explainer.explain(dict(X.iloc[5]) | change)


def test_a_price_or_a_gap_that_cannot_be_is_told(explained):
    explainer, X = explained
    for constraint, words in (
        (AllowMissing("debt"), "no training row misses debt"),
        (AllowMissing("income", cost=-1), "the cost must be a number"),
        (Range("job", 0, 1), "categories have no order"),
    ):
        with pytest.raises(InputError, match=words):
            explainer.explain(X.iloc[0], constraints=[constraint])


def test_a_batch_gives_the_users_own_values_and_resumes(explained, tmp_path):
    explainer, X = explained
    frame = explainer.explain_batch(X.head(6), out=tmp_path / "out")
    assert set(frame["cf_job"].dropna()) <= set(X["job"].cat.categories)
    again = explainer.explain_batch(X.head(6), out=tmp_path / "out", resume=True)
    pd.testing.assert_frame_equal(frame, again)
    for place in range(6):
        single = explainer.explain(X.iloc[place])
        assert single.distance == frame["distance"][place]
