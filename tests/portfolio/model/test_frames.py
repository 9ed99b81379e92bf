"""Frames of polars and pyarrow are taken as those of pandas are, and given back as they came."""

import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from portfolio import Explainer


@pytest.fixture(scope="module")
def loans():
    X = pd.DataFrame({"income": range(40), "job": ["cook", "nurse"] * 20, "debt": [1.5, 2.5] * 20})
    y = ["yes" if i > 20 or d > 2 else "no" for i, d in zip(X.income, X.debt, strict=True)]
    steps = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    forest = RandomForestClassifier(5, max_depth=3, random_state=0)
    return make_pipeline(steps, forest).fit(X, y), X


KINDS = {"polars": pl.from_pandas, "pyarrow": lambda frame: pl.from_pandas(frame).to_arrow()}


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
    frame = explainer.explain_batch(KINDS[kind](X.head(3)), target="yes")
    assert type(frame) is type(KINDS[kind](X)) and frame.shape[0] == 3


def test_a_frame_of_numbers_is_given_back_as_polars_too(loans):
    _, X = loans
    numbers = X[["income", "debt"]]
    forest = RandomForestClassifier(5, random_state=0).fit(numbers, X.job)
    result = Explainer(forest, pl.from_pandas(numbers)).explain(pl.from_pandas(numbers)[4])
    assert isinstance(result.counterfactual, pl.DataFrame)
    assert forest.predict(result.counterfactual.to_pandas())[0] == result.target
