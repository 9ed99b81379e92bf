"""Bad input gets one clear sentence: what is wrong, where, what to do."""

import json
import os
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import xgboost
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.decomposition import PCA
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from portfolio import (
    Allowed,
    AllowedPairs,
    AtLeast,
    Decrease,
    Explainer,
    Fixed,
    Increase,
    InputError,
    LogWarning,
    MaxChanges,
    Range,
    UnsupportedModelError,
)
from portfolio.data.datasets import read_dataset, read_rows
from portfolio.model.files import load_model
from portfolio.model.tabular import read_rows as read_tabular

pytestmark = pytest.mark.usefixtures("forked_children")


def expect(message, call):
    with pytest.raises(InputError, match=message) as caught:
        call()
    text = str(caught.value)
    assert "\n" not in text and len(text) < 500
    return text


def changed(row, **values):
    row = row.copy()
    for name, value in values.items():
        row[name] = value
    return row


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"income": np.nan}, "income is missing"),
        ({"income": np.inf}, "income is infinite"),
        ({"income": 1e300}, "income is 1e\\+300, too large"),
        ({"income": "much"}, "income is 'much'"),
        ({"home_own": 1.0, "home_free": 1.0, "home_rent": 1.0}, "Set at most one of them to 1"),
        ({"home_own": 0.5, "home_free": 0.0, "home_rent": 0.0}, "Set at most one of them to 1"),
        ({"employed": 0.5}, "employed is 0.5, which is not one of its values"),
        ({"age": 33.3}, "age is 33.3, which is not one of its values"),
    ],
)
def test_a_value_that_cannot_be_is_told(explainer, refused, change, message):
    expect(message, lambda: explainer.explain(changed(refused.astype(object), **change)))


def test_what_is_no_number_is_told(explainer, refused):
    row = refused.to_list()
    expect("age is larger than any float64", lambda: explainer.explain([10**400, *row[1:]]))
    expect("Give it a finite number", lambda: explainer.explain([1j, *row[1:]]))
    hidden = np.ma.masked_array(row, mask=[True] + [False] * (len(row) - 1))
    expect("is missing", lambda: explainer.explain(hidden))


def test_columns_other_than_the_models_are_told(explainer, refused):
    expect("the query lacks 'home_rent'", lambda: explainer.explain(refused[:5]))
    expect("lacks 'age'", lambda: explainer.explain(refused.rename({"age": "years"})))
    expect("has 4 columns", lambda: explainer.explain([1, 2, 3, 4]))
    expect("expected one row", lambda: explainer.explain(np.zeros((2, 6))))
    expect("expected one row", lambda: explainer.explain(pd.DataFrame([refused, refused])))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "maybe"}, "unknown target 'maybe'. Use one of 'granted'"),
        ({"norm": -1}, "norm must be from 0"),
        ({"norm": "L7"}, "unknown norm 'L7'"),
        ({"norm": float("nan")}, "norm must be"),
        ({"norm": {"wealth": {}}}, "the cost mapping has an unknown feature 'wealth'"),
        (
            {"norm": {"age": 3}},
            r"must be a table \{value: cost\} or a function \(from, to\), got 3",
        ),
        ({"norm": lambda f, a, b: -1.0}, "must be from 0 to 1e.100"),
        ({"scale": "log"}, "unknown scale 'log'"),
        ({"weights": {"age": -1}}, "weight of age must be"),
        ({"weights": {"wealth": 1}}, "weights has an unknown feature 'wealth'"),
        ({"weights": [1, 2]}, "2 numbers, but there are 4 features"),
        ({"margin": np.nan}, "margin must be"),
        ({"margin": -0.1}, "margin must be"),
        ({"strategy": "milp:oracle"}, "milp has no formulation 'oracle'. Use one of tight"),
        (
            {"strategy": "oracle"},
            "unknown backend 'oracle'.* Use one of auto, race, search, cp",
        ),
        ({"time_limit_s": 0}, "time_limit_s must be above 0"),
        ({"time_limit_s": -3}, "time_limit_s must be above 0"),
        ({"time_limit_s": float("nan")}, "time_limit_s must be above 0"),
        ({"threads": 0}, "threads must be at least 1"),
        ({"seed": -1}, "seed must be"),
        ({"constraints": [Fixed("wealth")]}, "unknown feature 'wealth'. The features are"),
        ({"constraints": ["age"]}, "is not a constraint"),
        ({"constraints": Fixed("age")}, "must be a sequence"),
        ({"constraints": [Increase("age"), Decrease("age")]}, "Increase and Decrease"),
        ({"constraints": [Fixed("age"), Range("age", 200, 300)]}, "Fixed.*Range"),
        ({"constraints": [Range("age", 5, 3)]}, r"lower \(5\) is above upper \(3\)"),
        ({"constraints": [Range("age", 30.2, 30.8)]}, "no admissible value"),
        ({"constraints": [Range("income", 1e6, 2e6)]}, "no admissible value"),
        ({"constraints": [Increase("home")]}, "home is categorical, and categories have no order"),
        ({"constraints": [Allowed("home", ["castle"])]}, "no category 'castle'"),
        ({"constraints": [Allowed("home", [])]}, "list of allowed values is empty"),
        ({"constraints": [Allowed("age", ["old"])]}, "'old' is not a value of age"),
        ({"constraints": [MaxChanges(-1)]}, "MaxChanges needs a whole number"),
    ],
)
def test_an_option_that_cannot_be_is_told(explainer, refused, options, message):
    expect(message, lambda: explainer.explain(refused, **({"target": "granted"} | options)))


