"""Features of a frame: what a group of columns is called."""

import ast

import numpy as np
import pandas as pd
import pytest

from encoders.core.errors import InputError
from encoders.query.infer_features import infer_features


def test_two_groups_of_one_name_are_told_apart():
    code = np.arange(12) % 3
    columns = {f"a_{c}": (code == c) * 1.0 for c in range(3)}
    columns |= {f"a={c}": (code[::-1] == c) * 1.0 for c in range(3)}
    frame = pd.DataFrame(columns)
    space = infer_features(frame)
    assert sorted(f.name for f in space.features) == ["a", "a=*"]
    with pytest.raises(InputError, match="two features have the name 'a'"):
        type(space)((space.features[0], space.features[0]), space.columns)


def dummies(codes, labels):
    return pd.DataFrame({f"job_{label}": (codes == k) * 1.0 for k, label in enumerate(labels)})


def test_columns_of_which_evidently_at_most_one_is_1_are_a_category_with_a_base():
    codes = np.random.default_rng(0).integers(-1, 3, 200)  # -1: no column
    (job,) = infer_features(dummies(codes, "bcd")).features
    assert (job.name, job.labels, job.has_base) == ("job", ("b", "c", "d", "base"), True)


def test_sparse_flags_that_never_meet_by_chance_stay_apart():
    frame = pd.DataFrame(np.zeros((200, 3)), columns=["has_cat", "has_dog", "has_fish"])
    for column, rows in enumerate(([1, 2, 3], [10, 11, 12, 13], [20, 21])):
        frame.iloc[rows, column] = 1.0
    assert [f.kind for f in infer_features(frame).features] == ["binary"] * 3


def test_one_row_with_two_ones_keeps_columns_apart_until_they_are_declared():
    frame = dummies(np.arange(200) % 3, "abc")
    frame.loc[7] = [1.0, 1.0, 0.0]
    assert [f.kind for f in infer_features(frame).features] == ["binary"] * 3
    space = infer_features(frame, {"job": "categorical"})
    assert space.features[0].labels == ("a", "b", "c")
    assert "1 of 200 training rows" in str(space)
    frame.loc[range(10)] = [1.0, 1.0, 0.0]
    with pytest.raises(InputError, match="10 of 200 training rows"):
        infer_features(frame, {"job": "categorical"})
    assert infer_features(frame, {"job": {"kind": "categorical", "tolerance": 0.1}})


def test_the_base_may_be_named_or_the_columns_described_one_by_one():
    frame = dummies(np.arange(200) % 4 - 1, "bcd")
    job = {"kind": "categorical", "base": "a"}
    assert infer_features(frame, {"job": job}).features[0].labels == ("b", "c", "d", "a")
    apart = infer_features(frame, dict.fromkeys(frame.columns, "binary"))
    assert [f.kind for f in apart.features] == ["binary"] * 3
    with pytest.raises(InputError, match="50 of 200 training rows"):
        infer_features(frame, {"job": job | {"base": False}})


def test_the_number_of_missing_values_is_no_part_of_bounds_and_spread():
    column = np.tile([-9999.0, 3.0, 5.0, 8.0, 4.0], 20)
    (own,) = infer_features(pd.DataFrame({"v": column}), absent={"v": -9999.0}).features
    assert (own.lower, own.upper, own.std) == (3.0, 8.0, np.std([3.0, 5.0, 8.0, 4.0]))
    flag = infer_features(pd.DataFrame({"v": np.tile([0.0, 1.0], 20)}), absent={"v": 0.0}).features[
        0
    ]
    assert (flag.kind, flag.values) == ("binary", (0.0, 1.0))


def test_an_isolated_code_is_named_until_bounds_leave_it_out():
    frame = pd.DataFrame({"v": [-999.0, 3.0, 5.0, 8.0, 4.0], "w": [999.0, 900.0, 1.0, 5.0, 30.0]})
    assert "-999 looks like a code" in str(infer_features(frame))
    assert "999 looks" not in str(infer_features(frame[["w"]]))
    assert "looks" not in str(infer_features(frame, {"v": {"bounds": [0, 9]}}))


def test_declared_codes_are_no_part_of_kind_bounds_and_spread():
    column = np.tile([-7.0, -8.0, 0.0, 1.0, np.nan], 9)
    frame = pd.DataFrame({"v": column, "w": np.tile([99.0, 1.0, 2.5, 3.0, 4.0], 9)})
    given = {"v": {"missing_codes": [-7, -8]}, "w": {"missing_codes": [99]}}
    flag, number = infer_features(frame, given).features
    assert (flag.kind, flag.values, flag.codes) == ("binary", (0.0, 1.0), (-8.0, -7.0))
    assert (number.lower, number.upper, number.typical) == (1.0, 4.0, 2.75)
    assert "0, 1, or missing (-8, -7)" in flag.describe_values()


