"""Records of strangers: nothing is verified, nothing hangs, nothing fills the memory."""

import contextlib
import copy
import functools
import math
import operator
import tracemalloc

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from portfolio.checker import RejectedError, check
from tests.support.claims import accepted, boxes, claimed, column, xgboost_of
from tests.support.proofs import recorded


def places(told, at=()):
    """Where the parts of a record are; of lists the first part alone."""
    yield at
    inside = told if isinstance(told, dict) else [0] if isinstance(told, list) and told else ()
    for name in inside:
        yield from places(told[name], (*at, name))


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", float("nan")), ("weight", float("inf")), ("unit", 0.0), ("step", -1.0)],
)
def test_costs_that_are_none_are_rejected(name, value):
    record, model = recorded(0)
    for told in record["question"]["columns"]:
        told[name] = value
    record["question"]["power"] = 1
    assert not accepted(record, model)
    record, _ = recorded(0)
    record["question"]["power"] = float("nan")
    with pytest.raises(RejectedError, match="power"):
        check(record, model)


def test_columns_are_whole_numbers_and_limits_no_nan():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 2)
    odd = [{"most": 0, "changed": [False], "same": []}]
    with pytest.raises(RejectedError, match=r"limits\[0\].changed\[0\] is not of type int"):
        check(claimed(model, [0.0, 1.0], [column(), column()], limits=odd), model)
    with pytest.raises(
        RejectedError, match=r"columns\[0\].lower is not of type float, or too large"
    ):
        check(claimed(model, [0, 0], [column(lower=float("nan")), column()]), model)


def test_steps_are_read_one_by_one():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    record = claimed(model, [0], [column()], below=0.1, steps=b"close\n" * 2_000_000)
    tracemalloc.start()
    with pytest.raises(RejectedError, match="comes after the last box"):
        check(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50_000_000


def test_work_is_limited():
    model = xgboost_of([(k, 0.5, -1.0, 1.0) for k in range(6)], 6)
    record = claimed(model, [0] * 6, [column()] * 6, below=0.1, steps=boxes(6))
    assert accepted(record, model)
    with pytest.raises(RejectedError, match="raise --work"):
        check(record, model, work=1e6)


def test_all_classes_share_the_work():
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    model = DecisionTreeClassifier(max_depth=3).fit(X, np.digitize(X[:, 0], [0.3, 0.6]))
    steps = b"split 0 0 0\nclose\nsplit 0 1 0\nclose\nclose\n"
    record = claimed(model, [0.1], [column()], below=1e-3, steps=steps)
    record["question"]["target"] = None
    record["proof"]["covers"] *= 2
    assert check(record, model, work=450_000)
    with pytest.raises(RejectedError, match="raise --work"):
        check(record, model, work=300_000)


@pytest.mark.slow
def test_large_powers_of_many_values_keep_no_long_numbers():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    values = (np.random.default_rng(0).random(20_000) * 1e-290).tolist()
    many = column(values=values, unit=1 / 3, weight=1 / 3e300)
    record = claimed(model, [1 / 3], [many], below=3e299, power=8)
    tracemalloc.start()
    assert accepted(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40_000_000


@pytest.mark.slow
def test_limits_are_bounded_in_number():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)] * 100, 1)
    limits = [{"most": 1, "changed": [0], "same": []}] * 300_000
    with pytest.raises(RejectedError, match="too many limits"):
        check(claimed(model, [0], [column()], below=0.1, limits=limits), model)


def test_each_limit_of_changes_is_work():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    limits = [{"most": 1, "changed": [0], "same": []}] * 1000
    record = claimed(model, [0], [column()], below=0.1, steps=boxes(1), limits=limits)
    with pytest.raises(RejectedError, match="raise --work"):
        check(record, model, work=2e7)
    assert accepted(record, model)


def test_each_leaf_is_work_for_each_need():
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 2)), np.arange(600) % 30
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    steps = b"".join(b"split 0 %d 1\n" % k for k in range(20))
    record = claimed(model, X[0].tolist(), [column(), column()], steps=steps)
    record["question"]["target"] = 1 - min(1, record["query_class"])
    leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    with pytest.raises(RejectedError, match="raise --work"):
        check(record, model, work=15 * 30 * (10_000 + leaves))
    with pytest.raises(RejectedError, match="leave a box open"):
        check(record, model)


@pytest.mark.parametrize("count", [float("nan"), float("inf"), None])
def test_a_limit_of_changes_is_a_number(count):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    limit = [{"most": count, "changed": [0], "same": []}]
    assert not accepted(claimed(model, [0], [column()], below=0.6, limits=limit), model)


