"""Columns that no step of a pipeline reads: any value is taken and returned as it came."""

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import (
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from xgboost import XGBClassifier

from counterfolio import Explainer, InputError
from encoders.readers.layout import layout_of
from portfolio.model.pipeline import unread_columns

pytestmark = pytest.mark.usefixtures("forked_children")

N = 200
READ, TEXT = ["tenure", "charges"], ["plan"]
ODD = {
    "customer": ["NEW-1", None, 7, [1, 2], {"a": 1}],
    "signup": [pd.Timestamp("2031-05-05"), pd.NaT, "soon"],
    "number": [2**60 + 1, 1e300, -3.5, np.nan, "A17", np.inf],
    "flag": [2, None, "yes"],
    "region": ["mars", None],
    "broken": [3.5, "text"],
}
MODELS = {
    "forest": lambda: RandomForestClassifier(6, max_depth=4, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=5, max_depth=3),
    "lightgbm": lambda: LGBMClassifier(n_estimators=5, max_depth=3, verbose=-1),
    "xgboost": lambda: XGBClassifier(n_estimators=5, max_depth=3),
}


def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "customer": [f"C{at:04}" for at in range(N)],
            "signup": pd.date_range("2020-01-01", periods=N),
            "tenure": rng.integers(0, 73, N),
            "number": rng.permutation(N) * 7,
            "charges": rng.uniform(18, 120, N).round(2),
            "plan": rng.choice(["month", "year"], N),
            "flag": rng.integers(0, 2, N),
            "region": pd.Categorical(rng.choice(["north", "south"], N)),
            "broken": np.nan,
        }
    )
    return X, ((X.tenure < 25) & (X.charges > 50) ^ (X.plan == "year")).astype(int)


def numbers():
    return make_column_transformer(
        (StandardScaler(), READ), (OneHotEncoder(sparse_output=False), TEXT)
    )


def in_two_steps():
    first = make_column_transformer(
        ("passthrough", ["customer", "number", *READ, *TEXT]), verbose_feature_names_out=False
    )
    return make_pipeline(first.set_output(transform="pandas"), numbers())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "steps"), [*((kind, numbers) for kind in MODELS), ("forest", in_two_steps)]
)
def test_any_value_is_taken_and_returned(kind, steps):
    X, y = table()
    model = make_pipeline(steps(), MODELS[kind]()).fit(X, y)
    narrow = X[[*READ, *TEXT]]
    right = Explainer(make_pipeline(numbers(), MODELS[kind]()).fit(narrow, y), narrow)
    explainer = Explainer(model, X)
    assert {f.name for f in explainer.features.features if f.action == "fixed"} == set(ODD)
    for at, (name, values) in enumerate(ODD.items()):
        expected = right.explain(narrow.iloc[[at * 11]]).distance
        for place, value in enumerate(values):
            row = X.iloc[[at * 11]].astype({name: object})
            row[name] = pd.Series([value], index=row.index, dtype=object)
            given = (row, row.iloc[0], dict(row.iloc[0]))[place % 3]
            result = explainer.explain(given)
            assert (result.status, result.distance) == ("optimal", expected)
            answer = result.counterfactual
            held = answer[name].iloc[0] if isinstance(answer, pd.DataFrame) else answer[name]
            assert held is value or held == value or (held != held and value != value)
            if place % 3 == 0:
                assert model.predict(answer) != model.predict(row)


@pytest.mark.slow
def test_columns_that_no_step_reads_may_be_absent_from_a_query():
    X, y = table()
    model = make_pipeline(numbers(), MODELS["forest"]()).fit(X, y)
    explainer = Explainer(model, X)
    for columns in (["customer"], list(ODD)):
        row = X.iloc[[5]].drop(columns=columns)
        result = explainer.explain(row)
        assert result.distance == explainer.explain(X.iloc[[5]]).distance
        assert list(result.counterfactual.columns) == list(row.columns)
    with pytest.raises(InputError, match="the query lacks 'plan'"):
        explainer.explain(X.iloc[[5]].drop(columns="plan"))


