"""What the checker accepts is true; it shares nothing with what made the record."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

import portfolio.checker
from portfolio import Explainer
from portfolio.checker import QUESTION, Cover, RejectedError, check, formed, read
from tests.support.claims import accepted, claimed, column, one_of, xgboost_of
from tests.support.parts import few_and_large
from tests.support.proofs import CLAIMS, PROOFS, holds, recorded, spoiled

FEW, LARGE, SPOILED = 12, 408, 25
LINES = 500
ALONE = """
import sys
import portfolio.checker
ours = ("encoders", "selector", "portfolio.", "counterfolio", "numba", "ortools")
wrong = [m for m in sys.modules if m.startswith(ours) and not m.startswith("portfolio.checker")]
assert not wrong, wrong
"""


@pytest.mark.slow
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
    seldom = {
        "listed",
        "other_refused",
        "stays",
        "another_table",
        "limits",
        "norm",
        "cut_more",
        "another_price",
        "move_a_box",
    }
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


def test_what_a_record_shows_is_checked(tumours_record):
    record, model = tumours_record
    answer, row = record["answer"], record["query"]
    worse = record["lower_bound"] * 1.1
    for other in (
        {"query_class": 1 - record["query_class"]},
        {"columns": record["columns"][::-1]},
        {"lower_bound": worse},
        {"lower_bound": None},
        {"answer": answer | {"class": record["query_class"]}},
        {"answer": answer | {"row": row}},
        {"answer": answer | {"row": [*answer["row"][:-1], 1e3]}},
        {"answer": answer | {"row": answer["row"][:-1]}},
        {"answer": answer | {"row": []}},
        {"question": record["question"] | {"lead": 5.0}},
    ):
        assert not accepted(record | other, model), other
    assert accepted(record, model)


@pytest.mark.parametrize("seed", range(4))
def test_cost_tables_may_rise_and_fall(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 8, (300, 4)).astype(float)
    y = X[:, 0] * X[:, 1] + 3 * X[:, 2] - X[:, 3] + rng.normal(size=300) > 15
    model = XGBClassifier(n_estimators=10, max_depth=3, n_jobs=1).fit(X, y)
    costs = {f"x{k}": dict(enumerate(rng.exponential(size=8).tolist())) for k in range(4)}
    result = Explainer(model, X).explain(X[0], norm=costs)
    assert result.record().check(model).startswith("verified")


def test_boxes_that_shrink_into_a_refused_row_are_told_as_such():
    X, y = load_wine(return_X_y=True, as_frame=True)
    model = RandomForestClassifier(50, max_depth=6, random_state=0).fit(X, y)
    result = Explainer(model, X).explain(X.iloc[0])
    assert result.record().check(model).startswith("verified")


def test_a_limit_of_changes_names_columns_by_their_places():
    model = xgboost_of([(0, 0.5, -1.0, 0.6), (1, 0.5, -1.0, 0.6)], 2)
    for named in ([1], [-1], [7]):
        limit = [{"most": 0, "changed": named, "same": []}]
        both, steps = [column(), column()], b"split 1 0 0\nclose\nclose\n"
        record = claimed(model, [0, 0], both, limits=limit, steps=steps)
        assert accepted(record, model) == (named == [1]), named


def test_two_groups_with_two_categories_each_hold_no_row():
    model = xgboost_of([(4, 0.5, -1.0, 1.0)], 5)
    group = [column(values=[0, 1], prices=[1, 0]), column(values=[0, 1], prices=[0, 0])]
    limits = one_of(0, 1) + one_of(2, 3)
    steps = b"split 0 0 1\nsplit 1 0 1\nsplit 2 0 1\nsplit 3 0 1\nclose\n"
    columns = [*group, *group, column()]
    record = claimed(model, [1, 0, 1, 0, 0], columns, limits=limits, steps=steps)
    with pytest.raises(RejectedError, match="leave a box open"):
        check(record, model)


def test_other_categories_are_open_where_columns_say_so():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 2)
    group = [column(values=[0, 1], prices=[0, 1]), column(values=[0, 1], prices=[0, 0])]
    with pytest.raises(RejectedError, match="does not hold"):
        check(claimed(model, [0.0, 1.0], group, limits=one_of(1, 0)), model)


def test_prices_close_a_box_and_wrong_ones_do_not():
    model = xgboost_of([(0, 0.5, -1.0, 0.6), (1, 0.5, -1.0, 0.6)], 2)

    def says(prices, worth, below=0.6):
        told = {"prices": (prices, worth), "below": below}
        return accepted(claimed(model, [0, 0], [column(), column()], **told), model)

    # Both have to rise by 0.5. With fractions of leaves five quarters of one rise are enough.
    rise = int(2**40 * 0.5 / 0.6)
    good = [[0, 0, 1, 1, rise], [1, 1, 1, 1, rise]], [int(rise / 1.6 * 2**58 / read(model).scale)]
    assert says(*good) and not says([], []) and not says(*good, below=0.63)
    for price in (0, -rise, 2**60):
        assert not says([[*good[0][0][:4], price], good[0][1]], good[1]), price
        assert not says([good[0][0], [*good[0][1][:4], price]], good[1]), price
        assert not says(good[0], [price]), price
    for odd in ([0, 2, 1, 1, 1], [0, 0, 1, 2, 1], [-1, 0, 1, 1, 1], [0, 0, 1, 1]):
        assert not says([odd, *good[0]], good[1]), odd
    assert not says(good[0], good[1] * 2) and not says(good[0], [])


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_prices_no_row_pays_more_than_it_costs(seed):
    record, model = recorded(4 * seed + 1)
    rng, below = np.random.default_rng(seed), 1e3 * float(record["lower_bound"] or 1)
    query, trees = np.array(record["query"]), read(model)
    target = int((trees.decide(query[None, :])[0] + 1) % len(trees.labels))
    asked = formed(record["question"], QUESTION, "question")
    cover = Cover(trees, asked, query.tolist(), below, [])
    worth = [int(2**34 * rng.exponential()) for _ in range(len(trees.labels) - 1)]
    prices = []
    for _ in range(30):
        column = int(rng.integers(query.size))
        first, last = sorted(rng.integers(cover.size[column], size=2).tolist())
        price = int(2**28 * rng.exponential())
        prices.append([int(rng.integers(trees.n_trees)), column, first, last, price])
    cover.ask(target, 0.0, prices, worth)
    known, wanted = len(cover.needs), 0
    for _ in range(400):
        level = rng.integers(cover.size)
        loads = [
            int(levels[cover.start + level].sum()) - most for _, levels, _, most in cover.asked
        ]
        if max(loads[:known]) > 0:
            continue
        leaves = np.flatnonzero(((cover.lo <= level) & (level <= cover.hi)).all(axis=1))
        assert trees.tree[leaves].tolist() == list(range(trees.n_trees))
        priced, *leads = (
            load + int(weights[leaves].sum())
            for load, (_, _, weights, _) in zip(loads[known:], cover.asked[known:], strict=True)
        )
        if max(leads) <= 0:
            wanted += 1
            assert priced <= loads[0]
    assert wanted or seed > 0


def test_a_distance_is_finite_and_a_lead_is_printed_in_full():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    assert "lead of 1.0040001 by" in check(claimed(model, [0], [column()], lead=1.0040001), model)
    record = claimed(model, [0], [column()], below=0.1) | {"status": "feasible"}
    with pytest.raises(RejectedError, match="distance is not of type float"):
        answer = {"row": [7], "class": 1}
        check(record | {"distance": "inf", "answer": answer}, model)


def test_a_cost_table_needs_values_and_has_one_price_for_each():
    model = xgboost_of([(0, 0.25, -1.0, 1.0)], 1)
    just = float(np.float32(0.25))
    for values, prices in (([], [5, 1]), ([0, 0.4], [1]), ([just, 0.4, 0.4], [5, 5, 1])):
        dear = column(lower=0, upper=1, values=values, prices=prices)
        with pytest.raises(RejectedError):
            check(claimed(model, [0.0], [dear], below=4.0), model)


def test_powers_of_numbers_too_small_for_floats_are_exact():
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    dear = column(unit=1e214, weight=1e300)
    # It costs 2.5e-129; floats say 0.
    for below, known in ((2.499999e-129, True), (2.5e-129, False)):
        record = claimed(model, [0.0], [dear], below=below, power=2)
        assert accepted(record, model) == known


@pytest.mark.parametrize("power", [1.5, 1.0, 9, -1, True])
def test_powers_are_whole_and_small(power):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    with pytest.raises(RejectedError, match="power"):
        check(claimed(model, [0.0], [column()], below=0.1, power=power), model)


def test_numbers_beyond_the_largest_float32_that_are_rounded_to_it_cost_what_they_do():
    model, far = xgboost_of([(0, 0.25, -1.0, 1.0), (1, 0.5, -2.0, 0.5)], 2), 3.40282351e38
    assert model.predict([[far, 0.0], [far, 1.0]]).tolist() == [0, 1]
    first = column(stay=False, unit=1e30)
    with pytest.raises(RejectedError, match="does not hold"):
        check(claimed(model, [far, 0.0], [first, column()], below=2.0), model)


def test_costs_that_are_too_small_for_floats_prove_nothing():
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (200, 2)).astype(float)
    model = XGBClassifier(n_estimators=3, tree_method="hist").fit(X, (X >= 0).all(axis=1))
    explainer = Explainer(model, X, features={"x0": "numeric", "x1": "numeric"})
    asked = {"scale": "none", "weights": {"x0": 1000.0}}
    close = explainer.explain(np.zeros(2), **asked)
    told = json.loads(close.record().to_json())
    assert close.status == "optimal" and check(told, model)
    result = explainer.explain(np.zeros(2), norm=8, **asked)
    assert (result.status, result.distance, result.lower_bound) == ("feasible", 0.0, 0.0)
    assert "is too small for float64" in result.message
    assert result.record().why_not == "the cost of the change is too small for float64"
    told["question"]["power"] = 8
    told |= {"distance": 0.0, "lower_bound": 0.0, "proof": {"below": 0.0, "covers": []}}
    with pytest.raises(RejectedError, match="does not cost"):
        check(told, model)
