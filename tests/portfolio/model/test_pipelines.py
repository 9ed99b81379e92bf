"""Pipelines: the optimum over raw rows is that of the pipeline's own predict."""

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from xgboost import XGBClassifier

from portfolio import Explainer, Fixed, InputError, UnsupportedModelError
from portfolio.api.variants import asker_of
from tests.support.pipelines import N, check, loans

TINY = (float(np.float32(1e-35)), -float(np.float32(1e-35)))  # what LightGBM takes for 0

NUMBERS = {
    "standard": StandardScaler,
    "min-max": lambda: MinMaxScaler((-3, 7)),
    "robust": RobustScaler,
    "max-abs": MaxAbsScaler,
    "power": PowerTransformer,
    "quantile": lambda: QuantileTransformer(n_quantiles=40),
    "normal quantile": lambda: QuantileTransformer(n_quantiles=40, output_distribution="normal"),
    "bins": lambda: KBinsDiscretizer(6, encode="onehot"),
    "dense bins": lambda: KBinsDiscretizer(4, encode="onehot-dense", strategy="uniform"),
    "ordinal bins": lambda: KBinsDiscretizer(7, encode="ordinal", strategy="uniform"),
    "binary": lambda: Binarizer(threshold=2500),
    "log": lambda: FunctionTransformer(np.log1p),
    "falling": lambda: FunctionTransformer(np.negative),
    "several": lambda: make_union(
        StandardScaler(), make_pipeline(FunctionTransformer(np.sqrt), MinMaxScaler()), "passthrough"
    ),
    "as it is": lambda: "passthrough",
    "power bins": lambda: make_pipeline(PowerTransformer(), KBinsDiscretizer(5)),
    "quantile bins": lambda: make_pipeline(
        QuantileTransformer(n_quantiles=40), KBinsDiscretizer(4, encode="onehot-dense")
    ),
}
CATEGORIES = {
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore"),
    "first dropped": lambda: OneHotEncoder(drop="first", sparse_output=False),
    "infrequent": lambda: OneHotEncoder(min_frequency=35, handle_unknown="infrequent_if_exist"),
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "target": lambda: TargetEncoder(random_state=0),
}
MODELS = {
    "forest": lambda: RandomForestClassifier(4, max_depth=4, random_state=0),
    "xgboost": lambda: XGBClassifier(n_estimators=4, max_depth=3),
    "lightgbm": lambda: LGBMClassifier(
        n_estimators=4, max_depth=3, verbose=-1, min_child_samples=5
    ),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=4, max_depth=3, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=4, max_depth=3),
}


def pipeline(number, category, model, impute=True):
    fill = [SimpleImputer(strategy="median", add_indicator=number == "standard")] if impute else []
    step = NUMBERS[number]()
    numbers = make_pipeline(*fill, step) if fill or step != "passthrough" else "passthrough"
    encoder = make_pipeline(SimpleImputer(strategy="most_frequent"), CATEGORIES[category]())
    columns = ColumnTransformer(
        [("amounts", numbers, ["income"]), ("jobs", encoder, ["job"])],
        remainder="passthrough", sparse_threshold=0.0 if model == "histograms" else 0.9,
    )  # fmt: skip
    return make_pipeline(columns, MODELS[model]())


@pytest.mark.slow
@pytest.mark.parametrize("number", NUMBERS)
def test_numbers_are_followed_through_their_steps(number):
    X, y = loans(3)
    model = list(MODELS)[list(NUMBERS).index(number) % len(MODELS)]
    impute = number != "as it is" or model == "boosting"
    assert check(pipeline(number, "one-hot", model, impute), X, y, 3) >= 2


@pytest.mark.parametrize("number", ["standard", "power", "falling", "quantile", "bins"])
def test_splits_are_the_last_floats_before_the_steps_exceed_a_threshold(number):
    X, y = loans(3)
    model = pipeline(number, "one-hot", "forest").fit(X, y)
    ensemble = asker_of(Explainer(model, X)).model.views[0].ensemble
    column = X.columns.get_loc("income")
    trees = [tree.tree_ for tree in model[-1].estimators_]
    inputs = range(model[0].output_indices_["amounts"].stop - (number == "standard"))
    threshold = np.concatenate([tree.threshold for tree in trees])
    tested = np.concatenate([tree.feature for tree in trees])
    nodes = np.flatnonzero(np.isin(tested, inputs))
    ends = ensemble.last_left[nodes]
    if number == "bins":
        edges = ensemble.sets.edges[column]
        known = model[0].named_transformers_["amounts"][-1].bin_edges_[0][1:-1]
        assert np.array_equal(edges, np.nextafter(known, -np.inf))
        return
    assert (ensemble.column[nodes] == column).all() and nodes.size > 5
    rows = X.iloc[np.zeros(nodes.size, dtype=int)]
    for values, before in ((ends, True), (np.nextafter(ends, np.inf), False)):
        outputs = np.asarray(model[:-1].transform(rows.assign(income=values)).todense())
        numbers = outputs[np.arange(nodes.size), tested[nodes]].astype(np.float32)
        assert ((numbers <= threshold[nodes]) == (before != (number == "falling"))).all()


