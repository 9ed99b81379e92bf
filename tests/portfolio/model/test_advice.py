"""Refusals whose advice works in the setting that they are about."""

import numpy as np
import pytest
from catboost import CatBoost, CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMModel, LGBMRegressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import PLSRegression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import SGDOneClassSVM
from xgboost import XGBClassifier, XGBModel, XGBRegressor

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import AtLeast, Explainer, HardVotingClassifier, Probability, Score
from tests.support.whole_grids import whole_table

X, SCORE = whole_table(3)
Y = np.where(SCORE > 3, "yes", "no")
BOOSTED = GradientBoostingClassifier(n_estimators=5, max_depth=2)
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0)


def refusal(model, **options):
    with pytest.raises(UnsupportedModelError) as caught:
        Explainer(model, X, **options)
    text = str(caught.value)
    assert text.endswith(".") and "\n" not in text
    return text


def test_several_outputs_are_those_of_the_models_kind():
    quantiles = XGBRegressor(
        objective="reg:quantileerror", quantile_alpha=[0.1, 0.9], n_estimators=2
    ).fit(X, SCORE)
    two = np.c_[SCORE, SCORE]
    for model in (quantiles, XGBRegressor(n_estimators=2).fit(X, two)):
        assert "Fit one regressor per output" in refusal(model.get_booster())
    model = XGBClassifier(n_estimators=2).fit(X, (two > 3).astype(int))
    assert "Fit one classifier per output" in refusal(model.get_booster())


def test_objectives_are_those_that_the_class_takes():
    binary = LGBMRegressor(objective="cross_entropy_lambda", n_estimators=2, verbose=-1)
    text = refusal(binary.fit(X, SCORE > 3))
    assert "quantile" in text and "multiclass" not in text
    text = refusal(LGBMClassifier(objective="cross_entropy_lambda", verbose=-1).fit(X, SCORE > 3))
    assert "binary" in text and "quantile" not in text
    text = refusal(LGBMRegressor(n_estimators=2, reg_sqrt=True, verbose=-1).fit(X, SCORE))
    assert "Train with reg_sqrt=False" in text


def test_calibration_says_what_is_wrong_below_it():
    members = [("one", BOOSTED), ("two", XGBClassifier(n_estimators=2))]
    voting = VotingClassifier(members, voting="soft").fit(X, Y)
    text = refusal(CalibratedClassifierCV(FrozenEstimator(voting)).fit(X, Y))
    assert "Calibrate the members, and combine them with VotingClassifier(voting='soft')" in text
    calibrated = [(name, CalibratedClassifierCV(own, cv=2)) for name, own in members]
    followed = VotingClassifier(calibrated, voting="soft").fit(X, Y)
    assert Explainer(followed, X).explain(X.iloc[[0]]).status == "optimal"
    y = (SCORE > 3).astype(int)
    hinge = XGBClassifier(n_estimators=2, objective="binary:hinge").fit(X, y)
    text = refusal(CalibratedClassifierCV(FrozenEstimator(hinge)).fit(X, y))
    assert "objective='binary:logistic'" in text
    cat = CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False).fit(X, y)
    cat.set_probability_threshold(0.7)
    text = refusal(CalibratedClassifierCV(FrozenEstimator(cat)).fit(X, y))
    assert "a probability threshold of 0.5" in text


def test_targets_that_are_named_are_those_that_the_classifier_takes():
    three = np.digitize(SCORE, [1, 5])
    explainers = {
        "votes": Explainer(HardVotingClassifier(FOREST).fit(X, three), X),
        "two votes": Explainer(HardVotingClassifier(FOREST).fit(X, Y), X),
        "shares": Explainer(RandomForestClassifier(3, max_depth=3).fit(X, three), X),
    }
    known = {"AtLeast": AtLeast(1), "Probability": Probability, "Score": Score(low=1)}
    for name, explainer in explainers.items():
        known["Probability"] = Probability(explainer.classes[0], at_least=0.3)
        refused = {}
        for kind, target in known.items():
            try:
                explainer.explain(X.iloc[[0]], target=target)
            except InputError as error:
                refused[kind] = str(error)
        assert "AtLeast" in refused, name
        for text in refused.values():
            named = text.partition("Use ")[2]
            assert not [kind for kind in refused if f"{kind}(" in named], (name, text)
            assert "margin" in named


class RandomForest:
    """Model of a library that is not supported."""

    def predict(self, rows):
        return rows


class GradientBoostedTreesRegressor(RandomForest):
    pass


@pytest.mark.parametrize(
    ("kind", "nearest"),
    [
        (RandomForest, "RandomForestClassifier of sklearn"),
        (GradientBoostedTreesRegressor, "GradientBoostingRegressor of sklearn"),
        (LGBMModel, "LGBMClassifier of lightgbm"),
        (CatBoost, "CatBoostClassifier of catboost"),
        (XGBModel, "XGB"),
        (KernelRidge, "Ridge of sklearn"),
        (SGDOneClassSVM, "Use IsolationForest of sklearn"),
        (PLSRegression, "Use LinearRegression of sklearn"),
    ],
)
def test_the_nearest_model_is_named(kind, nearest):
    text = refusal(kind())
    assert nearest in text
    assert text.endswith(", or another model that `counterfolio models` lists.")


@pytest.mark.parametrize("model", ["a text", {}, KMeans()], ids=str)
def test_what_is_near_no_model_is_refused_with_all_of_them(model):
    text = refusal(model)
    assert "Use scikit-learn's trees, forests and gradient boosting" in text
