"""Models of scikit-survival, compared with all rows by the model's own predict."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sksurv.ensemble import (
    ComponentwiseGradientBoostingSurvivalAnalysis,
    ExtraSurvivalTrees,
    GradientBoostingSurvivalAnalysis,
    RandomSurvivalForest,
)
from sksurv.linear_model import CoxPHSurvivalAnalysis
from sksurv.tree import ExtraSurvivalTree, SurvivalTree
from sksurv.util import Surv

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import AtLeast, AtMost, Explainer, Less, More, survival_at
from tests.support.whole_grids import (
    check_gaps,
    check_predictions,
    compare,
    costs,
    every_row,
    predictions,
    whole_table,
    with_gaps,
)

FEW = {"n_estimators": 5, "max_depth": 3, "random_state": 0}
FORESTS = {
    "forest": lambda: RandomSurvivalForest(**FEW),
    "forest of sums": lambda: RandomSurvivalForest(low_memory=True, **FEW),
    "extra trees": lambda: ExtraSurvivalTrees(**FEW),
    "tree": lambda: SurvivalTree(max_leaf_nodes=9, random_state=0),
    "tree of sums": lambda: SurvivalTree(max_depth=3, low_memory=True, random_state=0),
    "extra tree": lambda: ExtraSurvivalTree(max_depth=3, random_state=0),
}
BOOSTING = {
    "hazards": lambda: GradientBoostingSurvivalAnalysis(**FEW),
    "times": lambda: GradientBoostingSurvivalAnalysis(loss="squared", **FEW),
    "weighted times": lambda: GradientBoostingSurvivalAnalysis(loss="ipcwls", **FEW),
    "dropout": lambda: GradientBoostingSurvivalAnalysis(dropout_rate=0.4, **FEW),
    "dropout of times": lambda: GradientBoostingSurvivalAnalysis(
        loss="squared", dropout_rate=0.4, **FEW
    ),
    "early stop": lambda: GradientBoostingSurvivalAnalysis(
        n_iter_no_change=1, subsample=0.7, **FEW
    ),
}
MODELS = {**FORESTS, **BOOSTING}
SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.large) for seed in range(1, 7))]


def outcomes(score):
    """Return times, of which every third one is censored."""
    return Surv.from_arrays(np.arange(len(score)) % 3 > 0, 1.0 + np.exp(score / 4))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_limited(name, seed):
    X, score = whole_table(seed)
    alone = name in FORESTS  # numpy adds up the times of one row in another order
    for model in (MODELS[name](), make_pipeline(StandardScaler(), MODELS[name]())):
        model.fit(X, outcomes(score))
        assert check_predictions(model, X, seed, 2, alone=alone) == 8


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["forest", "dropout of times"])
def test_predictions_are_moved(name, seed):
    X, score = whole_table(seed)
    model = MODELS[name]().fit(X, outcomes(score))
    explainer, rows, query = Explainer(model, X), every_row(X), X.iloc[seed]
    now = float(model.predict(X.iloc[[seed]])[0])
    predicted = predictions(model, rows, [now + 0.05 * abs(now), now - 0.1])
    cost = costs(rows, query)
    for target, reached in (
        (More(percent=5), predicted >= now + 0.05 * abs(now)),
        (Less(by=0.1), predicted <= now - 0.1),
    ):
        compare(explainer.explain(query, target=target), cost[reached].min(initial=np.inf))


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FORESTS)
def test_rows_with_gaps_are_answered(name, seed):
    X, score = whole_table(seed)
    X = with_gaps(X, seed)
    assert check_gaps(FORESTS[name]().fit(X, outcomes(score)), X) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["forest", "extra trees", "tree", "extra tree"])
def test_probabilities_of_survival_are_limited(name, seed):
    X, score = whole_table(seed)
    y = outcomes(score)
    times = y["time"]
    for model, time in (
        (FORESTS[name](), 0.0),  # before the first of the times
        (make_pipeline(StandardScaler(), FORESTS[name]()), float(np.median(times))),
        (FORESTS[name](), float(np.quantile(times, 0.8)) + 0.001),
        (GridSearchCV(FORESTS[name](), {"max_depth": [2]}, cv=2), float(times.max()) - 0.001),
    ):
        chances = survival_at(model.fit(X, y), time)
        best = getattr(model, "best_estimator_", model)
        functions = best.predict_survival_function(X.iloc[:9])
        assert chances.predict(X.iloc[:9]).tolist() == [each(time) for each in functions]
        assert check_predictions(chances, X, seed, 1) == 4


def test_probabilities_of_survival_are_moved_and_gaps_are_kept():
    X, score = whole_table(2)
    X = with_gaps(X, 2)
    forest = RandomSurvivalForest(**FEW).fit(X, outcomes(score))
    chances = survival_at(forest, 2.0)
    assert check_gaps(chances, X) == 2
    row = X[X.notna().all(axis=1)].iloc[[0]]
    result = Explainer(chances, X).explain(row, target=More(by=0.05))
    now, then = (chances.predict(rows)[0] for rows in (row, result.counterfactual))
    assert result.status == "optimal" and then >= now + 0.05


def test_times_and_models_without_survival_functions_are_refused():
    X, score = whole_table(2)
    y = outcomes(score)
    forest = FORESTS["tree"]().fit(X, y)
    for time in (-1.0, np.nan, np.inf, "soon", y["time"].max() + 1):
        with pytest.raises(InputError, match="the largest time of the training data, got"):
            survival_at(forest, time)
    with pytest.raises(InputError, match="low_memory=False"):
        survival_at(FORESTS["tree of sums"]().fit(X, y), 2.0)
    with pytest.raises(UnsupportedModelError, match="has no survival function that can be read"):
        survival_at(BOOSTING["hazards"]().fit(X, y), 2.0)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        survival_at(RandomSurvivalForest(), 2.0)


@pytest.mark.slow
def test_searches_are_read():
    X, score = whole_table(3)
    search = GridSearchCV(RandomSurvivalForest(**FEW), {"max_depth": [1, 2]}, cv=2)
    assert check_predictions(search.fit(X, outcomes(score)), X, 3, 2, alone=True) == 8


def test_other_models_are_refused():
    X, score = whole_table(3)
    y = outcomes(score)
    other = "cannot be read exactly. Use SurvivalTree, RandomSurvivalForest,"
    for model, words in (
        (ComponentwiseGradientBoostingSurvivalAnalysis().fit(X, y), other),
        (CoxPHSurvivalAnalysis().fit(X, y), other),
        (RandomSurvivalForest(), "is not fitted"),
        (SurvivalTree(), "is not fitted"),
        (GradientBoostingSurvivalAnalysis(), "is not fitted"),
        (SurvivalTree().fit(X, Surv.from_arrays([True] * len(X), [1.0] * len(X))), "single time"),
    ):
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model, X)


@pytest.mark.slow
def test_gaps_and_classes_are_refused():
    X, score = whole_table(3)
    y = outcomes(score)
    boosting = GradientBoostingSurvivalAnalysis(**FEW).fit(X, y)
    with pytest.raises(InputError, match="does not accept missing values"):
        Explainer(boosting, X, features={"a": {"missing": True}})
    explainer = Explainer(boosting, X)
    with pytest.raises(InputError, match="is a regressor and has no classes"):
        explainer.explain(X.iloc[0], target=1)
    beyond = float(boosting.predict(every_row(X)).max()) + 1.0
    assert explainer.explain(X.iloc[0], target=AtLeast(beyond)).status == "infeasible"
    assert explainer.explain(X.iloc[0], target=AtMost(beyond)).distance == 0.0