@pytest.mark.slow
def test_a_batch_of_new_rows_keeps_what_no_step_reads():
    X, y = table()
    explainer = Explainer(make_pipeline(numbers(), MODELS["forest"]()).fit(X, y), X)
    new = X.head(12).assign(
        customer="new", signup=pd.Timestamp("2030-01-01"), number=2**60 + np.arange(12) * 3
    )
    found, known = explainer.explain_batch(new), explainer.explain_batch(X.head(12))
    assert found["distance"].equals(known["distance"])
    for name in ODD:
        pd.testing.assert_series_equal(found[f"cf_{name}"], new[name], check_names=False)


def test_answers_may_move_what_no_step_reads_if_the_user_frees_it():
    X, y = table()
    model = make_pipeline(numbers(), MODELS["forest"]()).fit(X, y)
    explainer = Explainer(model, X, features={"number": {"action": "free"}})
    assert explainer.features.named("number").action == "free"
    assert explainer.features.named("customer").action == "fixed"


def selected(columns, **more):
    return ColumnTransformer([("kept", "passthrough", columns)], **more)


HOLDERS = {
    "calibrated": lambda own: CalibratedClassifierCV(own, cv=2),
    "voting": lambda own: VotingClassifier([("a", own), ("b", own)], voting="soft"),
    "search": lambda own: GridSearchCV(own, {"forest__max_depth": [3]}, cv=2),
}


@pytest.mark.slow
@pytest.mark.parametrize("holder", HOLDERS)
def test_pipelines_in_other_models_take_any_value_too(holder):
    X, y = table()
    forest = RandomForestClassifier(4, max_depth=3, random_state=0)
    model = HOLDERS[holder](Pipeline([("before", numbers()), ("forest", forest)])).fit(X, y)
    explainer = Explainer(model, X)
    assert {f.name for f in explainer.features.features if f.action == "fixed"} == set(ODD)
    for name, values in ODD.items():
        row = X.iloc[[7]].astype({name: object})
        expected = explainer.explain(row)
        row[name] = pd.Series([values[0]], index=row.index, dtype=object)
        result = explainer.explain(row)
        assert (result.status, result.distance) == (expected.status, expected.distance)
        if result.row is not None:
            assert model.predict(result.counterfactual) != model.predict(row)
            assert result.counterfactual[name].iloc[0] == values[0]


def test_a_bagging_reads_all_columns():
    X, y = table()
    own = make_pipeline(ColumnTransformer([("k", "passthrough", [0])]), MODELS["forest"]())
    model = BaggingClassifier(own, 2).fit(X[READ].to_numpy(), y)
    assert unread_columns(layout_of(model), 2) == frozenset()


SOMETHING = StandardScaler()
SOME = make_column_selector(pattern="tenure|charges")
READERS = {
    "rest": (lambda: selected(READ, remainder="passthrough"), 4),
    "selector": (lambda: ColumnTransformer([("scaled", StandardScaler(), SOME)]), 2),
    "dropped": (lambda: ColumnTransformer([("no", "drop", ["flag"]), ("k", SOMETHING, READ)]), 2),
    "union": (lambda: FeatureUnion([("a", selected(READ))]), 2),
    "chosen": (lambda: SelectKBest(k=2), 4),
    "imputed": (lambda: SimpleImputer(), 4),
    "late": (lambda: make_pipeline(StandardScaler(), selected([0, 2])), 4),
    "chain": (
        lambda: make_pipeline(
            "passthrough",
            selected(["flag", *READ]).set_output(transform="pandas"),
            ColumnTransformer([("k", "passthrough", ["kept__tenure"]), ("s", SOMETHING, [2])]),
        ),
        2,
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_what_a_step_reads_is_never_called_unread(name):
    X, y = table()
    X = X[["tenure", "number", "charges", "flag"]]
    steps, n_read = READERS[name]
    model = make_pipeline(steps(), MODELS["forest"]()).fit(X, y)
    unread = unread_columns(layout_of(model), X.shape[1])
    assert len(unread) == X.shape[1] - n_read
    before = model.predict(X)
    for at in unread:
        other = X.copy()
        other.isetitem(at, pd.Series([["odd"]] * N))
        assert (model.predict(other) == before).all()
