"""Native categories and missing values: the optimum is that of the library's own predict."""

import math

import numpy as np
import pandas as pd
import pytest

from encoders.formulation import wide_columns
from portfolio import Allowed, AllowMissing, Explainer, Fixed, InputError, Range
from tests.support.brute_tables import cheapest
from tests.support.category_tables import BANDS, N, fitted, predicted, raws, table


def check(kind, seed, gaps, categories, queries=4):
    X, y = table(seed, gaps, categories)
    if kind == "catboost" and gaps and categories:  # which takes no missing category
        X["job"] = X.job.cat.add_categories("none").fillna("none")
    if kind in BANDS:
        X.loc[::3, "income"] = X.loc[1::4, "debt"] = BANDS[kind][0]
    model = fitted(kind, seed, X, y)
    explainer = Explainer(model, X)
    parts = raws(model, X, kind)
    random, tried = np.random.default_rng(seed), 0
    for place in random.choice(N, queries, replace=False):
        row = X.iloc[place]
        own = predicted(model, X.iloc[[place]])[0]
        for target in [label for label in model.classes_ if label != own][:1]:
            best = cheapest(parts, row, X, lambda rows, t=target: predicted(model, rows) == t)
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
                    assert predicted(model, answer)[0] == target
    return tried


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms", "catboost"])
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_categories_are_those_of_the_library(kind, gaps):
    assert sum(check(kind, seed, gaps, True, 3) for seed in range(3)) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms"])
def test_categories_in_parts_are_those_of_the_library(kind, monkeypatch):
    monkeypatch.setattr(wide_columns, "WIDE", 1)
    monkeypatch.setattr(wide_columns, "PART", 1)
    assert sum(check(kind, seed, seed % 2 == 0, True) for seed in range(4, 6)) >= 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["xgboost", "lightgbm", "histograms", "forest", "extra", "tree", "catboost"]
)
def test_gaps_go_where_the_library_sends_them(kind):
    assert sum(check(kind, seed, True, False, 3) for seed in range(3)) >= 5


@pytest.mark.slow
@pytest.mark.parametrize("kind", BANDS)
def test_numbers_that_count_as_missing_go_where_the_library_sends_them(kind):
    lightgbm = kind == "zero_as_missing"
    assert sum(check(kind, seed, seed != 1, lightgbm and seed < 2) for seed in range(3)) >= 6


@pytest.mark.large
@pytest.mark.parametrize("kind", [*BANDS, "xgboost", "lightgbm", "histograms", "catboost"])
def test_many_tables(kind):
    categories = not kind.startswith("missing=")  # those models are fitted to numbers alone
    seeds = range(10, 300)
    assert sum(check(kind, s, s % 2 == 0, categories and s % 5 != 0) for s in seeds) >= 400


@pytest.mark.large
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms"])
@pytest.mark.parametrize("size", [1, 2])
def test_many_tables_in_parts(kind, size, monkeypatch):
    monkeypatch.setattr(wide_columns, "WIDE", size)
    monkeypatch.setattr(wide_columns, "PART", size)
    assert sum(check(kind, seed, seed % 2 == 0, True) for seed in range(300, 500)) >= 400


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
        ({"job": 3.5}, "job is 3.5, which is not one of its categories: 'smith', 'cook'"),
        ({"debt": None}, r"debt is missing \(NaN\).*'missing': True"),
        ({"debt": "much"}, "debt is 'much'. Give it a finite number"),
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
        (AllowMissing("debt"), "debt is missing in no training row"),
        (AllowMissing("income", cost=-1), "cost must be a number from 0 to 1e.100, got -1"),
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
