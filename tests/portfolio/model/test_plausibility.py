"""Plausible counterfactuals against brute force, judged by the isolation forest itself."""

import math

import numpy as np
import pytest
from sklearn.ensemble import IsolationForest, RandomForestClassifier

from encoders.backends.registry import all_backends
from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import Explainer, Plausibility
from tests.support.brute import all_rows, as_frame, decides, distances, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large

pytestmark = pytest.mark.usefixtures("lawful_problems")
SEEDS = range(40)


def isolation_cuts(forest, dtype):
    """Values next to which the forest's verdict can change, in the model's input type."""
    cuts = [set() for _ in range(forest.n_features_in_)]
    for tree, used in zip(forest.estimators_, forest.estimators_features_, strict=True):
        inner = tree.tree_.children_left >= 0
        columns = np.asarray(used)[tree.tree_.feature[inner]]
        for column, value in zip(columns, tree.tree_.threshold[inner], strict=True):
            near = np.float32(value)
            around = {np.nextafter(near, np.float32(s * np.inf)) for s in (-1, 1)} | {near}
            cuts[column] |= {float(v) for v in around}
            if dtype is np.float64:
                cuts[column] |= {(float(a) + float(b)) / 2 for a in around for b in around}
    return cuts


def check_one(seed, backend):
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    X, specs = random_frame(rng)
    model = random_model(rng, kind, X, 2)
    labels = model.predict(X)
    target = int(rng.integers(2))
    if (labels == target).sum() < 5 or (labels != target).sum() < 1:
        return "one class"
    forest = IsolationForest(n_estimators=3, max_samples=6, contamination=0.3, random_state=seed)
    forest.fit(X[labels == target])
    x = X[labels != target].iloc[0]
    values = x.to_numpy()
    found, dtype = thresholds(model, X.shape[1])
    extra = isolation_cuts(forest, dtype)
    cuts = [a | b for a, b in zip(found, extra, strict=True)]
    rows = all_rows(specs, values, model, dtype, cuts, limit=200_000)
    if rows is None:
        return "too many cells"
    valid = decides(model, rows, model.classes_[target])
    plausible = forest.decision_function(as_frame(forest, rows)) >= 0
    units = [(s.upper - s.lower) or 1.0 for s in specs]
    p = float(rng.choice([0, 1, 2, math.inf]))
    cost = distances(specs, values, rows, p, units, [1.0] * len(specs))
    best = cost[plausible & valid].min(initial=math.inf)
    explainer = Explainer(model, X, plausibility=Plausibility({0: forest, 1: forest}))
    result = explainer.explain(
        x,
        target=explainer.classes[target],
        norm="inf" if math.isinf(p) else p,
        strategy=backend if seed % 3 else f"plain-{backend}",
        threads=1,
    )
    epsilon = 1e-3 if result.stop_reason == "gap" else 0.0
    where = f"seed {seed}, {kind}, {backend}, norm {p}"
    assert result.distance >= best * (1 - 1e-9), where
    if math.isinf(best):
        assert result.status == "infeasible", where
        return "infeasible"
    assert result.status == ("feasible" if epsilon else "optimal"), where
    assert result.distance <= best * (1 + 1e-6) + epsilon, where
    row = result.counterfactual.to_frame().T
    assert model.predict(row)[0] == explainer.classes[target], where
    assert forest.decision_function(row)[0] >= 0, where
    return "optimal"


@pytest.mark.slow
@pytest.mark.parametrize("part", few_and_large(1, 10))
@pytest.mark.parametrize("backend", [b.name for b in all_backends()])
def test_optimum_equals_brute_force(backend, part):
    isolated = next(b for b in all_backends() if b.name == backend).capability.isolated
    few = SEEDS[: 16 if isolated and part == 0 else None]
    seen = [check_one(part * len(SEEDS) + seed, backend) for seed in few]
    assert seen.count("optimal") >= len(seen) // 4, seen


@pytest.fixture(scope="module")
def fitted(credit):
    model, X = credit
    return model, X, Plausibility.fit(X, model.predict(X), n_estimators=20)


def test_every_answer_is_an_inlier_and_costs_no_less(fitted):
    model, X, plausibility = fitted
    plain, careful = Explainer(model, X), Explainer(model, X, plausibility=plausibility)
    labels = model.predict(X)
    implausible = 0
    for _, row in X[labels == "refused"].iloc[:15].iterrows():
        forest = plausibility.forests["granted"]
        free, held = (e.explain(row, target="granted") for e in (plain, careful))
        assert held.status == "optimal" and held.distance >= free.distance - 1e-12
        assert forest.decision_function(held.counterfactual.to_frame().T)[0] >= 0
        implausible += forest.decision_function(free.counterfactual.to_frame().T)[0] < 0
    assert implausible > 0


def test_a_row_of_the_target_class_must_be_plausible_to_stay(fitted):
    model, X, plausibility = fitted
    explainer = Explainer(model, X, plausibility=plausibility)
    own = X[model.predict(X) == "granted"]
    verdict = plausibility.forests["granted"].decision_function(own) >= 0
    stays = explainer.explain(own[verdict].iloc[0], target="granted")
    moves = explainer.explain(own[~verdict].iloc[0], target="granted")
    assert stays.distance == 0 and moves.distance > 0 and moves.status == "optimal"


def test_bad_input_is_one_clear_sentence(fitted):
    model, X, _ = fitted
    y = model.predict(X)
    with pytest.raises(InputError, match="one label per row"):
        Plausibility.fit(X, y[:-1])
    with pytest.raises(InputError, match="contamination must be"):
        Plausibility.fit(X, y, contamination=0.9)
    with pytest.raises(InputError, match="no isolation forest for class 'refused'"):
        Explainer(model, X, plausibility=Plausibility({"granted": IsolationForest().fit(X)}))
    with pytest.raises(UnsupportedModelError, match="fitted IsolationForest"):
        Explainer(model, X, plausibility=Plausibility(RandomForestClassifier()))
    with pytest.raises(InputError, match="fitted on other columns"):
        Explainer(model, X, plausibility=Plausibility(IsolationForest().fit(X.iloc[:, :2])))
    with pytest.raises(InputError, match="in another order"):
        turned = IsolationForest().fit(X[list(X.columns)[::-1]])
        Explainer(model, X, plausibility=Plausibility(turned))
    with pytest.raises(
        UnsupportedModelError, match="isolation forest takes 2 columns, the model 6"
    ):
        unnamed = IsolationForest().fit(X.iloc[:, :2].to_numpy())
        Explainer(model, X, plausibility=Plausibility(unnamed))
    with pytest.raises(InputError, match="must be a Plausibility"):
        Explainer(model, X, plausibility=IsolationForest().fit(X))
    for wrong in ({"contamination": "auto"}, {"n_estimators": 0}):
        with pytest.raises(InputError, match="must be"):
            Plausibility.fit(X, y, **wrong)


def test_a_forest_whose_scores_are_not_those_of_its_trees_is_refused(fitted):
    model, X, _ = fitted
    forest = IsolationForest(n_estimators=5, random_state=0).fit(X)
    forest._max_samples = forest._max_samples // 2  # what its scores are divided by
    with pytest.raises(UnsupportedModelError, match="isolation forest: the model's own scores"):
        Explainer(model, X, plausibility=Plausibility(forest))