def test_what_is_no_function_and_no_workers_is_told(credit, explainer, refused):
    model, X = credit
    expect("workers must be a Workers, got 3", lambda: Explainer(model, X, workers=3))
    table = pd.DataFrame([refused])
    expect("on_answer must be a function", lambda: explainer.explain_batch(table, on_answer=3))
    for strategy in ("race", ["search", "cp"]):
        expect(
            rf"supports a single backend or 'auto', got strategy={re.escape(repr(strategy))}\. Use",
            lambda strategy=strategy: explainer.session(strategy=strategy),
        )


def test_a_log_function_that_gives_no_logbook_costs_a_warning_only(explainer, refused, tmp_path):
    with pytest.warns(LogWarning, match="the log function must return a Logbook, got 'logs'"):
        result = explainer.explain(refused, target="granted", log=lambda result: "logs")
    assert result.status == "optimal"


def test_a_model_that_cannot_be_explained_is_told(credit):
    _, X = credit
    y = (X["income"] > 20).astype(int)
    names = [f"c{i}" for i in range(X.shape[1])]
    plain = X.to_numpy()
    missing = plain.copy()
    missing[0, 1] = np.nan
    linear = xgboost.XGBClassifier(booster="gblinear").fit(plain, y)
    random = DummyClassifier(strategy="stratified")
    steps = type("Steps", (Pipeline,), {"predict_proba": lambda self, X: None})(
        [("scale", StandardScaler()), ("tree", DecisionTreeClassifier())]
    )
    rooted = LGBMRegressor(n_estimators=2, reg_sqrt=True, verbose=-1).fit(X, y)
    cases = [
        (AdaBoostClassifier(LogisticRegression()).fit(X, y), "a linear model of raw columns"),
        (LogisticRegression(max_iter=5000).fit(X, y), "a linear model of raw columns"),
        (
            xgboost.XGBRegressor(n_estimators=2).fit(X, np.c_[y, y]).get_booster(),
            "several outputs",
        ),
        (RandomForestRegressor(2), "is not fitted"),
        (xgboost.XGBRegressor(objective="binary:logistic").fit(X, y), "Train an XGBClassifier"),
        (rooted, "regression sqrt .* Train with reg_sqrt=False"),
        (linear, "linear booster"),
        (linear.get_booster(), "linear booster"),
        (make_pipeline(PCA(3), RandomForestClassifier(2)).fit(X, y), "PCA.*mixes columns"),
        (make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y), "is not binned"),
        (make_pipeline(StandardScaler(), RandomForestClassifier(2)), "is not fitted"),
        (RandomForestClassifier(), "is not fitted"),
        (DecisionTreeClassifier(), "is not fitted"),
        (GradientBoostingClassifier(), "is not fitted"),
        (xgboost.XGBClassifier(), "is not fitted"),
        (GradientBoostingClassifier(init=RandomForestClassifier(2)).fit(X, y), "starts from a Ra"),
        (GradientBoostingClassifier(init=random).fit(X, y), "starts from a DummyClassifier"),
        (LGBMRegressor(objective="binary", verbose=-1).fit(X, y), "Train an LGBMClassifier"),
        (GridSearchCV(DecisionTreeClassifier(), {}, cv=2, refit=False).fit(X, y), "refit=True"),
        (
            FixedThresholdClassifier(DecisionTreeClassifier(), threshold=2.0).fit(X, y),
            "the same class for every row.*its threshold 2",
        ),
        (FixedThresholdClassifier(DecisionTreeClassifier()), "is not fitted"),
        (steps.fit(X, y), "Steps .* overrides predict_proba"),
        ("a string", "type str"),
    ]
    for model, message in cases:
        text = expect(message, lambda m=model: Explainer(m, X))
        assert "Traceback" not in text
    linear = LGBMClassifier(n_estimators=2, linear_tree=True, verbose=-1).fit(plain, y)
    expect("linear leaves", lambda: Explainer(linear, plain))
    model = RandomForestClassifier(3, random_state=0).fit(X, y)
    expect("X_train lacks .home_rent", lambda: Explainer(model, X.iloc[:, :5]))
    expect("lacks 'age'", lambda: Explainer(model, X.set_axis(names, axis=1)))
    expect("has no rows", lambda: Explainer(model, X.iloc[:0]))
    expect("not numeric", lambda: Explainer(model, X.assign(age="old")))
    expect("voting must be", lambda: Explainer(model, X, voting="loud"))
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X, y)
    expect("'income' is missing in row 0, and", lambda: Explainer(boosted, missing))
    expect(
        "does not accept missing values", lambda: Explainer(boosted, X, {"age": {"missing": True}})
    )
    expect("voting='hard' supports", lambda: Explainer(boosted, X, voting="hard"))