@pytest.mark.slow
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("model", ["forest", "xgboost"])
def test_categories_are_followed_through_their_encoder(category, model):
    X, y = loans(5)
    assert check(pipeline("standard", category, model), X, y, 5) >= 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "last", "more"),
    [
        ("falling", LGBMClassifier(zero_as_missing=True, n_estimators=2, verbose=-1), TINY),
        ("as it is", XGBClassifier(missing=0.0, n_estimators=2, max_depth=3, n_jobs=1), (0.0,)),
        ("min-max", XGBClassifier(missing=7.0, n_estimators=2, max_depth=3, n_jobs=1), (7.0,)),
    ],
)
def test_numbers_that_count_as_missing_are_pulled_back(step, last, more):
    X, y = loans(4)
    X = X.drop(columns="age")
    X["income"] = X.income.where(np.arange(N) % 3 != 0, 0.0) - 500.0 * (step == "falling")
    X.loc[::5, "income"] = 0.0 if step != "min-max" else X.income.max()
    made = pipeline(step, "one-hot", "lightgbm", step != "as it is")
    features = {"income": {"missing_codes": []}}  # 0 is a number like the others
    assert check(make_pipeline(made[0], last), X, y, 4, 2, more=more, features=features) == 2


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
def test_an_array_of_numbers_is_answered_by_one(dtype):
    """A function of numpy does not take objects."""
    X = np.random.default_rng(0).integers(0, 90, (N, 2)).astype(dtype)
    model = make_pipeline(FunctionTransformer(np.cbrt), RandomForestClassifier(5, random_state=0))
    model.fit(X, X[:, 0] > 40)
    explainer = Explainer(model, X)
    for query in (X[3], X[3:4]):
        answer = explainer.explain(query).counterfactual
        assert answer.dtype == dtype and answer.shape == (2,)
        assert model.predict([answer]) != model.predict(X[3:4])
    assert explainer.explain(X[3].tolist()).counterfactual.dtype.kind == np.dtype(dtype).kind


def test_an_array_of_numbers_that_becomes_text_is_one_of_objects():
    X = loans(3)[0][["age", "job"]].astype(object)
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(X, X.job.isna())
    query = np.array([X.age.iloc[0], np.nan])
    answer = Explainer(model, X).explain(query, constraints=[Fixed("age")]).counterfactual
    assert answer.dtype == object and answer[1] in set(X.job.dropna())


@pytest.mark.large
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("category", CATEGORIES)
@pytest.mark.parametrize("model", MODELS)
def test_all_together(number, category, model):
    for seed in range(4):
        X, y = loans(seed, gaps=seed % 2 == 0)
        impute = seed < 2 or model in ("boosting", "forest")  # sparse, they take none missing
        impute |= "bin" in number  # nor do bins
        check(pipeline(number, category, model, impute), X, y, seed)


def test_selection_unions_and_selectors_are_followed():
    X, y = loans(8)
    numbers = make_pipeline(SimpleImputer(), make_union(StandardScaler(), PowerTransformer()))
    model = Pipeline(
        [
            ("columns", make_column_transformer(
                (numbers, make_column_selector(dtype_include=np.number)),
                (OneHotEncoder(sparse_output=False), [2]),
                ("passthrough", lambda frame: ["owns"]),
            )),
            ("varies", VarianceThreshold()),
            ("best", SelectKBest(k=6)),
            ("model", RandomForestClassifier(4, max_depth=4, random_state=1)),
        ]
    )  # fmt: skip
    assert check(model, X, y, 8) >= 2


