"""Frames of polars and pyarrow are taken as those of pandas are, and given back as they came."""

import itertools

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from portfolio import Explainer, Fixed, InputError
from tests.support.answers import here


@pytest.fixture(scope="module")
def loans():
    X = pd.DataFrame({"income": range(40), "job": ["cook", "nurse"] * 20, "debt": [1.5, 2.5] * 20})
    y = ["yes" if i > 20 or d > 2 else "no" for i, d in zip(X.income, X.debt, strict=True)]
    steps = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    return make_pipeline(steps, forest).fit(X, y), X


KINDS = {"polars": pl.from_pandas, "pyarrow": lambda frame: pl.from_pandas(frame).to_arrow()}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_pipeline_answers_in_the_kind_that_was_asked_in(loans, kind):
    model, X = loans
    ours = Explainer(model, X).explain(X.iloc[[3]], target="yes")
    explainer = Explainer(model, KINDS[kind](X))
    theirs = explainer.explain(KINDS[kind](X.iloc[[3]]), target="yes")
    assert type(theirs.counterfactual) is type(KINDS[kind](X))
    assert (
        theirs.distance == ours.distance
        and theirs.to_dict()["changes"] == ours.to_dict()["changes"]
    )
    frame = explainer.explain_batch(KINDS[kind](X.head(3)), target="yes", executor=here)
    assert type(frame) is type(KINDS[kind](X)) and frame.shape[0] == 3


def test_a_frame_of_numbers_is_given_back_as_polars_too(loans):
    _, X = loans
    numbers = X[["income", "debt"]]
    forest = RandomForestClassifier(5, random_state=0).fit(numbers, X.job)
    result = Explainer(forest, pl.from_pandas(numbers)).explain(pl.from_pandas(numbers)[4])
    assert isinstance(result.counterfactual, pl.DataFrame)
    assert forest.predict(result.counterfactual.to_pandas())[0] == result.target


def test_a_batch_of_pyarrow_is_read_by_name(loans):
    _, X = loans
    numbers = X[["income", "debt"]]
    explainer = Explainer(DecisionTreeClassifier(max_depth=3).fit(numbers, X.income > 20), numbers)
    turned = numbers[["debt", "income"]].iloc[[3]]
    answer = explainer.explain(pa.RecordBatch.from_pandas(turned)).counterfactual
    ours = explainer.explain(turned).counterfactual
    assert answer.to_pylist() == ours.to_dict("records")


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (pl.LazyFrame({"income": [1.0], "debt": [1.0]}), "lazy. Call collect"),
        (
            pa.Table.from_arrays([pa.array([1.0])] * 2, names=["debt"] * 2),
            "two columns of the same",
        ),
    ],
)
def test_frames_that_cannot_be_read_are_refused(loans, frame, says):
    _, X = loans
    numbers = X[["income", "debt"]]
    model = DecisionTreeClassifier(max_depth=3).fit(numbers, X.income > 20)
    with pytest.raises(InputError, match=says):
        Explainer(model, numbers).explain(frame)
    with pytest.raises(InputError, match=says):
        Explainer(model, frame)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_with_nulls_come_back_as_such(kind):
    random = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"k": [1, 2, None, 4, 5, 6, 7, 8] * 12, "v": random.normal(size=96).round(2)}
    ).with_columns(pl.col("v").cast(pl.Float32), pl.Series("b", [True, False] * 48))
    rows = frame.to_pandas()
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)
    model.fit(rows, rows.k.fillna(3) + rows.v > 4)
    given = frame if kind == "polars" else frame.to_arrow()
    explainer = Explainer(model, given)
    for place in range(4):
        row = frame[place] if kind == "polars" else given.slice(place, 1)
        for asked in (row, nw.from_native(row)):
            answer = pl.DataFrame(explainer.explain(asked, constraints=[Fixed("v")]).counterfactual)
            assert answer.schema == frame.schema
    moved = pl.DataFrame(explainer.explain(row, constraints=[Fixed("k")]).counterfactual)
    assert moved.schema["k"] == pl.Int64 and moved.schema["v"] == pl.Float64  # between two float32


