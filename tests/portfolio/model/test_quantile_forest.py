"""Quantile regression forests, compared with all rows by the model's own predict."""

import math
import warnings

import numpy as np
import pytest
from quantile_forest import ExtraTreesQuantileRegressor, RandomForestQuantileRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingRegressor, IsolationForest, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from encoders.core.errors import InputError, UnsupportedModelError
from encoders.readers.read import read_ensemble
from portfolio import AtLeast, AtMost, Explainer, Plausibility
from portfolio.model.fingerprint import fingerprint
from tests.support.few import few_of
from tests.support.whole_grids import (
    check_gaps,
    check_predictions,
    check_ranges_and_moves,
    check_smallest_reasons,
    compare,
    costs,
    every_row,
    whole_table,
    with_gaps,
)

FOREST, EXTRA = RandomForestQuantileRegressor, ExtraTreesQuantileRegressor
SAMPLES = (1, None, 3, 0.05)  # of a leaf that are kept
QUANTILES = (0.5, 0.9, 0.1, 0.0, 1.0, 0.123)
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 9))]
FEW = {"n_estimators": 7, "max_depth": 4, "random_state": 0}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("kind", "samples", "quantile"), few_of([FOREST, EXTRA], SAMPLES, QUANTILES)
)
def test_quantiles_are_limited(kind, samples, quantile, seed):
    X, score = whole_table(seed)
    model = kind(**FEW, max_samples_leaf=samples, default_quantiles=quantile).fit(X, score)
    assert check_predictions(model, X, seed, 2) == 8


@pytest.mark.parametrize("samples", SAMPLES)
def test_quantiles_are_limited_by_default(samples):
    X, score = whole_table(1)
    model = FOREST(**FEW, max_samples_leaf=samples, default_quantiles=0.8).fit(X, score)
    assert check_predictions(model, X, 1, 1) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", [1, 2, 10, 21])
@pytest.mark.parametrize("samples", [1, None])
def test_limits_may_be_at_and_between_tied_targets(samples, count, seed):
    X, score = whole_table(seed)
    y = np.round(score / 2)
    model = FOREST(count, max_samples_leaf=samples, max_depth=3, random_state=seed).fit(X, y)
    rows, query = every_row(X), X.iloc[seed]
    cost = costs(rows, query)
    for quantile in (0.5, 0.9, 0.25):
        predicted = model.set_params(default_quantiles=quantile).predict(rows)
        explainer = Explainer(model, X)
        for limit in np.quantile(y, [0.3, 0.7])[:, None] + [-0.3, 0.0, 0.5, 0.9]:
            for value in limit.tolist():
                for target, reached in (
                    (AtLeast(value), predicted >= value),
                    (AtMost(value), predicted <= value),
                ):
                    best = cost[reached].min(initial=math.inf)
                    compare(explainer.explain(query, target=target), best)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scale", [1e-9, 1e6])
