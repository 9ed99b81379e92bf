"""Pipelines and searches within calibration, voting, bagging and each other, by brute force."""

import warnings

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from encoders.core.errors import InputError, ModelChangedError, UnsupportedModelError
from portfolio import Explainer
from tests.support.whole_grids import (
    TOP,
    check_classes,
    check_gaps,
    check_predictions,
    compare,
    costs,
    every_row,
    whole_table,
    with_gaps,
)
from tests.support.wrapped_models import classifier, regressor


def classify(seed, queries):
    rng = np.random.default_rng(seed)
    categories = bool(rng.random() < 0.5)
    X, score = whole_table(seed, categories=categories)
    y = np.where(score > 3, "yes", "no") if rng.random() < 0.3 else (score > 3).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _, model = classifier(rng, X, y, categories)
        except (TypeError, ValueError) as error:
            if "parse" in str(error):
                pytest.skip("scikit-learn does not fit this model on a sparse table")
            y = (score > 3).astype(int)  # XGBoost does not accept text as classes
            _, model = classifier(rng, X, y, categories)
    return check_classes(model, X, seed, queries)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_members_with_steps_are_read_as_they_predict(seed):
    assert classify(seed, 2) == 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_regressors_with_steps_are_read_as_they_predict(seed):
    rng = np.random.default_rng(seed)
    categories = bool(seed % 2)
    X, score = whole_table(seed, categories=categories)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = regressor(rng, X, score, categories)
    assert check_predictions(model, X, seed, 1) == 4


@pytest.mark.large
@pytest.mark.parametrize("seed", range(100, 700))
def test_many_more_members_with_steps(seed):
    classify(seed, 3)


def forest():
    return RandomForestClassifier(3, max_depth=3, random_state=0)


def test_a_search_that_keeps_no_model_is_refused():
    X, score = whole_table(1)
    search = GridSearchCV(forest(), {"max_depth": [2]}, cv=2, refit=False).fit(X, score > 3)
    with pytest.raises(UnsupportedModelError, match=r"refit=False .* Fit it with refit=True"):
        Explainer(search, X)
    with pytest.raises(UnsupportedModelError, match="this GridSearchCV is not fitted"):
        Explainer(GridSearchCV(forest(), {}), X)


def test_a_search_that_is_fitted_again_is_noticed():
    X, score = whole_table(1)
    search = GridSearchCV(forest(), {"max_depth": [2]}, cv=2).fit(X, score > 3)
    voting = VotingClassifier([("one", make_pipeline(StandardScaler(), search))]).fit(X, score > 3)
    first, second = Explainer(search, X), Explainer(voting, X)
    search.fit(X, score > 1)
    with pytest.raises(ModelChangedError):
        first.explain(X.iloc[[0]])
    voting.estimators_[0][-1].fit(StandardScaler().fit_transform(X), score > 1)
    with pytest.raises(ModelChangedError):
        second.explain(X.iloc[[0]])


def cubed(values):
    return values**3


@pytest.mark.parametrize("owner", ["voting", "calibrated", "bagging"])
def test_steps_of_members_are_named_as_get_params_does(owner):
    X, score = whole_table(3)
    member = make_pipeline(FunctionTransformer(cubed), DecisionTreeClassifier(max_depth=3))
    model, name = {
        "voting": (VotingClassifier([("one", member)], voting="soft"), "one"),
        "calibrated": (CalibratedClassifierCV(member, cv=2), "estimator"),
        "bagging": (BaggingClassifier(member, 2, random_state=0), "estimator"),
    }[owner]
    model.fit(X, score > 3)
    step = f"{name}__functiontransformer"
    assert step in model.get_params()
    with pytest.raises(UnsupportedModelError, match=f"step '{step}' of the pipeline"):
        Explainer(model, X)
    explainer = Explainer(model, X, steps={step: "monotone"})
    assert check_classes(model, X, 0, explainer=explainer) == 3
    with pytest.raises(InputError, match="the pipeline has no step 'functiontransformer'"):
        Explainer(model, X, steps={"functiontransformer": "monotone"})


def test_a_step_that_mixes_columns_within_a_member_is_refused():
    from sklearn.decomposition import PCA

    X, score = whole_table(3)
    member = make_pipeline(PCA(2), forest())
    model = CalibratedClassifierCV(FrozenEstimator(member.fit(X, score > 3))).fit(X, score > 3)
    with pytest.raises(UnsupportedModelError, match=r"step 'estimator__.*pca' .* mixes columns"):
        Explainer(model, X)