def test_a_model_that_differs_from_its_trees_is_refused(credit):
    _, X = credit
    y = (X["income"] > 20).astype(int)

    class Contrary(RandomForestClassifier):
        def predict(self, rows):
            return 1 - super().predict(rows)

    Contrary.__module__, Contrary.__name__ = "sklearn.ensemble", "RandomForestClassifier"
    model = Contrary(3, random_state=0).fit(X, y)
    with pytest.raises(UnsupportedModelError, match="disagrees with its trees"):
        Explainer(model, X)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"wealth": "numeric"}, "not have a column 'wealth'"),
        ({"age": "fuzzy"}, "unknown kind 'fuzzy'"),
        ({"age": {"colour": 1}}, "unknown key 'colour'"),
        ({"age": {"action": "explode"}}, "unknown action"),
        ({"age": 3}, "expected a kind or a mapping"),
        ({"age": "binary"}, "declared binary, but the training data contain"),
        ({"age": {"kind": "ordinal", "values": ["x"]}}, "values must be numbers"),
        ({"age": {"kind": "ordinal", "values": []}}, "values must be a list"),
        ({"age": {"bounds": [5, 1]}}, "bounds must be"),
        ({"age": {"kind": "ordinal", "allow_off_levels": "yes"}}, "must be True or False"),
        ({"home_own": {"labels": ["x", "x"]}}, "label 'x' is repeated"),
        ({"g": {"kind": "categorical", "columns": ["age", "income"]}}, "not one-hot"),
        ({"home": "categorical", "home_own": "binary"}, "belongs to both"),
    ],
)
def test_a_feature_that_cannot_be_is_told(credit, features, message):
    expect(message, lambda: Explainer(*credit, features=features))