def test_what_boxes_hold_that_wait_is_limited(monkeypatch):
    rng = np.random.default_rng(0)
    model = RandomForestClassifier(20, random_state=0).fit(rng.random((300, 1)), np.arange(300) % 2)
    now = int(model.predict([[0.5]])[0])
    n_leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    steps = "".join(f"split 0 {200 - k} 0\n" for k in range(20)).encode()
    record = claimed(model, [0.5], [column()], below=1e9, steps=steps, target=1 - now)
    for held, said in ((5 * n_leaves, "too many boxes"), (10**8, "leave a box open")):
        monkeypatch.setattr("portfolio.checker.MOST_HELD", held)
        with pytest.raises(RejectedError, match=said):
            check(record, model)


@pytest.mark.parametrize("steps", [b"ab " * 2_000_000, b"a" * 6_000_000])
def test_a_step_without_an_end_is_not_read_whole(steps):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    record = claimed(model, [0], [column()], below=0.1, steps=steps)
    tracemalloc.start()
    with pytest.raises(RejectedError, match="is not a step") as error:
        check(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30_000_000 and len(str(error.value)) < 2000


@pytest.mark.slow
def test_many_rows_that_are_said_to_be_refused_take_no_memory():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)] * 300, 1)
    record = claimed(model, [0], [column()], below=0.1)
    record["proof"]["covers"][0]["refused"] = [[0.0]] * 10_000
    tracemalloc.start()
    assert accepted(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10_000_000


@pytest.mark.slow
def test_whatever_is_malformed_is_told_in_a_sentence(tumours_record):
    record, model = tumours_record
    record["question"]["limits"] = [{"most": 5, "changed": [0, 1], "same": []}]
    record["proof"]["covers"][0]["refused"] = [record["query"]]
    for *at, name in filter(None, places(record)):
        for odd in (..., None, "x", -1, 10**400, math.nan, [], [[]], {}, True):
            other = copy.deepcopy(record)
            part = functools.reduce(operator.getitem, at, other)
            part[name] = odd
            if odd is ...:
                del part[name]
            with contextlib.suppress(RejectedError):
                check(other, model)


@pytest.mark.filterwarnings("ignore:overflow")
def test_numbers_that_float32_can_not_hold_are_no_values():
    """To the model they are infinite, and on the other side of a threshold at the end."""
    end = float(np.finfo(np.float32).max)
    low, high = xgboost_of([(0, -end, 1.0, -1.0)], 1), xgboost_of([(0, np.inf, -1.0, 1.0)], 1)
    for model, row, limits in ((low, -1e300, {"lower": -1e300}), (high, 1e300, {"upper": 1e300})):
        assert model.predict([[row]])[0] == 1
        for told in (limits, {"values": [0.0, row], "prices": [0, 1], **limits}):
            with pytest.raises(RejectedError, match="a value is too large"):
                check(claimed(model, [0.0], [column(**told)]), model)
        assert accepted(claimed(model, [0.0], [column()]), model)


def test_columns_are_work_for_each_step():
    rng = np.random.default_rng(0)
    X, y = rng.random((50, 3000)), np.arange(50) % 2
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    steps = b"".join(b"split 0 %d 1\n" % k for k in range(30))
    columns = [column(values=[float(k) for k in range(60)], lower=0, upper=60)]
    record = claimed(model, X[0].tolist(), columns + [column()] * 2999, steps=steps)
    record["question"]["target"] = 1 - record["query_class"]
    record["question"]["limits"] = [{"most": 9, "changed": [], "same": [0]}]
    with pytest.raises(RejectedError, match="more work"):
        check(record, model, work=30 * 3 * 30_000)


def test_refused_rows_are_work():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)] * 100, 1)
    record = claimed(model, [0.0], [column()], below=0.1)
    record["proof"]["covers"][0]["refused"] = [[0.0]] * 10_000
    with pytest.raises(RejectedError, match="too many refused rows"):
        check(record, model, work=1e6)


@pytest.mark.parametrize("record", [None, [], 5, {"record": None}, {"record": []}])
def test_what_is_no_record_is_rejected(record):
    with pytest.raises(RejectedError, match="not version 5"):
        check(record, xgboost_of([(0, 0.5, -1.0, 1.0)], 1))


def test_it_is_told_which_step_fails():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    record = claimed(model, [0.0], [column()], below=9.0, steps=b"split 0 0 1\nclose\nclose\n")
    with pytest.raises(RejectedError, match=r"step 2 b'close.*does not hold"):
        check(record, model)
    record = claimed(model, [0.0], [column()], below=0.1, steps=b"close\nclose\n")
    with pytest.raises(RejectedError, match=r"step 2 .* comes after the last box"):
        check(record, model)
