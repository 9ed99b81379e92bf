"""Values that do not change come back as they were, bit for bit, in the types of the user's row."""

import json

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from portfolio import Explainer, Fixed
from tests.support.answers import here

LONG = 2**60 + 1 + 2 * np.arange(80)  # none of them is a float64


@pytest.fixture(scope="module")
def bare():
    random = np.random.default_rng(3)
    X = pd.DataFrame(
        {
            "account": LONG,
            "part": LONG.astype(np.uint64) + np.uint64(2**63),
            "score": random.normal(size=80),
            "grade": random.integers(0, 9, 80),
            "member": random.random(80) < 0.5,
        }
    )
    model = lgb.LGBMClassifier(n_estimators=4, min_child_samples=5, verbose=-1)
    return Explainer(model.fit(X, (X.score > 0) ^ (X.grade > 6)), X), X


FIXED = [Fixed("account"), Fixed("part")]
FORMS = {
    "frame": lambda rows: rows,
    "nullable": lambda rows: rows.convert_dtypes(),
    "polars": pl.from_pandas,
    "pyarrow": lambda rows: pl.from_pandas(rows).to_arrow(),
    "series": lambda rows: rows.iloc[0].astype(object),
    "mapping": lambda rows: {name: rows[name].tolist()[0] for name in rows},
    "list": lambda rows: [rows[name].tolist()[0] for name in rows],
}


def entries(row):
    """Values of a row in any form."""
    row = row.to_pandas() if hasattr(row, "to_pandas") else row
    if isinstance(row, pd.DataFrame):
        return [row.iloc[0, at] for at in range(row.shape[1])]
    return list(row.values()) if isinstance(row, dict) else list(row)


@pytest.mark.parametrize("form", FORMS)
def test_long_numbers_come_back_in_every_form(bare, form):
    explainer, X = bare
    asked = FORMS[form](X.iloc[[5]])
    result = explainer.explain(asked, constraints=FIXED)
    answer = entries(result.counterfactual)
    assert [int(answer[0]), int(answer[1])] == [X.account[5], X.part[5]]
    told = json.loads(result.to_json())["counterfactual"]
    told = list(told.values()) if isinstance(told, dict) else told
    assert [int(told[0]), int(told[1])] == [X.account[5], X.part[5]]
    if form not in ("series", "mapping", "list"):
        before = [str(kind) for kind in pl.DataFrame(asked).schema.values()]
        assert [str(kind) for kind in pl.DataFrame(result.counterfactual).schema.values()] == before


@pytest.mark.parametrize("form", ["frame", "nullable", "polars", "pyarrow"])
def test_batches_keep_types_and_long_numbers(bare, form):
    explainer, X = bare
    asked = FORMS[form](X.head(4))
    frame = explainer.explain_batch(asked, constraints=FIXED, executor=here)
    for name in ("account", "part"):
        assert frame[f"cf_{name}"].to_numpy().tolist() == asked[name].to_numpy().tolist()
    if form in ("frame", "nullable"):
        assert [frame[f"cf_{name}"].dtype for name in X] == [asked[name].dtype for name in X]
    else:
        found, given = pl.DataFrame(frame), pl.DataFrame(asked)
        assert [found.schema[f"cf_{name}"] for name in X] == [given.schema[name] for name in X]


def test_rows_without_an_answer_leave_whole_numbers_and_truths_as_they_are(bare):
    explainer, X = bare
    rows = X.head(3).astype({"score": object})
    rows.loc[1, "score"] = "high"
    frame = explainer.explain_batch(rows, constraints=FIXED, executor=here)
    assert frame.cf_account.tolist()[::2] == X.account.tolist()[:3:2] and frame.cf_account.isna()[1]
    kinds = [str(frame[f"cf_{name}"].dtype) for name in ("account", "part", "grade", "member")]
    assert kinds == ["Int64", "UInt64", "Int64", "boolean"]


def test_other_questions_of_a_batch_tell_long_numbers(bare):
    explainer, X = bare
    frame = explainer.ask_batch("several", X.head(2), k=2, constraints=FIXED, executor=here)
    for place in range(2):
        for answer in json.loads(frame["answers"][place]):
            assert answer["counterfactual"]["account"] == X.account[place]


def test_stamps_and_text_of_a_pipeline_come_back_to_the_nanosecond():
    X = pd.DataFrame(
        {
            "day": pd.to_datetime(
                ["2024-01-01 00:00:00.000000007", "2025-02-03 00:00:00.000000001"] * 30
            ),
            "zone": pd.to_datetime(["2024-01-01", "2025-02-03"] * 30).tz_localize("Asia/Tokyo"),
            "word": pd.array(["a", "b"] * 30, dtype="string"),
            "size": np.arange(60, dtype=np.float32),
        }
    )
    steps = ColumnTransformer(
        [("one", OneHotEncoder(), ["day", "zone", "word"]), ("as", "passthrough", ["size"])]
    )
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=3)).fit(X, X["size"] > 30)
    result = Explainer(model, X).explain(X.iloc[[2]])
    names = ["day", "zone", "word"]
    pd.testing.assert_frame_equal(result.counterfactual[names], X.iloc[[2]][names])


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [object, "str", "string", "category"])
def test_a_changed_text_keeps_the_type_of_its_column(dtype):
    X = pd.DataFrame({"word": pd.Series(["a", "b", "c"] * 20, dtype=dtype), "size": range(60)})
    steps = ColumnTransformer([("one", OneHotEncoder(), ["word"])], remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=2)).fit(X, X.word == "b")
    explainer, row = Explainer(model, X), X.iloc[[0]]
    found = explainer.explain(row).counterfactual
    batch = explainer.explain_batch(X.iloc[:3], executor=here)
    assert found.word.iloc[0] == batch.cf_word[0] == "b"
    assert found.word.dtype == batch.cf_word.dtype == row.word.dtype


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["histogram", "lightgbm", "scaled"])
def test_answers_to_rows_of_float32_are_reached_as_they_are_returned(kind):
    """The models split in float64: an answer may need more digits than the row's type has."""
    make = {
        "histogram": lambda: HistGradientBoostingClassifier(max_iter=2, min_samples_leaf=2),
        "lightgbm": lambda: lgb.LGBMClassifier(n_estimators=2, min_child_samples=2, verbose=-1),
        "scaled": lambda: make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3)),
    }[kind]
    for seed in range(4):
        random = np.random.default_rng(seed)
        first = np.round(random.uniform(-1, 1, 120), 2)
        X = np.column_stack([first, random.integers(0, 4, 120)]).astype(np.float32)
        y = X[:, 0] + 0.3 * X[:, 1] > 0.6
        for data in (X, pd.DataFrame(X, columns=["first", "second"])):
            model = make().fit(data, y)
            explainer = Explainer(model, data)
            for at in range(3):
                row = data[at] if isinstance(data, np.ndarray) else data.iloc[[at]]
                found = explainer.explain(row)
                answer = np.atleast_2d(found.counterfactual) if data is X else found.counterfactual
                assert model.predict(answer)[0] == found.target
            batch = explainer.explain_batch(data[:3], executor=here)
            answers = batch[[name for name in batch if name.startswith("cf_")]]
            again = answers.to_numpy() if data is X else answers.set_axis(data.columns, axis=1)
            assert (model.predict(again) == batch.target).all()
