"""Outputs that the table of readable models calls exact are accepted as targets, and reached."""

import warnings

import numpy as np
import pytest
from catboost import CatBoostClassifier, CatBoostRegressor
from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from quantile_forest import RandomForestQuantileRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from xgboost import XGBClassifier, XGBRegressor

from encoders.readers.readable import OPTBINNING, READABLE, SURVIVAL
from portfolio import AtLeast, Explainer, HardVotingClassifier, Probability, Score
from tests.support.whole_grids import whole_table

X, SCORE = whole_table(2)
Y = (SCORE > 3).astype(int)
QUIET = {"iterations": 3, "depth": 2, "verbose": 0, "allow_writing_files": False}
FEW = {"n_estimators": 4, "max_depth": 2}
BINS = {"encode": "onehot-dense", "strategy": "uniform"}


def tree():
    return DecisionTreeClassifier(max_depth=3, random_state=0)


def regression_tree():
    return DecisionTreeRegressor(max_depth=3, random_state=0)


def binned(last):
    return make_pipeline(KBinsDiscretizer(3, **BINS), last)


# A model of at least one class of each entry.
MODELS = {
    "RandomForestClassifier": RandomForestClassifier(**FEW),
    "GradientBoostingClassifier": GradientBoostingClassifier(**FEW),
    "RandomForestRegressor": RandomForestRegressor(**FEW),
    "BaggingClassifier": BaggingClassifier(tree(), n_estimators=3),
    "VotingClassifier": VotingClassifier([("one", tree()), ("two", tree())], voting="soft"),
    "AdaBoostClassifier": AdaBoostClassifier(tree(), n_estimators=3),
    "AdaBoostRegressor": AdaBoostRegressor(regression_tree(), n_estimators=3),
    "BaggingRegressor": BaggingRegressor(regression_tree(), n_estimators=3),
    "TransformedTargetRegressor": TransformedTargetRegressor(
        regression_tree(), func=np.cbrt, inverse_func=lambda y: y**3
    ),
    "CalibratedClassifierCV": CalibratedClassifierCV(tree(), cv=2),
    "LogisticRegression": binned(LogisticRegression()),
    "RidgeClassifier": binned(RidgeClassifier()),
    "Ridge": binned(Ridge()),
    "OneVsRestClassifier": OneVsRestClassifier(tree()),
    "StackingClassifier": StackingClassifier([("one", tree())], LogisticRegression(), cv=2),
    "StackingRegressor": StackingRegressor([("one", regression_tree())], Ridge(), cv=2),
    "FixedThresholdClassifier": FixedThresholdClassifier(tree(), threshold=0.3),
    "GridSearchCV": GridSearchCV(tree(), {"max_depth": [2]}, cv=2),
    "IsolationForest": IsolationForest(n_estimators=3, random_state=0),
    "XGBClassifier": XGBClassifier(**FEW),
    "XGBRegressor": XGBRegressor(**FEW),
    "LGBMClassifier": LGBMClassifier(verbose=-1, **FEW),
    "LGBMRegressor": LGBMRegressor(verbose=-1, **FEW),
    "CatBoostClassifier": CatBoostClassifier(**QUIET),
    "CatBoostRegressor": CatBoostRegressor(**QUIET),
    "RandomForestQuantileRegressor": RandomForestQuantileRegressor(**FEW),
    "ExplainableBoostingClassifier": ExplainableBoostingClassifier(
        interactions=0, outer_bags=1, max_rounds=20, n_jobs=1
    ),
    "ExplainableBoostingRegressor": ExplainableBoostingRegressor(
        interactions=0, outer_bags=1, max_rounds=20, n_jobs=1
    ),
    "HardVotingClassifier": HardVotingClassifier.from_fitted(RandomForestClassifier(3).fit(X, Y)),
}
SCORES = ("raw score", "decision_function", "Score", "votes", "numbers of the estimator")
WITHOUT_PROBABILITY = ("RidgeClassifier", "StackingClassifier", "HardVotingClassifier")


def test_each_entry_has_an_example():
    # Those with other labels are tried in their own tests.
    single = [
        each
        for each in READABLE
        if each.group != "several outputs" and each.library not in (OPTBINNING, SURVIVAL)
    ]
    assert all(any(kind in MODELS for kind in each.kinds) for each in single)


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
def test_exact_outputs_are_reached(kind):
    (entry,) = (each for each in READABLE if kind in each.kinds)
    exact, model = entry.exact, MODELS[kind]
    regression = kind.endswith("Regressor") or kind == "Ridge"
    if kind != "HardVotingClassifier":
        model.fit(X, SCORE if regression else Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        explainer = Explainer(model, X)
        if regression:
            check_limit(explainer, AtLeast)
            assert "prediction" in exact
            return
        assert exact.startswith(("class", "as the wrapped"))
        if any(each in exact for each in SCORES):
            check_limit(explainer, Score)
        numbers = "probability" in exact or "numbers of the estimator" in exact
        if numbers and kind not in WITHOUT_PROBABILITY:
            check_limit(explainer, lambda least: Probability(1, at_least=least), lowest=0.0)


def check_limit(explainer, limit, lowest=-1e9):
    """Reach the largest number of some rows from the row with the least one."""
    rows = X.head(12)
    batch = explainer.explain_batch(rows, target=limit(lowest))
    least, largest = int(batch["score_before"].argmin()), float(batch["score_before"].max())
    result = explainer.explain(rows.iloc[[least]], target=limit(largest))
    assert result.status == "optimal" and result.score >= largest > result.score_before
