"""Answers for one classifier per class, compared with all rows by the model's own predict."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier, OutputCodeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from encoders.core.errors import InputError, UnsupportedModelError
from portfolio import Explainer, Probability
from tests.portfolio.model.test_thresholds import MODELS, SEEDS
from tests.support.whole_grids import check_classes, check_gaps, whole_table, with_gaps

LIMITS = {2: [3], 3: [1, 5]}


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n_classes", LIMITS)
@pytest.mark.parametrize("name", MODELS)
def test_classes_are_those_of_the_largest_number(name, n_classes, seed):
    X, score = whole_table(seed)
    model = OneVsRestClassifier(MODELS[name]()).fit(X, np.digitize(score, LIMITS[n_classes]))
    assert check_classes(model, X, seed, 2) == 2 * (n_classes - 1)


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", LIMITS)
@pytest.mark.parametrize("name", ["forest", "xgboost"])
def test_members_and_owners_may_be_pipelines(name, n_classes):
    X, score = whole_table(4, categories=True)
    y = np.digitize(score, LIMITS[n_classes])
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    inner, outer = make_pipeline(columns, MODELS[name]()), OneVsRestClassifier(MODELS[name]())
    for model in (OneVsRestClassifier(inner), make_pipeline(columns, outer)):
        assert check_classes(model.fit(X, y), X, 4, 2) == 2 * (n_classes - 1)


@pytest.mark.slow
def test_rows_with_gaps_and_thresholds_around_are_answered():
    X, score = whole_table(5)
    y, gaps = (score > 3).astype(int), with_gaps(X, 5)
    model = OneVsRestClassifier(XGBClassifier(n_estimators=4, max_depth=3)).fit(gaps, y)
    assert check_gaps(model, gaps) == 2
    for name in ("forest", "xgboost", "boosting"):
        inner = OneVsRestClassifier(MODELS[name]())
        around = FixedThresholdClassifier(inner, threshold=0.45, response_method="predict_proba")
        assert check_classes(around.fit(X, y), X, 5, 2) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["boosting", "histograms", "adaboost"])
def test_thresholds_of_members_are_ignored(name, seed):
    """Members compare their decision_function, which does not contain the threshold."""
    X, score = whole_table(seed)
    member = TunedThresholdClassifierCV(MODELS[name](), cv=2, random_state=seed)
    model = OneVsRestClassifier(member).fit(X, np.digitize(score, [1, 5]))
    assert check_classes(model, X, seed, 2) == 4


def test_what_has_no_probabilities_or_sums_is_refused():
    X, score = whole_table(5)
    y = np.digitize(score, [1, 5])
    explainer = Explainer(OneVsRestClassifier(MODELS["forest"]()).fit(X, y), X)
    with pytest.raises(InputError, match="no probabilities that follow from its trees exactly"):
        explainer.explain(X.iloc[[0]], target=Probability(0, at_least=0.4))
    for model, words in (
        (OneVsRestClassifier(RandomForestRegressor(3)), "not a supported function of its leaves"),
        (OneVsRestClassifier(MODELS["forest"]()), "several outputs"),
        (OutputCodeClassifier(MODELS["forest"]()), "OutputCodeClassifier cannot be read exactly"),
    ):
        many = words == "several outputs"
        model.fit(X, np.c_[y > 0, y > 1].astype(int) if many else y)
        with pytest.raises(UnsupportedModelError, match=words):
            Explainer(model, X)
    with pytest.raises(UnsupportedModelError, match="is not fitted"):
        Explainer(OneVsRestClassifier(MODELS["forest"]()), X)
