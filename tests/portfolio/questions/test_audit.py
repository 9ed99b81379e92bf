"""Audits: numbers by group equal those counted by hand, and bounds hold whatever is not known."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from portfolio import AtLeast, Explainer, Increase, InputError, Probability, Range
from portfolio.questions.groups.audit_statistics import (
    Costs,
    Sampling,
    average,
    mean_difference,
    share,
    share_difference,
)

SAMPLING = Sampling(0.95, 500, 0)
NONE = np.zeros(0)


def here(job, tasks):
    """Answers a batch in this process."""
    for task in tasks:
        yield job.answer(task.now() or task)


@pytest.fixture(scope="module")
def asked():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "sex": rng.integers(0, 2, 60).astype(float),
            "income": np.round(rng.lognormal(3, 0.5, 60), 2),
            "debts": rng.integers(0, 5, 60).astype(float),
        }
    )
    good = X["income"] / 20 - X["debts"] / 4 + X["sex"] / 3 + rng.normal(0, 0.2, 60) > 0.9
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, good.astype(int))
    explainer = Explainer(model, X, features={"sex": {"action": "fixed"}})
    return explainer, model, X


RULES = (Increase("debts"), Range("income", upper=30))


def test_numbers_are_those_counted_row_by_row(asked):
    explainer, model, X = asked
    audit = explainer.audit(X, "sex", 1, constraints=RULES, executor=here, resamples=500)
    assert audit.status == "optimal" and audit.stop_reason == "proved"
    assert [group.rows for group in audit.groups] == sorted(X["sex"].value_counts(), reverse=True)
    for group in audit.groups:
        mine = X[(X["sex"] == group.name) & (model.predict(X) == 0)]
        results = [explainer.explain(row, 1, constraints=RULES) for _, row in mine.iterrows()]
        costs = [r.distance for r in results if r.status == "optimal"]
        assert group.adverse == len(mine) and group.unproved == 0
        assert group.without.exact and math.isclose(
            group.without.low, 1 - len(costs) / len(mine), abs_tol=1e-12
        )
        for estimate, number in ((group.mean, np.mean(costs)), (group.median, np.median(costs))):
            assert estimate.exact and math.isclose(estimate.low, number)
            assert estimate.ci_low < number < estimate.ci_high
    assert any(0 < group.without.low < 1 for group in audit.groups)
    (gap,) = audit.differences
    first, other = audit.groups
    assert (gap.reference, gap.name) == (first.name, other.name)
    assert math.isclose(gap.mean.low, other.mean.low - first.mean.low)
    assert gap.mean.ci_low < gap.mean.low < gap.mean.ci_high and 0 < gap.mean_p <= 1
    assert math.isclose(gap.without.low, other.without.low - first.without.low)
    assert len(audit.answers) == first.adverse + other.adverse
    assert set(audit.answers["group"]) == {0, 1}
    told = json.loads(audit.to_json())
    assert told["groups"][0]["mean"]["low"] == first.mean.low and "answers" not in told
    assert audit.table()["mean_low"].tolist() == [first.mean.low, other.mean.low]
    assert str(audit).startswith(f"sex {first.name}: ") and len(audit.plot().axes) == 2


@pytest.mark.slow
def test_an_attribute_may_come_from_anywhere_and_goals_may_be_numbers(asked):
    explainer, _, X = asked
    told = [None if at % 7 == 0 else ("a" if at % 3 else "b") for at in range(len(X))]
    audit = explainer.audit(X, told, 1, reference="b", executor=here, resamples=100)
    assert audit.by == "group" and {g.name for g in audit.groups} == {"a", "b", "missing"}
    assert {gap.reference for gap in audit.differences} == {"b"}
    same = explainer.audit(X.to_numpy(), told, 1, reference="b", executor=here, resamples=100)
    assert [g.mean for g in same.groups] == [g.mean for g in audit.groups]
    regressor = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, X["income"])
    sums = Explainer(regressor, X).audit(X, "sex", AtLeast(20), executor=here, resamples=100)
    low = regressor.predict(X) < 20
    assert [g.adverse for g in sums.groups] == [low[X["sex"] == g.name].sum() for g in sums.groups]


def test_what_time_does_not_allow_is_bounded(asked):
    explainer, _, X = asked
    whole = explainer.audit(X, "sex", 1, executor=here, resamples=100)
    audit = explainer.audit(X, "sex", 1, executor=here, deadline_s=1e-6, resamples=100)
    assert audit.status == "unknown" and audit.stop_reason == "time_limit"
    for group, known in zip(audit.groups, whole.groups, strict=True):
        assert group.mean is None and group.unproved == group.adverse == known.adverse
        assert (group.without.low, group.without.high) == (0.0, 1.0)
    assert audit.differences[0].without_p is None and "not proved" in str(audit)


def test_rows_that_constraints_leave_no_value_are_without_recourse(asked):
    explainer, model, X = asked
    rules = (Increase("debts"), Range("debts", upper=2))
    audit = explainer.audit(X, "sex", 1, constraints=rules, executor=here, resamples=100)
    stuck = X["debts"][model.predict(X) == 0].to_numpy() > 2
    told = audit.answers["message"].str.contains("contradictory").to_numpy()
    assert audit.status == "optimal" and stuck.any() and (told == stuck).all()
    assert set(audit.answers["status"][stuck]) == {"infeasible"}
    assert sum(g.without.low * g.adverse for g in audit.groups) >= stuck.sum() - 1e-9
    row = X[X["debts"] > 2].iloc[0]
    with pytest.raises(InputError, match="contradictory constraints on debts"):
        explainer.explain(row, 1 - model.predict(row.to_frame().T)[0], constraints=rules)


def test_nobody_in_need_is_an_audit_too(asked):
    explainer, model, X = asked
    audit = explainer.audit(X[model.predict(X) == 1], "sex", 1, executor=here)
    assert audit.status == "optimal" and not audit.differences and audit.answers.empty
    assert all(g.adverse == 0 and g.mean is None and g.without is None for g in audit.groups)


def random_costs(rng):
    n, n_open = int(rng.integers(1, 6)), int(rng.integers(0, 4))
    lower = rng.exponential(size=n)
    upper = lower + rng.choice([0.0, 1.0], n) * rng.exponential(size=n)
    return Costs(lower, upper, rng.exponential(size=n_open), int(rng.integers(0, 3)))


@pytest.mark.parametrize("statistic", [np.mean, np.median])
def test_no_completion_of_what_is_not_known_leaves_the_bounds(statistic):
    rng = np.random.default_rng(1)
    for _ in range(60):
        costs = random_costs(rng)
        found = average(costs, statistic, Sampling(0.9, 100, 0))
        ends = []
        for _ in range(40):
            ways = rng.choice([0.0, 0.5, 1.0, rng.random()], costs.lower.size)
            known = costs.lower + ways * (costs.upper - costs.lower)
            held = rng.random(costs.open.size) < rng.random()
            extra = costs.open[held] + rng.choice([0.0, 0.0, 1e6], int(held.sum()))
            ends.append(float(statistic(np.concatenate([known, extra]))))
        assert found.low <= min(ends) + 1e-12 and found.high >= max(ends) - 1e-12
        assert found.exact == (costs.proved or found.low == found.high)


def test_intervals_of_shares_are_wilsons_and_newcombes():
    z, k, n = 1.959963984540054, 3, 20
    centre, half = (k + z * z / 2), z * math.sqrt(k * (n - k) / n + z * z / 4)
    found = share(k, 0, n, SAMPLING)
    assert math.isclose(found.ci_low, (centre - half) / (n + z * z), rel_tol=1e-9)
    assert math.isclose(found.ci_high, (centre + half) / (n + z * z), rel_tol=1e-9)
    one, other = Costs(np.ones(17), np.ones(17), NONE, 3), Costs(np.ones(10), np.ones(10), NONE, 10)
    gap, p = share_difference(one, other, SAMPLING)
    theirs = share(10, 0, 20, SAMPLING)
    low = 0.15 - 0.5 - math.hypot(0.15 - found.ci_low, theirs.ci_high - 0.5)
    assert math.isclose(gap.low, -0.35) and math.isclose(gap.ci_low, low) and 0.01 < p < 0.1
    wide, p = share_difference(Costs(np.ones(17), np.ones(17), np.ones(3), 0), other, SAMPLING)
    assert (wide.low, wide.high) == (-0.5, 0.15 - 0.5) and p is None


def test_intervals_hold_about_as_often_as_they_say():
    rng, hits, false = np.random.default_rng(2), 0, 0
    for turn in range(80):
        one, other = rng.exponential(size=40), rng.exponential(size=40)
        sampling = Sampling(0.9, 200, turn)
        found = average(Costs(one, one, NONE, 0), np.mean, sampling)
        hits += found.ci_low <= 1.0 <= found.ci_high
        _, p = mean_difference(Costs(one, one, NONE, 0), Costs(other, other, NONE, 0), sampling)
        false += p < 0.1
    assert 62 <= hits <= 80 and false <= 18


def test_costs_that_are_equal_but_for_rounding_are_equal():
    one, other = np.array([0.1, 0.2, 0.3]), np.array([0.3, 0.2, 0.1])
    assert one.mean() != other.mean()
    given = (Costs(own, own, NONE, 0) for own in (one, other))
    gap, p = mean_difference(*given, SAMPLING)
    assert (gap.low, gap.high, p) == (0, 0, 1)


@pytest.mark.parametrize(
    ("by", "target", "more", "words"),
    [
        ("nothing", 1, {}, "is not a feature"),
        ("sex", None, {}, "favourable outcome"),
        ("sex", 7, {}, "7"),
        ("income", 1, {}, "bands first"),
        ([1, 2], 1, {}, "2 values, but there are 60 rows"),
        ("sex", 1, {"reference": 3}, "is not a group"),
        ("sex", 1, {"confidence": 2.0}, "confidence"),
        ("sex", 1, {"resamples": 3}, "resamples"),
    ],
)
def test_what_does_not_fit_is_told(asked, by, target, more, words):
    explainer, _, X = asked
    with pytest.raises(InputError, match=words):
        explainer.audit(X, by, target, executor=here, **more)


def test_a_row_is_adverse_as_soon_as_one_of_several_models_refuses_it():
    X = pd.DataFrame({"a": np.arange(8.0), "b": [0.0, 1.0] * 4})
    first, second = (
        DecisionTreeClassifier(max_depth=1).fit(X[["a", "b"]], X["a"] > limit) for limit in (2, 5)
    )
    explainer = Explainer(first, X, also=[second])
    for target in (True, Probability(True, at_least=0.8)):
        audit = explainer.audit(X, by="b", target=target, resamples=100)
        assert [(group.name, group.adverse) for group in audit.groups] == [(0, 3), (1, 3)]
        costs = audit.answers.sort_values("id")["distance"]
        assert np.allclose(costs, np.arange(5, -1, -1) / 7 + 0.5 / 7, atol=0.5 / 7 + 1e-6)