def test_pipelines_of_imbalanced_learn_predict_without_their_samplers():
    pytest.importorskip("imblearn")
    from imblearn.ensemble import BalancedBaggingClassifier, EasyEnsembleClassifier
    from imblearn.over_sampling import RandomOverSampler
    from imblearn.pipeline import make_pipeline as with_samplers

    X, score = whole_table(5)
    y = (score > 5).astype(int)
    tree = DecisionTreeClassifier(max_depth=3)
    tried = 0
    for model in (
        with_samplers(StandardScaler(), RandomOverSampler(random_state=0), forest()),
        BalancedBaggingClassifier(tree, n_estimators=3, random_state=0),
        EasyEnsembleClassifier(2, random_state=0),
    ):
        if isinstance(model, EasyEnsembleClassifier):
            model.set_params(estimator=tree)
        tried += check_classes(model.fit(X, y), X, 1, 2)
    assert tried == 6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_missing_value_goes_where_each_member_sends_it(seed):
    X, score = whole_table(seed)
    X, y = with_gaps(X, seed), (score > 3).astype(int)
    boosted = GradientBoostingClassifier(n_estimators=3, max_depth=2)
    stumps = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3)
    filled = make_pipeline(SimpleImputer(), [boosted, stumps, forest(), boosted][seed])
    marked = make_pipeline(SimpleImputer(add_indicator=True), forest())
    raw = HistGradientBoostingClassifier(max_iter=3, max_depth=3)
    members = [("filled", filled), ("marked", marked), ("raw", raw)]
    model = VotingClassifier(members, voting="soft").fit(X, y)
    assert check_gaps(model, X) == 2


def test_a_missing_value_that_gets_to_a_member_without_a_way_is_refused():
    X, score = whole_table(5)
    boosted = GradientBoostingClassifier(n_estimators=3)
    for model in (
        make_pipeline(StandardScaler(), boosted),
        VotingClassifier([("one", make_pipeline(SimpleImputer(), forest())), ("two", boosted)]),
    ):
        with pytest.raises(InputError, match=r"rejects rows of X_train .* SimpleImputer"):
            Explainer(model.fit(X, score > 3), with_gaps(X, 1))


@pytest.mark.slow
@pytest.mark.parametrize("library", ["lightgbm", "histograms", "xgboost"])
def test_native_categories_beside_an_encoder(library):
    X, score = whole_table(9, categories=True)
    X, y = X.assign(kind=pd.Categorical(X["kind"])), (score > 3).astype(int)
    native = {
        "lightgbm": LGBMClassifier(
            n_estimators=3, num_leaves=5, min_data_per_group=1, cat_smooth=1, verbose=-1
        ),
        "histograms": HistGradientBoostingClassifier(
            max_iter=3, max_depth=3, categorical_features="from_dtype"
        ),
        "xgboost": XGBClassifier(n_estimators=3, max_depth=3, enable_categorical=True),
    }[library]
    encoder = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    members = [("native", native), ("encoded", make_pipeline(encoder, forest()))]
    model = VotingClassifier(members, voting="soft").fit(X, y)
    assert check_classes(model, X, 1, 2) == 2
    model = CalibratedClassifierCV(make_pipeline(FunctionTransformer(), native), cv=2).fit(X, y)
    assert check_classes(model, X, 1, 2) == 2


def test_a_model_with_steps_within_goes_with_others_and_without_rows():
    X, score = whole_table(4)
    y = (score > 3).astype(int)
    first = CalibratedClassifierCV(make_pipeline(StandardScaler(), forest()), cv=2).fit(X, y)
    second = GridSearchCV(make_pipeline(MinMaxScaler(), forest()), {"memory": [None]}, cv=2)
    second.fit(X, score > 2)
    second.best_estimator_[-1].classes_ = np.array([0, 1])
    rows = every_row(X)
    both = first.predict(rows) + second.predict(rows) == 2
    query = X.iloc[[int(np.argmin(score))]]
    result = Explainer(first, X, also=[second]).explain(query, target=1)
    compare(result, costs(rows, query.iloc[0])[both].min())
    whole = {name: {"kind": "ordinal", "bounds": [0, TOP]} for name in X}
    assert check_classes(first, X, 1, explainer=Explainer(first, features=whole)) == 3


@pytest.mark.slow
def test_text_is_encoded_by_each_member_for_itself():
    X, score = whole_table(7, categories=True)
    y = (score > 3).astype(int)
    encoders = [
        OneHotEncoder(handle_unknown="ignore"),
        OneHotEncoder(min_frequency=45, handle_unknown="infrequent_if_exist"),
        OrdinalEncoder(),
    ]
    remainders = ["passthrough", "drop", StandardScaler()]
    members = [
        (str(at), make_pipeline(make_column_transformer((own, ["kind"]), remainder=rest), forest()))
        for at, (own, rest) in enumerate(zip(encoders, remainders, strict=True))
    ]
    assert check_classes(VotingClassifier(members, voting="soft").fit(X, y), X, 2) == 3