def test_a_feature_file_that_cannot_be_read_is_told(credit, tmp_path):
    expect("cannot read the feature file", lambda: Explainer(*credit, tmp_path / "none.json"))
    broken = tmp_path / "broken.json"
    broken.write_text("{")
    expect("not valid JSON", lambda: Explainer(*credit, broken))
    broken.write_text('{"age": "numeric", "age": "binary"}')
    expect("'age' appears twice", lambda: Explainer(*credit, broken))
    broken.write_text("[]")
    expect("one JSON object", lambda: Explainer(*credit, broken))
    broken.write_text(json.dumps({"age": "numeric"}))
    assert Explainer(*credit, broken).features.named("age").kind == "numeric"


HEADER = "a,b,Class\nN,C,B\nFREE,FREE,PREDICT\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "cannot be read as CSV"),
        ("a,b,Class\n1,x,0\n", "fewer than three header lines"),
        ("a,b,Class\n1,x,0\n2,y,1\n", "line 2: '1' is not a column type"),
        ("a,b,Class\nN,C,B\n1,x,0\n", "line 3: '1' is not an actionability"),
        ("a,b,Class\nN,C,B\nFREE,FREE,FREE\n1,x,0\n", "must be PREDICT"),
        ("a,a,Class\nN,C,B\nFREE,FREE,PREDICT\n1,x,0\n", "two columns named 'a'"),
        (HEADER, "has no rows"),
        (HEADER + "1,x,0\n,y,1\n", "line 5: a is missing"),
        (HEADER + "1,x,0\nz,y,1\n", "column a is not numeric"),
        (HEADER + "1,x,no\n2,y,yes\n", "labels in Class must be whole numbers"),
        (HEADER + "1,x,0\n2,y,1,4,5\n", "cannot be read as CSV"),
        ("a,b,Class\nB,C,B\nFREE,FREE,PREDICT\n1,x,0\n2,y,1\n3,x,1\n", "but 3 values"),
        (
            "a,b,Class\nN,C,B\nFREE,INC,PREDICT\n1,x,0\n2,y,1\n",
            "needs an order, and categories have none",
        ),
    ],
)
def test_a_table_that_cannot_be_read_is_told(tmp_path, text, message):
    path = tmp_path / "data.csv"
    path.write_text(text)
    expect(message, lambda: read_dataset(path))


def test_garbage_is_no_table(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(bytes(range(256)) * 4)
    expect("data.csv", lambda: read_dataset(path))
    path = tmp_path / "data.csv.gz"
    path.write_bytes(b"not gzip")
    expect("data.csv.gz", lambda: read_dataset(path))


ENDINGS = (".json", ".ubj", ".txt", ".skops", ".pkl", ".joblib")
BROKEN = [(ending, b"garbage") for ending in ENDINGS]
BROKEN += [(".ubj", b""), (".txt", b"tree\nversion=v4\nnum_class=1\ngarbage")]
OTHERS = [(ending, b"") for ending in ENDINGS if ending != ".ubj"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "content"),
    [*BROKEN, *(pytest.param(*other, marks=pytest.mark.large) for other in OTHERS)],
)
def test_a_corrupt_model_file_is_told(tmp_path, ending, content):
    path = tmp_path / f"model{ending}"
    path.write_bytes(content)
    expect(f"model{ending}", lambda: load_model(path, trust_pickle=True))


def test_model_files_that_are_not_loaded_are_told(tmp_path):
    expect("model file .*none.json does not exist", lambda: load_model(tmp_path / "none.json"))
    path = tmp_path / "model.onnx"
    path.write_text("x")
    expect("unknown model file ending '.onnx'", lambda: load_model(path))
    pickle = tmp_path / "model.pkl"
    pickle.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    expect("--trust-pickle", lambda: load_model(pickle))
    with path.open("wb") as huge:
        huge.truncate(2**31 + 1)
    expect("larger than 2048 MiB", lambda: load_model(path))


@pytest.mark.parametrize("ending", ["xz", "zip", "tar", "zst", "bz2"])
def test_tables_packed_in_other_ways_are_refused(tmp_path, ending):
    path = tmp_path / f"data.csv.{ending}"
    path.write_bytes(b"junkjunk")
    expect(f"data.csv.{ending}", lambda: read_dataset(path))


