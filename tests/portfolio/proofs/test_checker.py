"""What the checker accepts is true; it shares nothing with what made the record."""

import base64
import contextlib
import copy
import functools
import json
import math
import operator
import signal
import subprocess
import sys
import time
import tracemalloc
import zlib
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

import portfolio.checker
from portfolio import Explainer
from portfolio.checker import QUESTION, Cover, RejectedError, check, formed, main, read
from tests.support.parts import few_and_large
from tests.support.proofs import CLAIMS, PROOFS, holds, recorded, spoiled

FEW, LARGE, SPOILED = 12, 408, 25
LINES = 491
ALONE = """
import sys
import portfolio.checker
ours = ("encoders", "selector", "portfolio.", "counterfolio", "numba", "ortools")
wrong = [m for m in sys.modules if m.startswith(ours) and not m.startswith("portfolio.checker")]
assert not wrong, wrong
"""


def accepted(record, model):
    try:
        return check(record, model).startswith("verified")
    except Exception:
        return False


@pytest.mark.parametrize("batch", few_and_large(FEW // 12, LARGE // 12))
def test_records_are_verified_and_spoiled_ones_only_where_they_are_true(batch):
    rejected = {way.__name__: 0 for way in (*CLAIMS, *PROOFS)}
    for seed in range(12 * batch, 12 * batch + 12):
        record, model = recorded(seed)
        assert record["proof"] is not None, (seed, record["why_no_proof"])
        assert check(record, model), seed
        assert holds(record, model) is not False, seed
        rng = np.random.default_rng(seed)
        for _ in range(SPOILED):
            other, way = spoiled(rng, record)
            if accepted(other, model):
                assert holds(other, model) is not False, (seed, way)
            else:
                rejected[way] += 1
    # Most of these change nothing.
    seldom = {"listed", "stays", "changes", "norm", "cut_more", "another_price", "move_a_box"}
    assert batch > 0 or all(n for way, n in rejected.items() if way not in seldom), str(rejected)


def test_another_model_is_told():
    record, _ = recorded(0)
    with pytest.raises(RejectedError, match="another model"):
        check(record, recorded(4)[1])


def test_it_stands_alone():
    subprocess.run([sys.executable, "-c", ALONE], check=True)
    text = Path(portfolio.checker.__file__).read_text()
    lines = text.splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("name", "value"),
    [("weight", float("nan")), ("weight", float("inf")), ("unit", 0.0), ("step", -1.0)],
)
def test_costs_that_are_none_are_rejected(name, value):
    record, model = recorded(0)
    for feature in record["question"]["features"]:
        feature[name] = value
    record["question"]["power"] = 1
    assert not accepted(record, model)
    record, _ = recorded(0)
    record["question"]["power"] = float("nan")
    with pytest.raises(RejectedError, match="power"):
        check(record, model)


def xgboost_of(trees, columns):
    """A model of stumps: (column, threshold, left, right)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, columns)), np.arange(40) % 2
    made = XGBClassifier(n_estimators=len(trees), max_depth=1, base_score=0.501).fit(X, y)
    content = json.loads(bytes(made.get_booster().save_raw("json")))
    grown = content["learner"]["gradient_booster"]["model"]["trees"]
    for own, (column, threshold, left, right) in zip(grown, trees, strict=True):
        own["split_indices"] = [column, 0, 0]
        own["split_conditions"] = [threshold, left, right]
    model = XGBClassifier()
    model.load_model(bytearray(json.dumps(content).encode()))
    return model


def feature(column, **other):
    own = {"name": str(column), "labels": [], "kind": "numeric", "columns": [column], "lower": None}
    own |= {"upper": None, "values": None, "step": None, "stay": True, "unit": 1, "weight": 1}
    return own | {"prices": None} | other


def claimed(model, query, features, below=None, steps=b"close\n", **other):
    """A record that says that nothing below a bound is decided as 1."""
    question = {"target": 1, "lead": 0, "power": 1, "max_changes": []} | other
    now = model.predict(np.array([query], dtype=float))[0].item()
    steps = base64.b64encode(zlib.compress(steps)).decode()
    return {
        "version": 3,
        "why_no_proof": "",
        "distance": None,
        "status": "unknown" if below else "infeasible",
        "model": {"trees": read(model).digest},
        "columns": [str(column) for column in range(len(query))],
        "query": query,
        "query_class": now,
        "lower_bound": below,
        "question": question | {"features": features},
        "answer": None,
        "proof": {"below": below, "covers": [{"refused": [], "steps": steps}]},
    }


def test_a_bias_below_the_rounding_of_the_first_leaf_breaks_ties():
    trees = [(0, 1000.0, 2.0**17, 0.0), (1, 0.0, 0.0, -1.0)]
    model = xgboost_of(trees, 2)
    assert model.predict([[2000.0, -1.0]]) == 1
    with pytest.raises(RejectedError, match="does not hold"):
        check(claimed(model, [2000.0, 1.0], [feature(0, lower=1500), feature(1)]), model)


def test_a_threshold_that_is_no_number_is_not_read():
    model = xgboost_of([(0, float("nan"), -1.0, 1.0), (1, 0.0, -0.5, 0.5)], 2)
    assert model.predict([[0.0, 0.0]]) == 1
    with pytest.raises(RejectedError, match="threshold"):
        read(model)


def test_null_allows_all_categories():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 2)
    group = feature(0, kind="categorical", columns=[0, 1])
    with pytest.raises(RejectedError, match="does not hold"):
        check(claimed(model, [0.0, 1.0], [group]), model)


def test_columns_are_whole_numbers_and_limits_no_nan():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 2)
    group = feature(0, kind="categorical", columns=[False, True], values=[1])
    with pytest.raises(RejectedError, match=r"features\[0\].columns\[0\] is no int"):
        check(claimed(model, [0.0, 1.0], [group]), model)
    with pytest.raises(RejectedError, match=r"features\[0\].lower is too large, .* or no number"):
        check(claimed(model, [0, 0], [feature(0, lower=float("nan")), feature(1)]), model)


def test_powers_of_numbers_too_small_for_floats_cost_nothing():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    dear = feature(0, unit=1e214, weight=1e300)
    # It costs 3.53553e-22; floats say 3.5393e-22.
    record = claimed(model, [0.0], [dear], below=3.5373e-22, power=1.5)
    with pytest.raises(RejectedError, match="does not hold"):
        check(record, model)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_numbers_that_float32_rounds_to_its_largest_go_where_it_goes():
    tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [1, 0])
    state = tree.tree_.__getstate__()
    state["nodes"]["threshold"][0] = 1e39
    tree.tree_.__setstate__(state)
    beyond = 3.4028235e38
    assert tree.predict([[beyond]]) == 1
    record = claimed(tree, [0.0], [feature(0, values=[beyond], upper=1e39, stay=False)])
    with pytest.raises(RejectedError, match="does not hold"):
        check(record, tree)


def test_a_class_of_the_same_name_is_another_model():
    class RandomForestClassifier(DecisionTreeClassifier):
        pass

    with pytest.raises(RejectedError, match="are not read"):
        read(RandomForestClassifier().fit([[0.0], [1.0]], [1, 0]))


def test_a_distance_is_finite_and_a_lead_told_in_full():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    assert "lead of 1.0040001 by" in check(claimed(model, [0], [feature(0)], lead=1.0040001), model)
    record = claimed(model, [0], [feature(0)], below=0.1) | {"status": "feasible"}
    with pytest.raises(RejectedError, match="distance is no float"):
        changes = [{"feature": "0", "before": 0, "after": 7}]
        answer = {"row": [7], "class": 1, "changes": changes}
        check(record | {"distance": "inf", "answer": answer}, model)


def test_a_record_writes_no_lines_of_its_own(tmp_path, monkeypatch, capsys):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    model.save_model(tmp_path / "model.json")
    record = claimed(model, [0], [feature(0)])
    record |= {"proof": None, "why_no_proof": "none\n2: verified: \x1b[2Jall"}
    (tmp_path / "a.json").write_text(json.dumps(record))
    told = ["counterfolio-check", str(tmp_path / "a.json"), "--model", str(tmp_path / "model.json")]
    monkeypatch.setattr(sys, "argv", told)
    assert main() == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("1: not verified") and "\x1b" not in line


def test_steps_are_read_one_by_one():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    record = claimed(model, [0], [feature(0)], below=0.1, steps=b"close\n" * 2_000_000)
    tracemalloc.start()
    with pytest.raises(RejectedError, match="go on"):
        check(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 50_000_000


def test_prices_close_a_box_and_wrong_ones_do_not():
    model = xgboost_of([(0, 0.5, -1.0, 0.6), (1, 0.5, -1.0, 0.6)], 2)

    def says(steps, below=0.6):
        record = claimed(model, [0, 0], [feature(0), feature(1)], below=below, steps=steps)
        return accepted(record, model)

    # Both have to rise by 0.5. With fractions of leaves five quarters of one rise are enough.
    rise = int(2**40 * 0.5 / 0.6)
    prices = b"price 0 0 1 1 %d\nprice 1 1 1 1 %d\nprice 0 %d\nclose\n"
    good = rise, rise, int(rise / 1.6)
    assert says(prices % good) and not says(b"close\n") and not says(prices % good, below=0.63)
    for price in (0, -rise, 2**62):
        for k in range(3):
            assert not says(prices % (*good[:k], price, *good[k + 1 :])), (price, k)
    for place in (b"2 0 1 1", b"0 2 1 1", b"0 0 1 2", b"-1 0 1 1", b"0 0 -1 1", b"0 0 1"):
        assert not says(b"price %s 1\n" % place + prices % good), place


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_prices_no_row_pays_more_than_it_costs(seed):
    record, model = recorded(4 * seed + 1)
    rng, below = np.random.default_rng(seed), 0.7 * float(record["lower_bound"] or 1)
    query, trees = np.array(record["query"]), read(model)
    target = int((trees.decide(query[None, :])[0] + 1) % len(trees.labels))
    asked = formed(record["question"], QUESTION, "question")
    cover = Cover(trees, asked, query.tolist(), below, 1e10)
    lines = [f"price {k} {int(2**40 * rng.exponential())}" for k in range(len(trees.labels) - 1)]
    for _ in range(30):
        column = int(rng.integers(query.size))
        first, last = sorted(rng.integers(cover.size[column], size=2).tolist())
        price = int(2**38 * rng.exponential())
        lines.append(f"price {rng.integers(trees.root.size)} {column} {first} {last} {price}")
    steps = base64.b64encode(zlib.compress("\n".join(lines).encode()))
    with pytest.raises(RejectedError, match="left open"):
        cover.check(target, 0.0, [], steps)
    wanted = 0
    for _ in range(400):
        level = rng.integers(cover.size)
        for group in cover.groups:
            level[group] = rng.permutation(np.arange(group.size) == 0)
        inside = (cover.lo <= level[:, None]) & (level[:, None] <= cover.hi)
        leaves = np.flatnonzero(inside.all(axis=0))
        assert cover.tree[leaves].tolist() == list(range(trees.root.size))
        needs = [(-cover.cost, 0 * cover.tree, 1 - 2**40), *cover.needs[1:]]
        cost, priced, *rivals = (
            int(levels[cover.start + level].sum()) + int(weight[leaves].sum()) - least
            for levels, weight, least in (*needs[:2], *cover.leads)
        )
        if min(rivals) >= 0:
            wanted += 1
            assert priced >= cost
    assert wanted or seed > 0


def test_what_a_record_shows_is_checked(tumours_record):
    record, model = tumours_record
    answer, row = record["answer"], record["query"]
    change = answer["changes"][0]
    worse = record["lower_bound"] * 1.1
    for other in (
        {"query_class": 1 - record["query_class"]},
        {"columns": record["columns"][::-1]},
        {"lower_bound": worse},
        {"lower_bound": None},
        {"answer": answer | {"class": record["query_class"]}},
        {"answer": answer | {"changes": []}},
        {"answer": answer | {"changes": [*answer["changes"], change]}},
        {"answer": answer | {"changes": [change | {"after": 0.0}, *answer["changes"][1:]]}},
        {"answer": answer | {"changes": [change | {"before": row[-1]}, *answer["changes"][1:]]}},
        {"answer": answer | {"changes": [change | {"feature": "x"}, *answer["changes"][1:]]}},
        {"question": record["question"] | {"lead": 5.0}},
    ):
        assert not accepted(record | other, model), other
    assert accepted(record, model)


@pytest.fixture
def tumours_record():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1).fit(X.iloc[:, :6], y)
    result = Explainer(model, X.iloc[:, :6]).explain(X.iloc[0, :6], norm=2)
    return json.loads(result.record().to_json()), model


def test_work_is_limited():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    record = claimed(model, [0], [feature(0)], below=0.1, steps=b"cut\n" * 100 + b"close\n")
    assert accepted(record, model)
    with pytest.raises(RejectedError, match="--work allows more"):
        check(record, model, work=50_000)


def test_all_classes_share_the_work():
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    model = DecisionTreeClassifier(max_depth=3).fit(X, np.digitize(X[:, 0], [0.3, 0.6]))
    record = claimed(model, [0.1], [feature(0)], below=1e-3, steps=b"cut\n" * 50 + b"close\n")
    record["question"]["target"] = None
    record["proof"]["covers"] *= 2
    assert check(record, model, work=320_000)
    with pytest.raises(RejectedError, match="--work allows more"):
        check(record, model, work=180_000)


def test_ctrl_c_ends_it_at_once(tmp_path):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)] * 30, 1)
    model.save_model(tmp_path / "model.json")
    steps = b"cut\n" * 2_000_000 + b"close\n"
    record = claimed(model, [0], [feature(0)], below=0.1, steps=steps)
    quick = claimed(model, [0], [feature(0)], below=0.1)
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(quick)}\n{json.dumps(record)}\n")
    words = [tmp_path / "a.jsonl", "--model", tmp_path / "model.json"]
    process = subprocess.Popen(
        [sys.executable, "-u", portfolio.checker.__file__, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline().startswith("1: verified")
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and time.monotonic() - pressed < 1
    assert said == "counterfolio-check: interrupted, the rest was not checked\n"


def test_a_limit_of_changes_names_features_by_their_places():
    model = xgboost_of([(0, 0.5, -1.0, 0.6), (1, 0.5, -1.0, 0.6)], 2)
    for named in ([1], [-1], [7]):
        limit = [{"count": 0, "features": named}]
        features, steps = [feature(0), feature(1)], b"split 1 0 0\nclose\nclose\n"
        record = claimed(model, [0, 0], features, max_changes=limit, steps=steps)
        assert accepted(record, model) == (named == [1]), named


def test_trees_with_several_scores_in_a_leaf_are_not_read():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3)).round(1)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = XGBClassifier(n_estimators=3, multi_strategy="multi_output_tree").fit(X, y)
    with pytest.raises(RejectedError, match="are not read"):
        read(model)


@pytest.mark.parametrize("booster", ["dart", "gblinear"])
def test_other_boosters_are_refused_in_a_sentence(booster):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = XGBClassifier(n_estimators=2, booster=booster).fit(X, y)
    with pytest.raises(RejectedError, match="are not read"):
        read(model)


def test_numbers_beyond_the_largest_float32_that_are_rounded_to_it_cost_what_they_do():
    model, far = xgboost_of([(0, 0.25, -1.0, 1.0), (1, 0.5, -2.0, 0.5)], 2), 3.40282351e38
    assert model.predict([[far, 0.0], [far, 1.0]]).tolist() == [0, 1]
    first = feature(0, stay=False, unit=1e30)
    with pytest.raises(RejectedError, match="does not hold"):
        check(claimed(model, [far, 0.0], [first, feature(1)], below=2.0), model)


def test_a_cost_table_needs_values_and_has_one_price_for_each():
    model = xgboost_of([(0, 0.25, -1.0, 1.0)], 1)
    just = float(np.float32(0.25))
    for values, prices in ((None, [5, 1]), ([0, 0.4], [1]), ([just, 0.4, 0.4], [5, 5, 1])):
        dear = feature(0, lower=0, upper=1, values=values, prices=prices)
        with pytest.raises(RejectedError):
            check(claimed(model, [0.0], [dear], below=4.0), model)


def test_large_powers_of_many_values_take_no_long_numbers():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    values = (np.random.default_rng(0).random(20_000) * 1e-290).tolist()
    many = feature(0, values=values, unit=1 / 3, weight=1 / 3e300)
    record = claimed(model, [1 / 3], [many], below=3e299, power=99)
    tracemalloc.start()
    assert accepted(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40_000_000


def test_each_limit_of_changes_is_work():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    limits = [{"features": [0], "count": 1}] * 1000
    steps = b"cut\n" * 20 + b"close\n"
    record = claimed(model, [0], [feature(0)], below=0.1, steps=steps, max_changes=limits)
    with pytest.raises(RejectedError, match="--work allows more"):
        check(record, model, work=1e7)
    assert accepted(record, model)


def test_each_leaf_is_work_for_each_need():
    rng = np.random.default_rng(0)
    X, y = rng.random((600, 2)), np.arange(600) % 30
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    record = claimed(model, X[0].tolist(), [feature(0), feature(1)], steps=b"cut\n" * 20)
    record["question"]["target"] = 1 - min(1, record["query_class"])
    leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    with pytest.raises(RejectedError, match="--work allows more"):
        check(record, model, work=15 * 30 * (1000 + leaves))
    with pytest.raises(RejectedError, match="left open"):
        check(record, model)


@pytest.mark.parametrize("count", [float("nan"), float("inf"), None])
def test_a_limit_of_changes_is_a_number(count):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    limit = [{"features": [0], "count": count}]
    assert not accepted(claimed(model, [0], [feature(0)], below=0.6, max_changes=limit), model)


def test_what_boxes_hold_that_wait_is_limited(monkeypatch):
    rng = np.random.default_rng(0)
    model = RandomForestClassifier(20, random_state=0).fit(rng.random((300, 1)), np.arange(300) % 2)
    now = int(model.predict([[0.5]])[0])
    n_leaves = sum(tree.tree_.n_leaves for tree in model.estimators_)
    steps = "".join(f"split 0 {200 - k} 0\n" for k in range(20)).encode()
    record = claimed(model, [0.5], [feature(0)], below=1e9, steps=steps, target=1 - now)
    for held, said in ((5 * n_leaves, "too many boxes"), (10**8, "left open")):
        monkeypatch.setattr("portfolio.checker.MOST_HELD", held)
        with pytest.raises(RejectedError, match=said):
            check(record, model)


@pytest.mark.parametrize("steps", [b"ab " * 2_000_000, b"a" * 6_000_000])
def test_a_step_without_an_end_is_not_read_whole(steps):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    record = claimed(model, [0], [feature(0)], below=0.1, steps=steps)
    tracemalloc.start()
    with pytest.raises(RejectedError, match="is not known") as error:
        check(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30_000_000 and len(str(error.value)) < 2000


def test_many_rows_that_are_said_to_be_refused_take_no_memory():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)] * 300, 1)
    record = claimed(model, [0], [feature(0)], below=0.1)
    record["proof"]["covers"][0]["refused"] = [[0.0]] * 10_000
    tracemalloc.start()
    assert accepted(record, model)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 10_000_000


@pytest.mark.parametrize("name", ["model.pkl", "model.skops", "model.json"])
def test_a_model_that_cant_be_read_is_told_in_a_line(tmp_path, monkeypatch, capsys, name):
    (tmp_path / name).write_text("no model")
    (tmp_path / "a.json").write_text("{}")
    told = ["counterfolio-check", str(tmp_path / "a.json"), "--model", str(tmp_path / name)]
    monkeypatch.setattr(sys, "argv", [*told, "--trust-pickle"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("counterfolio-check: ")


def test_boxes_that_shrink_into_a_refused_row_are_told_as_such():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y)
    result = Explainer(model, X).explain(X.iloc[0])
    assert result.record().check(model).startswith("verified")


def places(told, at=()):
    """Where the parts of a record are; of lists the first part alone."""
    yield at
    inside = told if isinstance(told, dict) else [0] if isinstance(told, list) and told else ()
    for name in inside:
        yield from places(told[name], (*at, name))


def test_whatever_is_malformed_is_told_in_a_sentence(tumours_record):
    record, model = tumours_record
    record["question"]["max_changes"] = [{"count": 5, "features": [0, 1]}]
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


def test_files_hold_one_record_a_line_or_one_in_all(tmp_path, monkeypatch, capsys):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    model.save_model(tmp_path / "model.json")
    record = claimed(model, [0], [feature(0)], below=0.1)
    one, many = json.dumps(record, indent=1), f"{json.dumps(record)}\n\n{json.dumps(record)}\n"
    for name, text, code, told in (
        ("a.json", one, 0, "1: verified"),
        ("a.jsonl", many, 0, "2: verified"),
        ("b.json", many, 1, "be read"),
        ("c.json", '{"version": 2}', 1, "no record of version 3"),
        ("d.json", "[" * 100_000, 1, "be read"),
        ("e.jsonl", " \n", 2, "there is no record in"),
    ):
        (tmp_path / name).write_text(text)
        words = [str(tmp_path / name), "--model", str(tmp_path / "model.json")]
        monkeypatch.setattr(sys, "argv", ["counterfolio-check", *words])
        assert main() == code, name
        assert told in "".join(capsys.readouterr()), name


@pytest.mark.parametrize("seed", range(4))
def test_cost_tables_may_rise_and_fall(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (300, 4)).astype(float)
    y = X[:, 0] * X[:, 1] + 3 * X[:, 2] - X[:, 3] + rng.normal(size=300) > 15
    model = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, y)
    costs = {f"x{k}": dict(enumerate(rng.exponential(size=8).tolist())) for k in range(4)}
    result = Explainer(model, X).explain(X[0], norm=costs)
    assert result.record().check(model).startswith("verified")


def test_two_groups_with_two_categories_each_hold_no_row():
    model = xgboost_of([(4, 0.5, -1.0, 1.0)], 5)
    groups = [feature(k, kind="categorical", columns=[k, k + 1], values=[0, 1]) for k in (0, 2)]
    steps = b"split 0 0 1 1 0 1 2 0 1 3 0 1\nclose\n"
    record = claimed(model, [1, 0, 1, 0, 0], [*groups, feature(4)], steps=steps)
    with pytest.raises(RejectedError, match="left open"):
        check(record, model)
