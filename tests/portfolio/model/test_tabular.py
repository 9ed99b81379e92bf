"""Rows and frames as users give them."""

from io import StringIO

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from encoders.core.errors import InputError
from encoders.query.infer_features import infer_features
from portfolio.model.explained_model import read
from portfolio.model.tabular import _are_rows, read_row, read_rows


def test_rows_read_at_once_are_those_read_one_by_one(explainer, credit):
    frame = pd.concat([credit[1]] * 2, ignore_index=True).astype(object)
    for place, (column, value) in enumerate(
        [("age", "33"), ("age", 33.5), ("age", "old"), ("income", np.inf), ("income", 1e300),
         ("home_own", 2.0), ("employed", True), ("income", None), ("age", 10**400)]
    ):  # fmt: skip
        frame.loc[place, column] = value
    space = explainer.features
    _, _, found = read_rows(frame, space, np.dtype(np.float32))
    for place, values in enumerate(frame.to_numpy()):
        try:
            expected = read_row(values, space, np.dtype(np.float32)).values
        except InputError as error:
            expected = str(error)
        if isinstance(expected, str):
            assert found[place] == expected
        else:
            np.testing.assert_array_equal(found[place], expected)


@pytest.mark.parametrize(
    "change",
    [{}, {"age": 41}, {"age": 41.0}, {"income": 2**60}, {"income": 2**70}, {"income": 10**400},
     {"age": True}, {"age": np.int64(41)}, {"age": None}, {"age": np.nan}, {"age": np.inf},
     {"age": "old"}, {"other": 1}, {1: 1}],
)  # fmt: skip
@pytest.mark.parametrize("turned", [False, True])
def test_a_mapping_is_read_as_the_series_that_holds_it(explainer, credit, change, turned):
    given = dict(credit[1].iloc[0].items()) | change
    given = dict(reversed(given.items())) if turned else given
    space = explainer.features
    try:
        expected = read_row(pd.Series(given), space, np.dtype(np.float32))
    except InputError as error:
        with pytest.raises(InputError) as raised:
            read_row(given, space, np.dtype(np.float32))
        assert str(raised.value) == str(error)
        return
    found = read_row(given, space, np.dtype(np.float32))
    np.testing.assert_array_equal(found.values, expected.values)
    pd.testing.assert_series_equal(found.given(), expected.given())
    assert found.named() == expected.named() == dict(expected.given().items())


def test_a_word_in_a_file_costs_a_pipeline_its_own_row_only():
    X = pd.DataFrame({"job": ["a", "b", "c"] * 20, "age": np.arange(60) % 30})
    steps = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(steps, DecisionTreeClassifier(max_depth=3))
    known = read(model.fit(X, X.age + (X.job == "b") > 14), X, None, None)
    text = X.head(6).to_csv(index=False).replace("b,4", "b,four")
    frame = pd.read_csv(StringIO(text))
    _, _, found = read_rows(frame, known.space, known.input_type, known.native.table)
    assert [place for place, values in enumerate(found) if isinstance(values, str)] == [4]
    assert "'four'" in found[4]
    whole = read_rows(X.head(6), known.space, known.input_type, known.native.table)[2]
    np.testing.assert_array_equal(found[:4] + found[5:], whole[:4] + whole[5:])


def test_rows_with_codes_of_missing_values_are_accepted_together_as_they_are_alone():
    frame = pd.DataFrame(
        {"rooms": [1.0, 2.0, 4.0, -7.0, np.nan], "flag": [0.0, 1.0, 1.0, 0.0, -9.0]}
    )
    overrides = {
        "rooms": {"missing_codes": [-7], "values": [1, 2, 4]},
        "flag": {"missing_codes": [-9], "kind": "binary"},
    }
    space = infer_features(frame, overrides)
    values = [1.0, 2.0, 3.0, -7.0, -7.5, -9.0, 0.0, np.nan]
    rows = np.array([[first, second] for first in values for second in values])
    alone = []
    for row in rows:
        try:
            read_row(row, space, np.dtype(np.float64))
            alone.append(True)
        except InputError:
            alone.append(False)
    assert _are_rows(rows, space, np.dtype(np.float64)).tolist() == alone
    assert 0 < sum(alone) < len(alone)