def test_the_note_on_an_isolated_code_holds_a_declaration_that_works():
    frame = pd.DataFrame({"v": [-9999.0, 3.0, 5.0, 8.0, 4.0, 99999.0]})
    (own,) = infer_features(frame).features
    remedy = own.note.split("features=")[1]
    (declared,) = infer_features(frame, ast.literal_eval(remedy)).features
    assert (declared.codes, declared.lower, declared.upper) == ((-9999.0, 99999.0), 3.0, 8.0)
    assert declared.note == ""


def test_the_default_code_of_a_model_can_be_undone():
    frame = pd.DataFrame({"v": [-9999.0, 3.0, 5.0, 8.0, 4.0]})
    (own,) = infer_features(frame, {"v": {"missing_codes": []}}, absent={"v": -9999.0}).features
    assert (own.codes, own.lower) == ((), -9999.0)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"missing_codes": -7}, "must be a list of finite numbers"),
        ({"missing_codes": ["-7"]}, "must be a list of finite numbers"),
        ({"missing_codes": [float("nan")]}, "must be a list of finite numbers"),
        ({"missing_codes": [5], "values": [3, 5]}, "listed in values and in missing_codes"),
    ],
)
def test_codes_that_do_not_fit_are_refused(entry, message):
    frame = pd.DataFrame({"v": [3.0, 4.0, 5.0]})
    with pytest.raises(InputError, match=message):
        infer_features(frame, {"v": {"kind": "ordinal", **entry}})


def test_codes_of_a_group_of_dummies_are_refused():
    frame = pd.DataFrame({"j_a": [1.0, 0.0], "j_b": [0.0, 1.0]})
    with pytest.raises(InputError, match="columns of numbers"):
        infer_features(frame, {"j": {"kind": "categorical", "missing_codes": [-7]}})


def test_a_column_of_codes_alone_is_fixed():
    frame = pd.DataFrame({"v": [3.0, 4.0, 5.0]})
    (own,) = infer_features(frame, {"v": {"missing_codes": [3, 4, 5]}}).features
    assert (own.action, own.codes) == ("fixed", (3.0, 4.0, 5.0))


def test_one_column_of_a_one_hot_group_is_not_described_alone():
    frame = pd.DataFrame(np.eye(3), columns=["job_a", "job_b", "job_c"])
    with pytest.raises(InputError, match=r"job_a as 'job_a', but job_b, job_c belong to the same"):
        infer_features(frame, {"job_a": {"action": "fixed"}})
    each = infer_features(frame, dict.fromkeys(frame.columns, "binary"))
    assert [feature.kind for feature in each.features] == ["binary"] * 3


@pytest.mark.parametrize("kind", ["categorical", "binary"])
@pytest.mark.parametrize("name", ["job", "clerk"])
@pytest.mark.parametrize("columns", [["job_a"], ["job_c", "job_a"]])
def test_a_feature_with_only_some_columns_of_a_one_hot_group_is_refused(kind, name, columns):
    """Otherwise an answer could have two jobs at once."""
    frame = pd.DataFrame(np.eye(3)[[0, 1, 2, 1]], columns=["job_a", "job_b", "job_c"])
    entry = {name: {"kind": kind, "columns": columns}}
    with pytest.raises(InputError, match=r"job_b.* to the same .* as the feature 'job', or each"):
        infer_features(frame, entry)
    rest = [column for column in frame if column not in columns]
    if kind == "categorical":  # dividing the group is possible, but must be explicit
        space = infer_features(frame, entry | dict.fromkeys(rest, "binary"))
        assert len(space.features) == 1 + len(rest)


def test_a_feature_may_rename_a_binary_column_that_is_in_no_group():
    frame = pd.DataFrame({"job_a": [0, 1, 1, 0], "job_b": [1, 1, 0, 0], "age": [1.5, 2, 3, 4]})
    space = infer_features(frame, {"clerk": {"kind": "binary", "columns": ["job_a"]}})
    assert space.features[0].name == "clerk" and space.features[0].columns == (0,)


def test_a_unit_is_part_of_the_description_of_numbers():
    frame = pd.DataFrame({"age": np.arange(18, 40), "job": np.arange(22) % 2 * 1.0})
    space = infer_features(frame, {"age": {"unit": "years"}})
    assert [f.unit for f in space.features] == ["years", ""]
    assert "whole numbers 18 to 39 years" in str(space)


@pytest.mark.parametrize(
    ("entry", "message"),
    [({"unit": 3}, "unit must be text, got 3"), ({"unit": None}, "unit must be text, got None")],
)
def test_a_unit_that_is_no_text_is_refused(entry, message):
    with pytest.raises(InputError, match=message):
        infer_features(pd.DataFrame({"age": np.arange(18, 40)}), {"age": entry})


def test_categories_have_no_unit():
    codes = np.arange(200) % 3
    job = {"kind": "categorical", "unit": "years"}
    with pytest.raises(InputError, match="feature job: unit is for numbers"):
        infer_features(dummies(codes, "abc"), {"job": job})