def test_a_frame_of_numbers_is_given_back_with_its_index_and_types():
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "whole": random.integers(0, 9, 80),
            "real": random.normal(size=80),
            "flag": random.random(80) > 0.5,
            "few": random.integers(0, 9, 80).astype(np.int8),
            "short": random.integers(0, 9, 80).astype(np.float32),
        },
        index=pd.Index([f"r{at}" for at in range(80)], name="id"),
    )
    model = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X, (X.whole > 4) ^ X.flag)
    explainer = Explainer(model, X)
    for asked in (X, X[X.columns[::-1]], X.convert_dtypes()):
        for place in range(3):
            row = asked.iloc[[place]]
            result = explainer.explain(row)
            answer = result.counterfactual
            kept = [own for own in asked.columns if own not in ("real", "short")]
            assert answer.index.equals(row.index) and answer.index.name == "id"
            assert answer[kept].dtypes.equals(row[kept].dtypes)
            assert list(answer.columns) == list(row.columns)
            assert model.predict(answer[X.columns])[0] == result.target
    assert result.to_dict()["counterfactual"].keys() == set(X.columns)
    stump = DecisionTreeClassifier(max_depth=1).fit(X, X.whole > 4)
    halves = Explainer(stump, X, {"whole": "numeric"}).explain(X.iloc[[0]]).counterfactual
    assert halves["whole"].dtype == np.float64 and abs(halves["whole"].iloc[0] - 4.5) < 1e-6
    polars = explainer.explain(pl.from_pandas(X)[3])
    assert polars.to_dict()["counterfactual"].keys() == set(X.columns)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_steps_are_given_the_types_of_the_frame_that_they_were_fitted_on(seed):
    """An encoder of text and whole numbers of polars takes no whole numbers of pandas."""
    random, n = np.random.default_rng(seed), 120
    X = pl.DataFrame(
        {
            "charge": random.integers(0, 9, n) / 2,
            "plan": random.choice(["m", "y", "z"], n).tolist(),
            "senior": random.integers(0, 3, n),
            "paid": (random.random(n) < 0.5).tolist(),
        }
    )
    y = (X["charge"].to_numpy() > 2) ^ (X["plan"] == "m").to_numpy() ^ X["paid"].to_numpy()
    encoder = OneHotEncoder(handle_unknown="ignore")
    steps = make_column_transformer(
        ("passthrough", ["charge"]), (encoder, ["plan", "senior", "paid"])
    )
    forest = RandomForestClassifier(6, max_depth=4, random_state=seed)
    model = make_pipeline(steps, forest).fit(X, y)
    explainer = Explainer(model, X)
    halves = [float(value) for value in np.arange(0, 4.25, 0.25)]
    rows = pl.DataFrame(
        [*itertools.product(halves, "myz", range(3), (False, True))], schema=X.schema, orient="row"
    )
    predicted = model.predict(rows)
    for at in range(4):
        found = explainer.explain(X[at])
        own = X.row(at)
        costs = [
            abs(row[0] - own[0]) / 4 + sum(a != b for a, b in zip(row[1:], own[1:], strict=True))
            for row in rows.rows()
        ]
        best = min(np.array(costs)[predicted != model.predict(X[at])[0]])
        assert found.status == "optimal" and found.counterfactual.schema == X.schema
        assert best - 0.25 / 4 < found.distance <= best + 1e-9


@pytest.mark.parametrize("as_categories", [False, True])
def test_views_of_text_are_read_as_text(loans, as_categories):
    model, X = loans
    text = pa.array(X.job.tolist()).cast(pa.string_view())
    if as_categories:
        codes, labels = pd.factorize(X.job)
        text = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(labels, pa.string_view()))
    views = pa.table({"income": X.income, "job": text, "debt": X.debt})
    explainer, ours = Explainer(model, views), Explainer(model, X)
    assert explainer.digest == ours.digest
    for row in (views.slice(3, 1), views.slice(3, 1).to_batches()[0]):
        assert explainer.predict(row) == ours.predict(X.iloc[[3]])
        answer = explainer.explain(row, target="yes", constraints=[Fixed("income")])
        expected = ours.explain(X.iloc[[3]], target="yes", constraints=[Fixed("income")])
        assert answer.counterfactual.to_pylist() == expected.counterfactual.to_dict("records")
    batch = explainer.explain_batch(views.slice(0, 4), target="yes", executor=here)
    expected = ours.explain_batch(X.head(4), target="yes", executor=here)
    assert batch["distance"].to_pylist() == expected["distance"].tolist()
