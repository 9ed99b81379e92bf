"""Models that the checker reads, and those that it refuses."""

import json
from dataclasses import replace

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from counterfolio import Explainer
from encoders.trees.tree_nodes import TreeNodes
from portfolio.checker import FURTHEST, RejectedError, check, read
from portfolio.engine.witness import Witnesses
from portfolio.model import explained_model
from tests.support.claims import claimed, column, xgboost_of

REACHABLE = TreeNodes.reachable


def test_a_bias_below_the_rounding_of_the_first_leaf_breaks_ties():
    trees = [(0, 1000.0, 2.0**17, 0.0), (1, 0.0, 0.0, -1.0)]
    model = xgboost_of(trees, 2)
    assert model.predict([[2000.0, -1.0]]) == 1
    with pytest.raises(RejectedError, match="does not hold"):
        check(claimed(model, [2000.0, 1.0], [column(lower=1500), column()]), model)


def test_a_threshold_that_is_no_number_is_not_read():
    model = xgboost_of([(0, float("nan"), -1.0, 1.0), (1, 0.0, -0.5, 0.5)], 2)
    assert model.predict([[0.0, 0.0]]) == 1
    with pytest.raises(RejectedError, match="threshold"):
        read(model)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_numbers_that_float32_rounds_to_its_largest_go_where_it_goes():
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [1, 0])
    state = tree.tree_.__getstate__()
    state["nodes"]["threshold"][0] = 1e39
    tree.tree_.__setstate__(state)
    beyond = 3.4028235e38
    assert tree.predict([[beyond]]) == 1
    record = claimed(tree, [0.0], [column(values=[beyond], upper=FURTHEST, stay=False)])
    with pytest.raises(RejectedError, match="does not hold"):
        check(record, tree)


def test_a_class_of_the_same_name_is_another_model():
    class RandomForestClassifier(DecisionTreeClassifier):
        pass

    with pytest.raises(RejectedError, match="are not supported by this checker"):
        read(RandomForestClassifier().fit([[0.0], [1.0]], [1, 0]))


TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
DEPTHS = {"max_depth": [1, 3]}
WRAPPERS = {
    "search": lambda: GridSearchCV(TREE, DEPTHS, cv=2),
    "random search": lambda: RandomizedSearchCV(
        XGBClassifier(n_estimators=3), DEPTHS, n_iter=2, cv=2
    ),
    "labels": lambda: SelfTrainingClassifier(GridSearchCV(TREE, DEPTHS, cv=2)),
}


@pytest.mark.parametrize("name", WRAPPERS)
def test_models_inside_wrappers_are_checked(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)).round(1)
    y = (X.sum(axis=1) > 0).astype(int)
    y[:9] = -1 if name == "labels" else y[:9]  # without a label
    wrapper = WRAPPERS[name]().fit(X, y)
    for model in (wrapper, FrozenEstimator(wrapper)):
        record = Explainer(model, X).explain(X[20]).record()
        assert record.check(model).startswith("verified: no admissible row cheaper than")
        other = WRAPPERS[name]().fit(X + 1, y)
        with pytest.raises(RejectedError, match="trees of another model"):
            record.check(other)


def test_a_wrapper_that_predicts_by_itself_is_refused():
    class OwnSearchCV(GridSearchCV):
        def predict(self, X):
            return 1 - super().predict(X)

    X = np.random.default_rng(0).normal(size=(60, 2)).round(1)
    y = (X[:, 0] > 0).astype(int)
    plain, own = (kind(TREE, DEPTHS, cv=2).fit(X, y) for kind in (GridSearchCV, OwnSearchCV))
    record = Explainer(plain, X).explain(X[0]).record()
    assert record.check(plain)
    with pytest.raises(RejectedError, match="are not supported by this checker"):
        record.check(own)


def test_trees_with_several_scores_in_a_leaf_are_not_read():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = XGBClassifier(n_estimators=3, multi_strategy="multi_output_tree").fit(X, y)
    with pytest.raises(RejectedError, match=r"this kind of XGBoost model .* is not supported"):
        read(model)


@pytest.mark.parametrize("margin", [1e5, 1e300])
def test_a_lead_that_no_row_can_have_is_out_of_reach(margin):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)).round(1)
    model = XGBClassifier(n_estimators=5, max_depth=2).fit(X, X.sum(axis=1) > 0)
    result = Explainer(model, X).explain(X[0], margin=margin)
    assert result.status == "infeasible"
    record = result.record().to_dict()
    assert check(record, model).startswith("verified: no admissible row is predicted")
    with pytest.raises(RejectedError):  # the same claim of a lead that rows do have
        check(record | {"question": record["question"] | {"lead": 0.0}}, model)


@pytest.mark.parametrize(
    "options", [{"booster": "dart", "rate_drop": 0.5}, {"booster": "gblinear"}]
)
def test_other_boosters_are_refused_in_a_sentence(options):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = XGBClassifier(n_estimators=9, random_state=0, **options).fit(X, y)
    with pytest.raises(RejectedError, match=r"this kind of XGBoost model .* is not supported"):
        read(model)


def _orphans_as_leaves(nodes, n_columns, source):
    """A reading fault on purpose: pruned nodes, which XGBoost keeps, count as leaves."""
    read, every = REACHABLE(nodes, n_columns, source), np.flatnonzero(nodes.left < 0)
    score, leaves = read.score.copy(), np.flatnonzero(read.left < 0)
    score[leaves] = nodes.score[every[: leaves.size]]
    return replace(read, score=score)


def test_a_wrong_infeasible_by_orphan_leaves_is_found(monkeypatch):
    monkeypatch.setattr(Witnesses, "find", lambda *_: None)  # what would have shown it
    monkeypatch.setattr(explained_model, "check_against_model", lambda *_: None)  # as would this
    wrong = 0
    for seed in (3, 29, 30, 31):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(300, 3))
        y = (X[:, 0] + 0.7 * rng.normal(size=300) > 1.6).astype(int)
        model = XGBClassifier(
            n_estimators=3, max_depth=4, gamma=1, tree_method="exact", n_jobs=1
        ).fit(X, y)
        row = X[model.predict(X) == 0][0]
        assert Explainer(model, X).explain(row).status == "optimal"
        with monkeypatch.context() as fault:
            fault.setattr(TreeNodes, "reachable", _orphans_as_leaves)
            result = Explainer(model, X).explain(row)
        if result.status == "infeasible":
            wrong += 1
            with pytest.raises(RejectedError, match="does not hold"):
                check(json.loads(result.record().to_json()), model)
    assert wrong