@pytest.mark.slow
def test_gaps_are_told_by_an_indicator():
    X, y = loans(9)
    both = FeatureUnion([("fill", SimpleImputer()), ("gap", MissingIndicator())])
    columns = make_column_transformer(
        (both, ["income"]), (OrdinalEncoder(), ["job"]), remainder="drop"
    )
    model = make_pipeline(columns, RandomForestClassifier(5, max_depth=4, random_state=2))
    assert check(model, X, y, 9) >= 2


@pytest.mark.slow
def test_frames_between_steps_change_nothing():
    X, y = loans(10)
    model = pipeline("standard", "first dropped", "lightgbm").set_output(transform="pandas")
    assert check(model, X, y, 10) >= 2


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (PCA(1), "step 'columntransformer__amounts' of the pipeline, PCA, .*: it mixes columns"),
        (PolynomialFeatures(), "PolynomialFeatures.*mixes columns"),
        (Normalizer(), "Normalizer.*scale each column separately"),
        (KNNImputer(), "KNNImputer.*use SimpleImputer"),
        (SplineTransformer(), "SplineTransformer.*leave it out"),
        (
            FunctionTransformer(np.sin),
            "FunctionTransformer, calls sin, which is not a known function",
        ),
        (FunctionTransformer(abs), "FunctionTransformer, calls abs"),
        (SimpleImputer(missing_values=20), "SimpleImputer, replaces the number 20"),
    ],
)
def test_a_step_that_cannot_be_followed_is_named_with_a_remedy(step, words):
    X, y = loans(1, gaps=False)
    columns = ColumnTransformer([("amounts", step, ["age", "income"])])
    model = make_pipeline(columns, RandomForestClassifier(3, random_state=0)).fit(X, y)
    with pytest.raises(UnsupportedModelError, match=words):
        Explainer(model, X)


def test_what_a_pipeline_was_not_made_for_is_told():
    X, y = loans(2, gaps=False)
    model = pipeline("log", "first dropped", "forest").fit(X, y)
    explainer = Explainer(model, X)
    row = X.iloc[0].to_dict()
    for change, words in (
        ({"job": "baker"}, "job is 'baker', which is not one of its categories"),
        ({"income": -5.0}, "income is -5, outside the range in which the pipeline"),
        ({"income": None}, "income is missing"),
    ):
        with pytest.raises(InputError, match=words):
            explainer.explain(row | change)
    with pytest.raises(InputError, match="bounds -10 and 10 exceed"):
        Explainer(model, X, features={"income": {"bounds": [-10, 10]}})


def sparse():
    """Steps that end in a sparse matrix, in which XGBoost takes zeros for missing."""
    steps = [(OneHotEncoder(), ["job"]), (MaxAbsScaler(), ["age", "income"])]
    return make_column_transformer(*steps, sparse_threshold=1.0)


def boosted(depth):
    return XGBClassifier(n_estimators=2, max_depth=depth)


@pytest.mark.slow
def test_zeros_of_a_sparse_matrix_are_missing_to_all_members_or_the_model_is_refused():
    X, y = loans(3, gaps=False)
    X = X.drop(columns="owns").assign(income=(X.income / 1000).round() / 2)
    alike = VotingClassifier([("a", boosted(1)), ("b", boosted(2))], voting="soft")
    assert check(make_pipeline(sparse(), alike), X, y, 3, 1) == 1
    assert (
        check(make_pipeline(sparse(), boosted(2).set_params(missing=1.0)), X, y, 3, 1, more=[1.0])
        == 1
    )
    mixed = VotingClassifier([("a", boosted(1)), ("b", RandomForestClassifier(2))], voting="soft")
    with pytest.raises(UnsupportedModelError, match=r"XGBoost members read .*sparse_threshold=0"):
        Explainer(make_pipeline(sparse(), mixed).fit(X, y), X)


def test_a_frame_of_float32_that_steps_reckon_in_has_a_remedy():
    X, y = loans(4, gaps=False)
    short = X[["age", "income"]].astype("float32") * np.float32(1.1)
    model = make_pipeline(StandardScaler(), XGBClassifier(n_estimators=30, max_depth=5))
    model.fit(short, y == "granted")
    with pytest.raises(
        UnsupportedModelError, match=r"type of 'age'. Pass X_train.astype\('float64'\)"
    ):
        Explainer(model, short)
    long = short.astype("float64")
    answer = Explainer(model, long).explain(long.iloc[[0]])
    assert model.predict(answer.counterfactual)[0] == answer.target != model.predict(long.iloc[[0]])
