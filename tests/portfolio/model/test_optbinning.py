"""BinningProcess and Scorecard of optbinning, compared with brute force over raw rows."""

import warnings

import numpy as np
import pytest
from optbinning import BinningProcess, OptimalPWBinning, Scorecard
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from portfolio import AtLeast, Explainer, UnsupportedModelError
from tests.support.binned import borrowers, check_bins, raws
from tests.support.brute_tables import cheapest
from tests.support.few import few_of

FINAL = {
    "logistic": LogisticRegression,
    "ridge": RidgeClassifier,
    "svc": LinearSVC,
    "forest": lambda: RandomForestClassifier(4, max_depth=4, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=4, min_samples_leaf=4),
}
METRICS = {
    "woe": {},
    "event rate": {"metric": "event_rate"},
    "indices": {"metric": "indices"},
    "empirical": {"metric_missing": "empirical", "metric_special": "empirical"},
    "numbers": {"metric_missing": -0.3, "metric_special": 0.7},
}
SPECIAL = {"none": None, "list": [-1.0, 3000.25], "groups": {"unknown": -1.0, "other": [3000.25]}}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 12))]


def fitted(process, final, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(process, final).fit(X, y)


def applicants(seed, gaps):
    """Return a frame with special codes, and labels."""
    X, y = borrowers(seed, gaps)
    X.loc[X.index[3::9], "income"] = -1.0
    X.loc[X.index[4::25], "income"] = 3000.25
    return X, y


def limits_of(process):
    """Return the limits of the bins of each number, and its special codes."""
    limits = {}
    for name in ("age", "income"):
        splits = process.get_binned_variable(name).splits
        limits[name] = [*splits, -1.0, 3000.25]
    return limits


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("metric", "special"), few_of(METRICS, SPECIAL))
def test_bins_are_followed(metric, special, seed):
    at = list(METRICS).index(metric) + list(SPECIAL).index(special)
    X, y = applicants(seed, gaps=(at + seed) % 2 == 1)
    process = BinningProcess(
        list(X),
        special_codes=SPECIAL[special],
        binning_transform_params=dict.fromkeys(X, METRICS[metric]) if METRICS[metric] else None,
        binning_fit_params={"income": {"monotonic_trend": None, "max_n_bins": 6}},
    )
    final = list(FINAL.values())[(at + seed) % len(FINAL)]()
    model = fitted(process, final, X, y)
    assert check_bins(model, X, limits_of(process), seed) == 3


@pytest.mark.slow
def test_bins_of_several_classes_are_followed():
    X, _ = borrowers(5)
    X = X[["age", "income"]]
    y = np.digitize(X.income, X.income.quantile([0.3, 0.7])) % 2 + (X.age > 50)
    process = BinningProcess(list(X), selection_criteria={"js": {"min": 0.0}})
    model = fitted(process, LogisticRegression(), X, y)
    assert len(model.classes_) == 3
    assert check_bins(model, X, limits_of(process), 5) == 3


@pytest.mark.slow
def test_numbers_may_be_categories_of_the_process():
    X, y = borrowers(6)
    X = X.assign(age=X.age // 10)
    process = BinningProcess(list(X), categorical_variables=["age", "job"])
    model = fitted(process, LogisticRegression(), X, y)
    limits = {"income": process.get_binned_variable("income").splits}
    assert check_bins(model, X, limits, 6) == 3


def test_other_processes_are_refused():
    X, y = borrowers(7)
    X = X[["age", "income"]]
    swapped = fitted(BinningProcess(["income", "age"]), LogisticRegression(), X, y)
    piecewise = fitted(BinningProcess(["age", "income"]), LogisticRegression(), X, y)
    sloped = OptimalPWBinning(name="income").fit(X.income.to_numpy(), y.to_numpy())
    piecewise[0].update_binned_variable("income", sloped)
    for model, words in (
        (swapped, r"variable_names \['income', 'age'\], and its columns are those of \['age'"),
        (piecewise, "has a OptimalPWBinning for 'income', whose outputs are not constant"),
    ):
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model, X)


CARDS = {
    "logistic": LogisticRegression,
    "ridge": RidgeClassifier,
    "svc": LinearSVC,
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("final", "special"), few_of(CARDS, SPECIAL))
def test_scorecards_are_sums_of_points(final, special, seed):
    X, y = applicants(seed, gaps=seed % 2 == 0)
    own = {"age": {"metric_missing": 2.0}} if seed % 3 == 0 else None
    process = BinningProcess(list(X), special_codes=SPECIAL[special], binning_transform_params=own)
    metrics = [{}, {"metric_missing": "empirical"}, {"metric_special": 0.4, "metric_missing": -1.0}]
    card = Scorecard(process, CARDS[final]())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        card.fit(X, y, **metrics[seed % 3])
    assert check_bins(card, X, limits_of(card.binning_process_), seed) == 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
def test_scores_of_scorecards_reach_limits(seed):
    X, y = borrowers(seed, gaps=seed % 2 == 0)
    score = y * 100.5 + X.age
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        card = Scorecard(BinningProcess(list(X)), LinearRegression()).fit(X, score)
        explainer = Explainer(card, X)
    limits = {
        name: card.binning_process_.get_binned_variable(name).splits for name in X.columns[:2]
    }
    limit = float(np.quantile(card.predict(X), 0.8)) + 1e-7
    for place in np.random.default_rng(seed).choice(len(X), 3, replace=False):
        best = cheapest(raws(X, limits), X.iloc[place], X, lambda rows: card.predict(rows) >= limit)
        result = explainer.explain(X.iloc[[place]], target=AtLeast(limit))
        assert result.status == "optimal"
        assert result.distance == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.slow
def test_columns_of_scorecards_are_found_by_name():
    X, y = borrowers(9, gaps=True)
    X = X.assign(note=X.index.astype(str).str[-1])[["note", "income", "job", "age"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        card = Scorecard(BinningProcess(["age", "job", "income"]), LogisticRegression()).fit(X, y)
    assert check_bins(card, X, limits_of(card.binning_process_), 9) == 3


def test_scorecards_that_are_not_fitted_are_refused():
    X, _ = borrowers(8)
    card = Scorecard(BinningProcess(list(X)), LogisticRegression())
    with pytest.raises(UnsupportedModelError, match="Scorecard"):
        Explainer(card, X)
