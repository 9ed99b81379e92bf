"""The first of all answers that cost the same, against brute force over every cell."""

import math
import os
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from portfolio import InputError, JointCost, Linear
from portfolio.engine.series import Series
from portfolio.engine.ties import Nearer
from portfolio.workers.local_executor import LocalExecutor
from tests.support.enumerated import TOP, enumerated

pytestmark = pytest.mark.usefixtures("forked_children")

STRATEGIES = ("search", "cp", "milp", "maxsat", "smt")


_case = cache(enumerated)


def order_of(case, row):
    """What ties are broken by: how many change, which, and how far each."""
    x, own, far = case.x.to_numpy(), [], []
    for at in range(5):
        if row[at] != x[at]:
            own.append(at)
            far.append((round(abs(row[at] - x[at]), 9), round(row[at], 9)))
    if (row[5:] != x[5:]).any():
        own.append(5)
        far.append((int(np.argmax(row[5:])), 0))
    return len(own), own, far


def with_joint_costs(case, seed):
    """The same question, with costs of some pairs on top."""
    rng, own = np.random.default_rng(seed), tuple(float(value) for value in case.x.iloc[:2])
    every = [(float(a), float(b)) for a in range(TOP + 1) for b in range(TOP + 1)]
    prices = {pair: float(rng.choice([0.25, 0.5, 1.0])) for pair in every if rng.random() < 0.6}
    extra = np.array([prices.get((a, b), 0.0) for a, b in case.rows[:, :2].tolist()])
    extra[(case.rows[:, :2] == own).all(axis=1)] = 0.0  # staying is no change
    both = np.maximum if case.given["norm"] == "inf" else np.add
    joint = [*case.given["constraints"], JointCost("a", "b", prices)]
    given = dict(case.given, constraints=joint)
    return replace(case, given=given, cost=both(case.cost, extra))


def check_one(seed, strategy="auto", joint=False):
    """Whether there were several answers of that cost."""
    case = with_joint_costs(_case(seed), seed) if joint else _case(seed)
    asked = dict(case.given, threads=1, strategy=strategy, seed=seed)
    found = case.explainer.explain(case.x, **asked, tie_break=True)
    best = case.cost[case.reached].min(initial=math.inf)
    if math.isinf(best):
        assert found.status == "infeasible" and found.first is None
        return False
    if found.stop_reason == "gap":  # smt stops at a gap of real costs
        assert found.first is False
        return False
    same = case.rows[case.reached & (case.cost <= best * (1 + 1e-9))]
    where = f"seed {seed}, {strategy}, {case.given}"
    assert found.status == "optimal" and found.first, where
    assert math.isclose(found.distance, best, rel_tol=1e-7, abs_tol=1e-12), where
    assert order_of(case, found.row.values) == min(order_of(case, row) for row in same), where
    return len(same) > 1


@pytest.mark.slow
def test_the_first_of_those_that_cost_the_same():
    assert sum(check_one(seed) for seed in range(8)) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_backend_gives_the_same(strategy):
    assert sum(check_one(seed, strategy) for seed in (0, 4)) >= 1


def test_joint_costs_make_ties_too():
    assert sum(check_one(seed, joint=True) for seed in (0, 2, 4)) >= 1


@pytest.mark.large
def test_many_random_questions():
    count = int(os.environ.get("TIES_QUESTIONS", "700"))
    found = [check_one(seed) for seed in range(1000, 1000 + count)]
    print(f"ties: {count} questions, {sum(found)} with several answers of one cost")
    joint = [check_one(seed, joint=True) for seed in range(1000, 1000 + count)]
    print(f"ties with joint costs: {sum(joint)} with several answers of one cost")


def test_with_it_the_answer_says_that_it_is_the_first(explainer, refused):
    plain = explainer.explain(refused, target="granted")
    found = explainer.explain(refused, target="granted", tie_break=True)
    assert plain.first is None and "first" not in str(plain)
    assert found.distance == pytest.approx(plain.distance, rel=1e-9)
    assert "and this is the first of all answers at this distance)" in found.headline
    assert found.to_dict()["first"] is True


def test_no_time_settles_nothing(explainer, refused):
    found = explainer.explain(refused, target="granted", tie_break=True, time_limit_s=1e-9)
    assert not found.first


def test_a_tie_that_is_not_settled_is_told(explainer, refused, monkeypatch):
    plain = explainer.explain(refused, target="granted")
    asked = []

    def impatient(series, question, cutoff=math.inf):
        asked.append(cutoff)
        return plain if len(asked) == 1 else replace(plain, status="unknown", verified=False)

    monkeypatch.setattr(Series, "ask_plainly", impatient)
    found = explainer.explain(refused, target="granted", tie_break=True)
    assert found.status == "optimal" and found.first is False and len(asked) == 2
    assert "not proved to be the first of all answers at this distance." in found.headline


@pytest.mark.slow
def test_several_fronts_and_batches_take_it(explainer, credit, refused):
    given = {"target": "granted", "norm": 0, "tie_break": True}
    one = explainer.explain(refused, **given)
    several = explainer.several(refused, k=3, **given)
    assert all(answer.first for answer in several)
    assert several[0].counterfactual.equals(one.counterfactual)
    front = explainer.front(refused, **given)
    assert all(point.result.first for point in front.points if point.result.verified)
    own = LocalExecutor(1)
    table = explainer.explain_batch(refused.to_frame().T, **given, executor=own)
    assert list(table.iloc[0][[f"cf_{name}" for name in credit[1]]]) == list(one.counterfactual)


def test_what_has_no_order_is_told(explainer, refused):
    total = Linear({"income": 1, "age": 1}, ">=", 30)
    with pytest.raises(InputError, match="Give income a step or digits"):
        explainer.explain(refused, constraints=[total], tie_break=True)
    with pytest.raises(InputError, match="tie_break must be True or False"):
        explainer.explain(refused, tie_break="yes")


@pytest.mark.parametrize("value", [3.0, -1.0, 1.0000000000000002, 1e300, 0.1])
def test_nearer_is_just_what_comes_before(explainer, value):
    order = Nearer(explainer.features.named("income"), 1.0)
    nearer = order.than(value)
    ends = [] if nearer is None else [nearer.lower, nearer.upper]
    beyond = [np.nextafter(end, way) for end, way in zip(ends, (-np.inf, np.inf), strict=False)]
    for number in (*ends, *beyond, value, 2.0 - value):
        inside = nearer is not None and nearer.lower <= number <= nearer.upper
        exact = [abs(Fraction(each) - 1) for each in (number, value)]
        assert bool(inside) == ((exact[0], number) < (exact[1], value)), number