@pytest.mark.parametrize("samples", [1, 2])
def test_rounding_of_huge_and_tiny_targets_loses_no_answer(samples, scale, seed):
    X, score = whole_table(seed)
    settings = {"max_samples_leaf": samples, "default_quantiles": 0.7}
    model = EXTRA(**FEW | {"n_estimators": 11}, **settings)
    assert check_predictions(model.fit(X, scale * score + 1e9 * scale), X, seed, 2) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_ranges_and_moves_are_reached(seed):
    X, score = whole_table(seed)
    model = FOREST(**FEW, max_samples_leaf=None, default_quantiles=0.6).fit(X, score)
    check_ranges_and_moves(model, X, seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("samples", [1, None])
def test_several_quantiles_are_outputs(samples, seed):
    X, score = whole_table(seed)
    model = EXTRA(**FEW, max_samples_leaf=samples, default_quantiles=[0.9, 0.1]).fit(X, score)
    explainer, rows = Explainer(model, X, outputs=["high", "low"]), every_row(X)
    high, low = model.predict(rows).T
    least, most = float(np.quantile(low, 0.7)), float(np.quantile(high, 0.6))
    for place in range(seed, seed + 2):
        cost = costs(rows, X.iloc[place])
        for target, reached in (
            ({"low": AtLeast(least)}, low >= least),
            ({"high": AtMost(most)}, high <= most),
            ({"low": AtLeast(least), "high": AtMost(most)}, (low >= least) & (high <= most)),
        ):
            best = cost[reached].min(initial=math.inf)
            compare(explainer.explain(X.iloc[[place]], target=target), best)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("samples", [1, None])
def test_missing_values_stay_and_pipelines_encode(samples, seed):
    X, score = whole_table(seed)
    settings = FEW | {"max_samples_leaf": samples, "default_quantiles": 0.7}
    # fit rejects missing values, but predict accepts them.
    assert check_gaps(FOREST(**settings).fit(X, score), with_gaps(X, seed)) == 2
    scaled = make_pipeline(StandardScaler(), FOREST(**settings)).fit(X, score)
    assert check_predictions(scaled, X, seed, 1) == 4
    X, score = whole_table(seed, categories=True)
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    search = GridSearchCV(EXTRA(**settings), {"n_estimators": [3, 6]}, cv=2)
    assert check_predictions(make_pipeline(columns, search).fit(X, score), X, seed, 2) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_samples_have_weights_and_monotone_bounds(seed):
    X, score = whole_table(seed)
    weights = np.random.default_rng(seed).integers(0, 4, len(X)).astype(float)
    weighted = FOREST(**FEW, max_samples_leaf=2).fit(X, score, sample_weight=weights)
    assert check_predictions(weighted, X, seed, 1) == 4
    bounded = FOREST(**FEW, monotonic_cst=[1, 0, -1], default_quantiles=0.8).fit(X, score)
    assert check_predictions(bounded, X, seed, 2) == 8
    whole = FOREST(**FEW, max_samples_leaf=1.0).fit(X, score)  # read as 1 by predict
    assert check_predictions(whole, X, seed, 1) == 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_other_models_may_have_to_agree(seed):
    X, score = whole_table(seed)
    model = FOREST(**FEW, max_samples_leaf=2, default_quantiles=0.3).fit(X, score)
    other = RandomForestRegressor(5, max_depth=3, random_state=seed).fit(X, score)
    outliers = IsolationForest(n_estimators=10, contamination=0.2, random_state=seed).fit(X)
    rows, query = every_row(X), X.iloc[[seed]]
    one, two, inside = model.predict(rows), other.predict(rows), outliers.predict(rows) == 1
    limit, cost = float(np.quantile(one, 0.8)), costs(rows, X.iloc[seed])
    plausible = Explainer(model, X, plausibility=Plausibility(outliers))
    best = cost[(one >= limit) & inside].min(initial=math.inf)
    compare(plausible.explain(query, target=AtLeast(limit)), best)
    both = cost[(one >= limit) & (two >= limit)].min(initial=math.inf)
    for first, second in ((model, other), (other, model)):
        explainer = Explainer(first, X, also=[second])
        compare(explainer.explain(query, target=AtLeast(limit)), both)


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("samples", [1, None])
def test_smallest_reasons_are_found(samples, seed):
    X, score = whole_table(seed)
    model = FOREST(**FEW, max_samples_leaf=samples, default_quantiles=0.7).fit(X, score)
    check_smallest_reasons(model, X, seed)


@pytest.mark.parametrize("samples", SAMPLES)
def test_all_predictions_are_within_the_bounds_of_the_trees(samples):
    X, score = whole_table(2)
    model = FOREST(**FEW | {"max_depth": None}, max_samples_leaf=samples).fit(X, score)
    rows = every_row(X)
    for quantile in QUANTILES:
        predicted = model.set_params(default_quantiles=quantile).predict(rows)
        low, high = read_ensemble(model).scores(rows.to_numpy(float)).T
        assert ((low <= predicted) & (predicted <= high)).all()
        assert (high - low).max() < 1e-9


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("samples", SAMPLES)
def test_no_row_excludes_a_prediction_within_its_limit(samples, seed):
    """All predictions keep the rows of their limits, and those that rejected choices add."""
    X, score = whole_table(seed)
    rng, rows = np.random.default_rng(seed), every_row(X)
    for y in (score, np.round(score), 1e6 * score + 1e9):
        count = int(rng.integers(1, 25))
        model = EXTRA(count, max_depth=5, max_samples_leaf=samples, random_state=seed).fit(X, y)
        for quantile in QUANTILES:
            predicted = model.set_params(default_quantiles=quantile).predict(rows)
            ensemble = read_ensemble(model)
            node = np.flatnonzero(ensemble.column < 0)
            tree_start = np.append(np.searchsorted(node, ensemble.root), node.size)
            leaves = np.searchsorted(node, ensemble.leaves(rows.to_numpy(float)))
            score_of_leaf = ensemble.score[node]
            middles = [float(np.mean(rng.choice(y, 2))) for _ in range(2)]
            for value in (*rng.choice(predicted, 2).tolist(), *rng.choice(y, 2).tolist(), *middles):
                for low, high in ((value, math.inf), (-math.inf, value)):
                    inside = (low <= predicted) & (predicted <= high)
                    leaf_arrays = (score_of_leaf, tree_start)
                    limits = ensemble.link.rows(*leaf_arrays, low, high, False)
                    for place in rng.choice(len(rows), 3):
                        limits += ensemble.link.cut(*leaf_arrays, leaves[place], low, high)
                    for weight, needed in limits:
                        assert (weight[leaves[inside]].sum(axis=1) >= needed).all()


def test_digests_depend_on_the_quantile_and_the_samples():
    X, score = whole_table(2)
    model, other = FOREST(**FEW).fit(X, score), FOREST(**FEW).fit(X, score + 1.0)
    links = [read_ensemble(model).link, read_ensemble(other).link]
    links.append(read_ensemble(model.set_params(default_quantiles=0.6)).link)
    assert len({fingerprint(link) for link in links}) == 3


def test_what_cannot_be_read_is_refused_in_a_sentence():
    X, score = whole_table(3)
    fitted = FOREST(**FEW).fit(X, score)
    for model, words in (
        (FOREST(), "is not fitted"),
        (FOREST(default_quantiles=[0.1, 0.9]), "is not fitted"),
        (FOREST(**FEW).fit(X, np.c_[score, score]), "fitted to 2 targets"),
        (EXTRA(**FEW, default_quantiles=None).fit(X, score), "default_quantiles=None"),
        (EXTRA(**FEW, default_quantiles="mean").fit(X, score), "default_quantiles='mean'"),
        (EXTRA(**FEW, default_quantiles=1.5).fit(X, score), "not numbers from 0 to 1"),
        (EXTRA(**FEW, default_quantiles=[0.5, 2]).fit(X, score), "not numbers from 0 to 1"),
        (EXTRA(**FEW, default_quantiles=[]).fit(X, score), "not numbers from 0 to 1"),
    ):
        with pytest.raises(UnsupportedModelError, match=words) as refusal:
            Explainer(model, X)
        assert str(refusal.value).endswith(".") and "\n" not in str(refusal.value)
    several = FOREST(**FEW, default_quantiles=[0.1, 0.9]).fit(X, score)
    with pytest.raises(UnsupportedModelError, match="such as targets or quantiles"):
        Explainer(fitted, X, also=[several])
    with pytest.raises(UnsupportedModelError, match="averages predictions"):
        Explainer(BaggingRegressor(FOREST(**FEW), 2).fit(X, score), X)
    with pytest.raises(InputError, match="is a regressor and has no classes"):
        Explainer(fitted, X).explain(X.iloc[0], target=1)


def test_leaves_without_samples_are_refused():
    X, score = whole_table(3)
    model = FOREST(1, max_depth=2, max_samples_leaf=None, random_state=0).fit(X, score)
    leaf = int(model.apply(X)[0, 0])
    np.asarray(model.forest_.y_train_leaves)[0, leaf] = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(UnsupportedModelError, match="leaf without samples"):
            Explainer(model, X)
