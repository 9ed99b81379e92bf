"""Tables that a reviewer broke the reading of raw frames with."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from portfolio import Allowed, Explainer, Fixed, InputError, UnsupportedModelError
from tests.support.answers import here

N = 90


@pytest.fixture(scope="module")
def gaps():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"k": random.integers(0, 6, N).astype(float), "v": random.normal(size=N)})
    y = (X.k + X.v > 3).astype(int)
    X.loc[::4, "k"] = np.nan
    return HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, y), X


@pytest.mark.parametrize("dtype", ["Int64", "double[pyarrow]", object])
def test_a_batch_reads_numbers_of_any_dtype(gaps, dtype):
    model, X = gaps
    explainer, rows = Explainer(model, X), X.iloc[1:7]
    frame = explainer.explain_batch(rows.astype({"k": dtype}), executor=here)
    singles = [explainer.explain(rows.iloc[at]).distance for at in range(len(rows))]
    assert frame["distance"].tolist() == singles


def test_text_in_a_batch_is_not_taken_for_missing(gaps):
    model, X = gaps
    frame = Explainer(model, X).explain_batch(X.iloc[1:3].astype({"k": object}).assign(k="oops"))
    assert list(frame["status"]) == ["unknown", "unknown"] and "oops" in frame["message"][0]


def test_lists_that_both_allow_a_gap_allow_it(gaps):
    model, X = gaps
    explainer, row = Explainer(model, X), X.iloc[0]
    once = explainer.explain(row, constraints=[Allowed("k", [None, 1, 2])])
    twice = explainer.explain(
        row, constraints=[Allowed("k", [None, 1, 2]), Allowed("k", [None, 1, 2, 3])]
    )
    assert once.distance == twice.distance < 1


def words(none=True):
    random = np.random.default_rng(1)
    s = random.choice(np.array(["u", "v", None] if none else ["u", "v", "w"], dtype=object), N)
    X = pd.DataFrame({"s": pd.Series(s, dtype=object), "v": random.normal(size=N)})
    return X, (X.s == "u") ^ (X.v > 0.3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(handle_unknown="ignore"),
        OrdinalEncoder(),
        make_pipeline(
            SimpleImputer(missing_values=None, strategy="most_frequent"), OneHotEncoder()
        ),
    ],
    ids=["one-hot", "one-hot, unknown ignored", "ordinal", "filled"],
)
def test_none_in_text_stays_none(encoder):
    X, y = words()
    columns = make_column_transformer((encoder, ["s"]), remainder="passthrough")
    model = make_pipeline(columns, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X, y)
    explainer = Explainer(model, X)
    for place in range(6):
        result = explainer.explain(X.iloc[[place]])
        assert result.status == "optimal" and result.distance > 0
        assert model.predict(result.counterfactual)[0] == result.target


def test_null_in_text_of_polars_is_what_the_pipeline_learned():
    X, y = words()
    frame = pl.DataFrame({"s": X.s.tolist(), "v": X.v.tolist()})
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["s"]), remainder="passthrough"
    )
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0)).fit(frame, y)
    explainer = Explainer(model, frame)
    for place in range(12):
        assert explainer.predict(frame[place]) == model.predict(frame[place])[0]


def test_ordered_categories_of_lightgbm_are_split_at_thresholds():
    random = np.random.default_rng(2)
    size = random.choice(["small", "middle", "large"], N)
    kind = pd.CategoricalDtype(["small", "middle", "large"], ordered=True)
    X = pd.DataFrame({"size": pd.Series(size).astype(kind), "v": random.normal(size=N)})
    y = (X["size"] >= "middle") ^ (X.v > 0.8)
    model = LGBMClassifier(n_estimators=8, min_child_samples=3, verbose=-1).fit(X, y)
    explainer = Explainer(model, X)
    for place in range(8):
        result = explainer.explain(X.iloc[[place]])
        assert result.status == "optimal"
        assert model.predict(result.counterfactual)[0] == result.target


def test_a_first_step_that_passes_on_and_a_gap_that_no_step_takes():
    X, y = words(none=False)
    passing = make_pipeline("passthrough", RandomForestClassifier(3, random_state=0))
    numbers = X[["v"]].assign(w=X.v * 2)
    assert Explainer(passing.fit(numbers, y), numbers).explain(numbers.iloc[0]).verified
    encoder = make_column_transformer((OneHotEncoder(), ["s"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(3, random_state=0)).fit(X, y)
    with pytest.raises(InputError, match="a step of the pipeline rejects a generated row"):
        Explainer(model, X, features={"s": {"missing": True}})
    with pytest.raises(InputError, match="values is for columns of numbers"):
        Explainer(model, X, features={"s": {"values": ["u"]}})


def test_trees_read_bins_that_are_scaled():
    X, y = words(none=False)
    steps = make_pipeline(KBinsDiscretizer(3, encode="onehot-dense"), StandardScaler())
    model = make_pipeline(steps, RandomForestClassifier(3, random_state=0)).fit(X[["v"]], y)
    explainer = Explainer(model, X[["v"]])
    edges = steps[0].bin_edges_[0]
    ends = np.concatenate([edges, np.nextafter(edges, -np.inf)]).clip(X.v.min(), X.v.max())
    for place in range(6):
        query = X[["v"]].iloc[[place]]
        result = explainer.explain(query)
        frame = pd.DataFrame({"v": [*ends, query.v.iloc[0]]})
        reached = model.predict(frame) != model.predict(query)[0]
        cost = (frame.v - query.v.iloc[0]).abs()[reached].min() / (X.v.max() - X.v.min())
        assert result.status == "optimal" and result.distance == pytest.approx(cost)


def test_a_category_that_the_model_never_saw_is_told():
    random = np.random.default_rng(3)
    X = pd.DataFrame({"v": random.normal(size=N), "s": pd.Categorical(["u", "v", "w"] * 30)})
    model = XGBClassifier(n_estimators=3, enable_categorical=True).fit(X, X.v > 0)
    other = X.assign(s=pd.Categorical(["z", *X.s[1:]]))
    with pytest.raises(InputError, match=r"rejects rows of X_train.*not in the training set"):
        Explainer(model, other)


def test_a_step_that_makes_no_number_of_a_training_row_is_told():
    X, y = words(none=False)
    log = make_column_transformer((FunctionTransformer(np.log1p), ["v"]))
    for last in (HistGradientBoostingClassifier(max_iter=2), XGBClassifier(n_estimators=2)):
        model = make_pipeline(log, last).fit(X.assign(v=X.v.clip(-0.5)), y)
        with pytest.raises(InputError, match=r"turns -\d.* in column 'v' into NaN or infinity"):
            Explainer(model, X.assign(v=X.v - 2))


@pytest.mark.slow
@pytest.mark.parametrize("given", ["2021-02-03", datetime.date(2021, 2, 3), "2021-02-03 00:00:00"])
def test_a_point_of_time_is_known_in_any_spelling(given):
    X, y = words(none=False)
    X["when"] = pd.to_datetime(["2020-01-01", "2021-02-03", "2022-05-06"] * 30)
    columns = make_column_transformer((OneHotEncoder(), ["when"]), remainder=StandardScaler())
    model = make_pipeline(columns, RandomForestClassifier(5, random_state=0))
    explainer = Explainer(model.fit(X[["when", "v"]], y), X[["when", "v"]])
    answer = explainer.explain({"when": given, "v": 0.1}, constraints=[Fixed("when")])
    assert answer.counterfactual["when"] == pd.Timestamp("2021-02-03")
    with pytest.raises(InputError, match="when is 'soon', which is not one of its categories"):
        explainer.explain({"when": "soon", "v": 0.1})


def test_a_cost_function_that_fails_on_a_missing_value_is_told(gaps):
    model, X = gaps
    explainer = Explainer(model, X)
    costs = {"k": lambda before, after: abs(after - before)}
    assert explainer.explain(X.iloc[1], norm=costs).verified
    with pytest.raises(
        InputError,
        match=r"cost function of feature k fails if the query's value is missing.*Handle None",
    ):
        explainer.explain(X.iloc[0], norm=costs)
    with pytest.raises(ZeroDivisionError):
        explainer.explain(X.iloc[1], norm={"k": lambda before, after: 1 / 0})


def test_numbers_of_pandas_that_miss_some_pass_through_frames_between_steps():
    random = np.random.default_rng(4)
    X = pd.DataFrame(
        {"a": pd.Series(random.normal(size=N), dtype="Float64"), "b": random.random(N)}
    )
    y = (X.a.to_numpy() + X.b > 0.5).astype(int)
    X.loc[::5, "a"] = pd.NA
    steps = make_column_transformer((StandardScaler(), ["b"]), remainder="passthrough")
    model = make_pipeline(
        steps.set_output(transform="pandas"),
        HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5),
    ).fit(X, y)
    explainer = Explainer(model, X)
    for place in (0, 1, 2, 5):
        result = explainer.explain(X.iloc[[place]])
        assert result.status == "optimal" and model.predict(result.counterfactual) == result.target


@pytest.mark.parametrize(
    ("dtype", "function", "refused"),
    [
        ("int8", np.sqrt, True),
        ("uint8", np.negative, True),
        ("Int8", np.sqrt, True),
        ("int16", np.sqrt, False),
        ("bool", np.sqrt, False),
    ],
)
def test_whole_numbers_whose_type_changes_what_a_step_makes_are_refused(dtype, function, refused):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        random.integers(0, 2 if dtype == "bool" else 100, (200, 2)), columns=list("ab")
    )
    y = (X["a"] + X["b"] + random.normal(size=200) > X["a"].mean() * 2).astype(int)
    X = X.astype(dtype)
    model = make_pipeline(FunctionTransformer(function), XGBClassifier(n_estimators=4, max_depth=3))
    model.fit(X, y)
    if refused:
        with pytest.raises(
            UnsupportedModelError, match=f"turn 'a' into other numbers in {dtype} than"
        ):
            Explainer(model, X)
    else:
        assert Explainer(model, X).explain(X.iloc[0]).status == "optimal"


@pytest.mark.parametrize("names", [["k"], ["v"], ["k", "v"]])
def test_what_has_gaps_in_training_may_be_said_to_have_none(gaps, names):
    _, X = gaps
    X = X.assign(v=X.v.where(np.arange(N) % 5 > 0))
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5).fit(X, X.index % 2)
    for own in (model, make_pipeline(StandardScaler(), model).fit(X, X.index % 2)):
        explainer = Explainer(own, X, features={name: {"missing": False} for name in names})
        answer = explainer.explain(X.iloc[[1]])
        assert answer.status == "optimal"
        with pytest.raises(InputError, match=f"{names[0]} is missing"):
            explainer.explain(X.iloc[[0]])


def test_what_does_not_go_with_a_column_is_told(gaps):
    model, X = gaps
    message = "feature k is declared categorical, but the model reads column 'k' as numbers"
    with pytest.raises(InputError, match=message):
        Explainer(model, X, features={"k": "categorical"})
    X, y = words(none=False)
    pipeline = make_pipeline(OneHotEncoder(), RandomForestClassifier(3)).fit(X[["s"]], y)
    with pytest.raises(InputError, match="feature s: step and digits are for numeric"):
        Explainer(pipeline, X[["s"]], features={"s": {"step": 1}})
    with pytest.raises(InputError, match="X_train has 'label', which the model does not know"):
        Explainer(pipeline, X[["s"]].assign(label=y))


@pytest.mark.filterwarnings("error:X has feature names")
def test_a_pipeline_of_an_array_is_not_warned_of_names():
    X = np.random.default_rng(2).normal(size=(N, 3))
    pipeline = make_pipeline(SimpleImputer(), StandardScaler(), RandomForestClassifier(3))
    result = Explainer(pipeline.fit(X, X.sum(axis=1) > 0), X).explain(X[0])
    assert result.status == "optimal" and "Probability" in str(result)


@pytest.mark.slow
def test_numbers_in_a_mixed_array_are_numbers():
    X, y = words()
    X = X.assign(s=X.s.fillna("w"), k=np.arange(N) % 7)
    X["g"] = pd.Series([None if at % 5 == 0 else at % 4 for at in range(N)], dtype=object)
    steps = make_column_transformer(
        (OneHotEncoder(), ["s", "g"]), (SimpleImputer(), ["v", "k"]), remainder="drop"
    )
    pipeline = make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(X, y)
    places = make_column_transformer((OneHotEncoder(), [0, 3]), (SimpleImputer(), [1, 2]))
    mixed = make_pipeline(places, RandomForestClassifier(5, random_state=0)).fit(X.to_numpy(), y)
    explainer, other = Explainer(pipeline, X), Explainer(mixed, X.to_numpy())
    kinds = ["categorical", "numeric", "ordinal", "categorical"]
    assert [feature.kind for feature in other.features.features] == kinds
    for at in range(12):
        one, same = explainer.explain(X.iloc[[at]]), other.explain(X.to_numpy()[at])
        assert one.distance == pytest.approx(same.distance)
        assert mixed.predict(same.counterfactual[None, :])[0] == same.target
        assert type(same.counterfactual[2]) is int


def test_numbers_that_the_frame_declares_categories_are_some_to_bare_trees():
    random = np.random.default_rng(0)
    numbers = random.choice([3, 5, 7, 10], 60)
    X = pd.DataFrame({"k": pd.Categorical(numbers), "a": random.random(60)})
    model = DecisionTreeClassifier(max_depth=2).fit(X, numbers > 5)
    result = Explainer(model, X).explain(X[X.k == 3].iloc[[0]])
    assert result.counterfactual["k"].dtype == X["k"].dtype and result.distance == 1.0
    assert model.predict(result.counterfactual)[0]