def test_columns_that_are_one_after_stripping_are_told(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,y\nN,N,B\nFREE,FREE,PREDICT\n1,2,0\n2,1,1\n3,4,0\n")
    data = read_dataset(path)
    twice = tmp_path / "twice.csv"
    twice.write_text("a,b, b\n1,2,3\n")
    expect("two columns named 'b'", lambda: read_rows(twice, data))
    table = pa.table([[1.0], [2.0], [3.0]], names=["a", "b", "b"])
    pyarrow.parquet.write_table(table, tmp_path / "twice.parquet")
    expect("two columns named 'b'", lambda: read_rows(tmp_path / "twice.parquet", data))


def test_settings_that_are_no_files_are_told(credit, tmp_path):
    model, X = credit
    os.mkfifo(tmp_path / "pipe.json")
    with (tmp_path / "huge.json").open("wb") as huge:
        huge.truncate(2**40)
    for name, words in (("pipe.json", "not a regular file"), ("huge.json", "larger than 64 MiB")):
        expect(words, lambda path=tmp_path / name: Explainer(model, X, features=path))
        expect(words, lambda path=tmp_path / name: Explainer(model, X, diagram=path))


def test_training_frames_of_odd_columns_are_refused(credit):
    model, X = credit
    huge = X.assign(age=X["age"].astype(object).where(X.index > 0, 10**400))
    expect("larger than any float64", lambda: Explainer(model, huge))
    expect("'age' is not numeric", lambda: Explainer(model, X.assign(age=X["age"] + 1j)))
    dates = X.assign(age=pd.to_datetime(X["age"].astype(int)))
    expect("'age' is not numeric", lambda: Explainer(model, dates))
    levels = X.set_axis(pd.MultiIndex.from_product([["u"], X.columns]), axis=1)
    expect("X_train lacks 'age'", lambda: Explainer(model, levels))


def test_a_model_may_have_its_columns_in_another_order(tmp_path):
    rows = "".join(f"{i},{i % 3},{i % 2},{i % 2}\n" for i in range(30))
    path = tmp_path / "data.csv"
    path.write_text(f"a,kind,b,y\nN,C,N,B\nFREE,FREE,FREE,PREDICT\n{rows}")
    data = read_dataset(path)
    turned = data.X[data.X.columns[::-1]]
    model = RandomForestClassifier(3, random_state=0).fit(turned, data.y)
    explainer = Explainer(model, data.X, features=data.space)
    assert explainer.features.named("kind").columns == (3, 2, 1)
    result = explainer.explain(data.X.iloc[0])
    assert result.status == "optimal"
    assert model.predict(result.counterfactual[turned.columns].to_frame().T)[0] != data.y[0]


@pytest.mark.parametrize("text", ["0.5", "NaN", "inf", b"1"])
def test_text_is_no_number(explainer, refused, text):
    row = refused.to_dict() | {"age": text}
    for asked in (row, list(row.values())):
        with pytest.raises(InputError, match=r"the query's age is b?'.*Give it a finite number"):
            explainer.explain(asked)
    rows = pd.DataFrame([refused.to_dict(), row], dtype=object)
    good, bad = read_tabular(rows, explainer.features, np.dtype(np.float64))[2]
    assert good.tolist() == refused.tolist()
    assert "Give it a finite number" in bad


def test_numbers_beyond_float64_are_no_limits_of_goals():
    with pytest.raises(InputError, match="a limit must be a number"):
        AtLeast(10**400)


@pytest.mark.parametrize(
    ("norm", "message"),
    [
        (lambda before: 1.0, r"the cost function must take the arguments \(feature, from, to\)"),
        ({"age": lambda before: 1.0}, r"of 'age' must take the arguments \(from, to\)"),
        (True, "norm must be from 0 to 100, or 'inf', got True"),
    ],
)
def test_a_cost_that_cannot_be_computed_is_refused(explainer, refused, norm, message):
    expect(message, lambda: explainer.explain(refused, norm=norm))


def test_constraints_that_cannot_be_meant_are_refused():
    expect(r"Allowed\('home', \.\.\.\) needs a list", lambda: Allowed("home", "own"))
    expect("two different features", lambda: AllowedPairs("age", "age", [(1, 1)]))
