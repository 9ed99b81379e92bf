"""Native categories behind steps: the optimum over raw rows is that of the pipeline."""

import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from portfolio import Explainer, UnsupportedModelError
from tests.support.pipelines import check, loans

MODELS = {
    "xgboost": lambda **more: XGBClassifier(
        n_estimators=4, max_depth=3, enable_categorical=True, max_cat_to_onehot=1, **more
    ),
    "lightgbm": lambda: LGBMClassifier(
        n_estimators=4, max_depth=3, verbose=-1, min_child_samples=5, min_data_per_group=5,
        cat_smooth=1, max_cat_to_onehot=1,
    ),
    "histograms": lambda **more: HistGradientBoostingClassifier(
        max_iter=4, max_depth=3, min_samples_leaf=5, **more
    ),
}  # fmt: skip


def scaled():
    """Numbers are scaled, categories kept as the frame has them."""
    steps = make_column_transformer((StandardScaler(), ["age", "income"]), remainder="passthrough")
    return steps.set_output(transform="pandas")


def encoded():
    """Text becomes codes, which are declared to the model as categories."""
    return make_column_transformer((OrdinalEncoder(), ["job"]), remainder="passthrough")


def as_categories(X):
    return X.assign(job=pd.Categorical(X.job, categories=["smith", "cook", "pilot", "nurse"]))


@pytest.mark.slow
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("gaps", [False, True], ids=["whole", "gaps"])
def test_category_columns_are_followed_through_steps_that_keep_them(kind, gaps):
    X, y = loans(21, gaps)
    own = {"categorical_features": "from_dtype"} if kind == "histograms" else {}
    model = make_pipeline(scaled(), MODELS[kind](**own))
    assert check(model, as_categories(X), y, 21) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", [22, 23])
def test_codes_of_an_encoder_are_categories_where_the_model_takes_them_so(seed):
    X, y = loans(seed, gaps=seed == 23)
    X = X.assign(owns=X.owns.astype(int))
    histograms = MODELS["histograms"](categorical_features=[0])
    xgboost = MODELS["xgboost"](feature_types=["c", "q", "q", "q"])
    fit = {"lgbmclassifier__categorical_feature": [0]}
    assert check(make_pipeline(encoded(), histograms), X, y, seed, 2) >= 1
    assert check(make_pipeline(encoded(), xgboost), X, y, seed, 2) >= 1
    assert check(make_pipeline(encoded(), MODELS["lightgbm"]()), X, y, seed, 2, fit=fit) >= 1


@pytest.mark.slow
def test_members_behind_steps_have_codes_of_their_own():
    X, y = loans(26, gaps=False)
    own = {"categorical_features": "from_dtype"}
    members = [("histograms", MODELS["histograms"](**own)), ("xgboost", MODELS["xgboost"]())]
    steps = make_column_transformer((StandardScaler(), ["age"]), remainder="passthrough")
    model = make_pipeline(steps.set_output(transform="pandas"), VotingClassifier(members))
    assert check(model, as_categories(X.drop(columns="income")), y, 26, 1) == 1


def test_numbers_that_a_model_takes_for_categories_count_one_by_one():
    X, y = loans(24)
    X = X.drop(columns=["job"]).assign(age=X.age // 10 * 10, owns=X.owns.astype(int))
    model = make_pipeline("passthrough", MODELS["histograms"](categorical_features=[0]))
    assert check(model, X, y, 24, by_value=["age"]) >= 2


def test_bins_of_scaled_numbers_as_categories_are_refused_with_a_remedy():
    X, y = loans(25, gaps=False)
    scaled = make_pipeline(StandardScaler(), KBinsDiscretizer(5, encode="ordinal"))
    bins = make_column_transformer((scaled, ["income"]))
    model = make_pipeline(bins, MODELS["histograms"](categorical_features=[0])).fit(X, y)
    with pytest.raises(UnsupportedModelError, match=r"reads bins of 'income' as categories\. Let"):
        Explainer(model, X)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [27, 28])
@pytest.mark.parametrize("unknown", ["error", "ignore"])
def test_declared_categories_without_rows_do_not_prevent_reading(seed, unknown):
    X, y = loans(seed, gaps=seed == 28)
    declared = ["smith", "cook", "pilot", "nurse", "smith*", "farmer"]
    X = X.assign(job=pd.Categorical(X.job, categories=declared)).drop(columns="income")
    jobs = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown=unknown)
    )
    steps = make_column_transformer((jobs, ["job"]), remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=5))
    assert check(model, X, y, seed) >= 2
