"""FrameAnswers gives the answers of explain_batch in columns and types that never differ."""

import pickle
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from counterfolio import Explainer, FrameAnswers, Increase, InputError, Range

N = 120


@pytest.fixture(scope="module")
def clients():
    """Return rows with a key that the model does not have."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "client": [f"C{number}" for number in range(N)],
            "age": rng.integers(18, 70, N),
            "income": np.round(rng.lognormal(3, 0.5, N), 3),
            "housing": rng.choice(["free", "own", "rent"], N),
            "member": rng.random(N) < 0.5,
        }
    )


@pytest.fixture(scope="module")
def explainer(clients):
    X = clients.drop(columns="client")
    y = np.where(X["income"] / 20 + (X["housing"] == "own") + X["member"] > 2, "yes", "no")
    encoder = make_column_transformer((OneHotEncoder(), ["housing"]), remainder="passthrough")
    model = make_pipeline(encoder, RandomForestClassifier(5, max_depth=3, random_state=0))
    return Explainer(model.fit(X, y), X)


@pytest.fixture(scope="module")
def answers(explainer, clients):
    return FrameAnswers(explainer, clients, keep=["client"], target="yes")


def without_seconds(frame):
    return frame.drop(columns="seconds")


def test_answers_are_those_of_explain_batch(explainer, answers, clients):
    rows = clients.iloc[[3, 50, 7, 7]]
    frame = answers(rows)
    expected = explainer.explain_batch(rows.drop(columns="client"), target="yes")
    assert frame.index.tolist() == [3, 50, 7, 7]
    assert frame["client"].tolist() == rows["client"].tolist()
    names = [name for name in expected if name not in ("id", "seconds", "backend")]
    pd.testing.assert_frame_equal(
        frame[names].reset_index(drop=True), expected[names], check_dtype=False
    )


def test_all_frames_have_the_same_columns_and_types(explainer, clients):
    unreachable = [Increase("age"), Range("age", 18, 40)]  # for some rows
    answers = FrameAnswers(explainer, clients, ["client"], target="yes", constraints=unreachable)
    old, young = clients[clients["age"] > 45].head(3), clients[clients["age"] < 35].head(3)
    frames = [answers(old), answers(young), answers(clients.head(0)), answers.empty]
    assert frames[0]["cf_age"].isna().all()
    assert frames[0]["status"].tolist() == ["infeasible"] * 3
    assert frames[1]["cf_age"].notna().all()
    for frame in frames:
        pd.testing.assert_series_equal(frame.dtypes, answers.empty.dtypes)
    kinds = answers.empty.dtypes.astype(str).to_dict()
    assert [kinds[f"cf_{name}"] for name in ("age", "income", "housing", "member")] == [
        "Int64", "float64", "string", "boolean",
    ]  # fmt: skip


def test_types_do_not_depend_on_missing_values_of_a_partition(answers, clients):
    """Engines turn whole numbers with missing ones into floats."""
    rows = clients.head(3).astype({"age": float, "member": object})
    pd.testing.assert_frame_equal(
        without_seconds(answers(rows)), without_seconds(answers(clients.head(3)))
    )


def test_whole_numbers_may_have_answers_between_them(clients):
    X = clients[["age", "income"]]
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, X["age"] > 40)
    explainer = Explainer(model, X, features={"age": {"kind": "numeric"}})
    frame = FrameAnswers(explainer, X)(X.head(5))
    assert frame["cf_age"].dtype == "float64"
    expected = explainer.explain_batch(X.head(5))
    assert frame["cf_age"].tolist() == expected["cf_age"].tolist()
    assert frame["target"].tolist() == expected["target"].tolist()
    assert frame["target"].dtype == "boolean"


def test_a_row_that_cannot_be_read_has_a_reason(answers, clients):
    rows = clients.head(2).assign(income=["much", 20.0])
    frame = answers(rows)
    assert frame["status"].tolist() == ["unknown", "optimal"]
    assert "much" in frame["message"].iloc[0]


@pytest.mark.parametrize("convert", [polars.from_pandas, pyarrow.Table.from_pandas])
def test_frames_of_other_libraries(answers, clients, convert):
    rows = convert(clients.head(3))
    frame = answers(rows)
    assert type(frame) is type(rows)
    again = frame.to_pandas()
    expected = answers(clients.head(3))
    assert again["distance"].tolist() == expected["distance"].tolist()
    assert again["cf_age"].tolist() == expected["cf_age"].tolist()


def test_the_schema_is_that_of_arrow_frames(answers, clients):
    batch = pyarrow.RecordBatch.from_pandas(clients.head(2))
    assert answers(batch).schema.equals(answers.schema)
    assert answers.schema.field("cf_age").type == pyarrow.int64()
    assert answers.schema.field("cf_housing").type == pyarrow.string()


def test_a_frame_without_rows_is_enough_for_the_types(explainer, answers, clients):
    meta = FrameAnswers(explainer, clients.head(0), ["client"], target="yes")
    pd.testing.assert_frame_equal(meta.empty, answers.empty)


def test_a_copy_gives_the_same_answers(answers, clients):
    copy = pickle.loads(pickle.dumps(answers))
    pd.testing.assert_frame_equal(
        without_seconds(copy(clients.head(2))), without_seconds(answers(clients.head(2)))
    )


@pytest.mark.slow
def test_another_process_gives_the_same_answers(answers, clients):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        frame = pool.submit(answers, clients.head(3)).result()
    pd.testing.assert_frame_equal(without_seconds(frame), without_seconds(answers(clients.head(3))))


def test_settings_are_those_of_a_query(explainer, clients):
    rows = clients.drop(columns="client")
    answers = FrameAnswers(
        explainer, rows, target="yes", norm=0, strategy="search", tie_break=True, seed=3
    )
    expected = explainer.explain_batch(
        rows.head(5), "yes", norm=0, strategy="search", tie_break=True
    )
    assert answers(rows.head(5))["distance"].tolist() == expected["distance"].tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tarket": "yes"}, "unknown setting 'tarket'. Did you mean \"target\"?"),
        ({"executor": "ray"}, "unknown setting 'executor'."),
        ({"target": "maybe"}, "maybe"),
        ({"norm": "l3"}, "l3"),
        ({"time_limit_s": 0}, "time_limit_s must be above 0 seconds"),
        ({"strategy": "maps"}, "maps"),
        ({"keep": ["clint"]}, "unknown column 'clint'. Did you mean \"client\"?"),
    ],
)
def test_bad_settings_are_rejected_at_once(explainer, clients, settings, message):
    with pytest.raises(InputError) as error:
        FrameAnswers(explainer, clients, **({"keep": ["client"]} | settings))
    assert message in str(error.value)


def test_a_map_is_sent_along(clients):
    X = clients[["age", "income"]]
    model = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, X["age"] > 40)
    explainer = Explainer(model, X)
    mapped = pickle.loads(pickle.dumps(FrameAnswers(explainer, X, strategy="map")))
    assert set(mapped(X.head(4))["backend"]) == {"map"}
    expected = explainer.explain_batch(X.head(4))["distance"]
    assert mapped(X.head(4))["distance"].tolist() == expected.tolist()


def test_values_of_another_type_than_in_like_are_refused(explainer, clients):
    answers = FrameAnswers(explainer, clients.assign(client=1), ["client"], target="yes")
    with pytest.raises(InputError, match="'client' has values that are not of the type int64"):
        answers(clients.head(2))


def test_other_bad_input(explainer, answers, clients):
    with pytest.raises(InputError, match="FrameAnswers needs an Explainer, got str"):
        FrameAnswers("model", clients)
    with pytest.raises(InputError, match=r"keep has .*'status'"):
        FrameAnswers(explainer, clients.assign(status=1), ["client", "status"])
    with pytest.raises(InputError, match="like must be a frame, got list"):
        FrameAnswers(explainer, [1, 2])
    with pytest.raises(InputError, match="lacks 'age'"):
        FrameAnswers(explainer, clients.drop(columns="age"), keep=["client"])
    with pytest.raises(InputError, match="unknown column 'client'"):
        answers(clients.drop(columns="client"))
