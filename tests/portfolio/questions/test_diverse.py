"""Diverse answers: the largest least distance, against brute force over all that are so cheap."""

import itertools
import json
import math
import os
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from xgboost import XGBClassifier

from portfolio import (
    AllowMissing,
    Explainer,
    Forbidden,
    InputError,
    JointCost,
    Linear,
    MaxChanges,
    Stays,
)
from portfolio.questions.several import diverse_finder
from tests.support.brute import Spec, distances, thresholds
from tests.support.enumerated import TOP, enumerated

WITHIN = (0.3, 1.0, 2.0, 0.1)
MOST_TRIPLES = 200  # rows among which brute force looks for the three that are farthest apart


def representatives(case):
    """Of all candidates those that stand for their cell: the nearest value of each column."""
    cuts, dtype = thresholds(case.model, case.rows.shape[1])
    strict = type(case.model).__name__ == "XGBClassifier"
    kept = np.ones(len(case.rows), dtype=bool)
    for column in range(5):
        values = np.unique(case.rows[:, column])
        own = Fraction(float(case.x.iloc[column]))
        edges = np.array(sorted(cuts[column]))
        read = values.astype(dtype).astype(float)
        cell = np.searchsorted(edges, read, side="right" if strict else "left")
        nearest = [
            min(values[cell == at], key=lambda v: abs(Fraction(v) - own)) for at in np.unique(cell)
        ]
        kept &= np.isin(case.rows[:, column], nearest)
    return kept


def specs_of(case):
    n = case.explainer.features.named("n")
    ordinals = [Spec(name, "ordinal", (at,), 0.0, TOP) for at, name in enumerate("abcd")]
    number = Spec("n", "numeric", (4,), n.lower, n.upper)
    return [*ordinals, number, Spec("g", "categorical", (5, 6, 7), 0, 1)]


def gaps(case, rows):
    """The cost of every row from every other, by definition."""
    specs = specs_of(case)
    units = [(spec.upper - spec.lower) or 1.0 for spec in specs]
    given = (float(case.given["norm"]), units, case.given["weights"])
    return np.array([distances(specs, row, rows, *given) for row in rows])


def farthest(gap, k):
    """The largest least distance of k rows; None if there are too many to try."""
    n = len(gap)
    if k == 2:
        return gap.max()
    if k == 3 and n <= MOST_TRIPLES:
        best = 0.0
        for one, other in itertools.combinations(range(n), 2):
            third = np.minimum(gap[one], gap[other])
            third[[one, other]] = -1
            best = max(best, min(gap[one, other], third.max()))
        return best
    if math.comb(n, k) > 200_000:
        return None
    chosen = np.array(list(itertools.combinations(range(n), k)))
    pairs = [gap[chosen[:, a], chosen[:, b]] for a, b in itertools.combinations(range(k), 2)]
    return np.min(pairs, axis=0).max()


def asked(seed):
    """A case, how many answers, and what they may cost beyond the cheapest."""
    case = enumerated(seed if seed % 4 != 2 else seed + 100_001)  # no distances with norm 2
    return case, 2 + seed % 3, WITHIN[seed // 4 % len(WITHIN)]


def cheap(case, within):
    """All answers that cost so little; None where there is no answer."""
    able = case.reached & representatives(case)
    best = case.cost[able].min(initial=math.inf)
    if math.isinf(best):
        return None
    return case.rows[able & (case.cost <= best * (1 + within) * (1 + 1e-9))]


def check_one(seed):
    """Whether there was something to choose from."""
    case, k, within = asked(seed)
    found = case.explainer.diverse(case.x, k=k, within=within, **case.given, threads=1)
    near, where = cheap(case, within), f"seed {seed}, {k}, {within}, {case.given}"
    if near is None:
        assert found.status == "infeasible" and not len(found), where
        return False
    assert found.status == "optimal" and found.listed == len(near), where
    assert len(found) == min(k, len(near)) and found.complete == (len(near) <= k), where
    rows = np.array([answer.row.values for answer in found])
    assert all((near == row).all(axis=1).any() for row in rows), where
    assert len(np.unique(rows, axis=0)) == len(rows), where
    costs = [case.cost[(case.rows == row).all(axis=1)][0] for row in rows]
    assert np.allclose([a.distance for a in found], costs) and costs == sorted(costs), where
    if len(rows) < 2:
        return False
    own = gaps(case, rows)[np.triu_indices(len(rows), 1)].min()
    assert math.isclose(own, found.apart, rel_tol=1e-9, abs_tol=1e-12), where
    most = farthest(gaps(case, near), k) if len(near) > k else own
    assert most is None or math.isclose(own, most, rel_tol=1e-9, abs_tol=1e-12), where
    return len(near) > k


def check_bound(seed):
    """The same where only a few are listed: whether there were more."""
    case, k, within = asked(seed)
    near = cheap(case, within)
    if near is None or len(near) <= 2 * k:
        return False
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diverse_finder, "MOST_LISTED", k)
        found = case.explainer.diverse(case.x, k=k, within=within, **case.given, threads=1)
    where = f"seed {seed}, {k}, {within}, {case.given}"
    rows = np.array([answer.row.values for answer in found])
    assert found.status == "feasible" and found.stop_reason == "gap", where
    assert all((near == row).all(axis=1).any() for row in rows), where
    if len(rows) < k:  # the model refused some of the few that were listed
        return False
    own = gaps(case, rows)[np.triu_indices(k, 1)].min()
    assert math.isclose(own, found.apart, rel_tol=1e-9, abs_tol=1e-12), where
    most = farthest(gaps(case, near), k)
    assert most is None or own <= most * (1 + 1e-9) <= found.upper_bound * (1 + 2e-9), where
    return True


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 7, 9, 15, 20])
def test_no_answers_so_cheap_are_farther_apart(seed):
    assert check_one(seed)


def test_what_is_not_listed_is_bounded():
    assert sum(check_bound(seed) for seed in (9, 20)) >= 1


def test_cheap_missing_values_do_not_hide_distant_answers():
    """Two values may be farther apart than both are from a missing value."""
    rng = np.random.default_rng(233)
    X = pd.DataFrame({name: rng.integers(0, 2, 200).astype(float) for name in "abcd"})
    X = X.mask(rng.random(X.shape) < 0.2)
    y = X.fillna(3) @ rng.normal(size=4) + rng.normal(size=200) > 0
    model = XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1).fit(X, y)
    explainer = Explainer(model, X, features=dict.fromkeys(X, "binary"))
    row, cost, k = X.dropna().iloc[0], np.array([0.1, 0.1, 0.1, 0.2]), 5
    target = 1 - int(model.predict(row.to_frame().T)[0])
    allowed = [AllowMissing(name, cost=each) for name, each in zip(X, cost, strict=True)]
    found = explainer.diverse(row, target, k=k, within=50.0, constraints=allowed, threads=1)

    options = [[0.0, 1.0, math.nan]] * 3 + [[row["d"], math.nan]]  # the trees treat 0 and 1 alike
    every = np.array(list(itertools.product(*options)))
    near = every[model.predict(pd.DataFrame(every, columns=X.columns)) == target]
    one, other = near[:, None], near[None]
    missing = np.isnan(one) != np.isnan(other)
    gap = np.where(missing, cost, np.abs(np.nan_to_num(one - other))).sum(axis=-1)
    assert found.status == "optimal" and found.listed == len(near)
    assert found.apart == pytest.approx(farthest(gap, k))


@pytest.mark.large
def test_many_random_questions():
    count = int(os.environ.get("DIVERSE_QUESTIONS", "700"))
    found = [check_one(seed) for seed in range(1000, 1000 + count)]
    print(f"diverse: {count} questions, {sum(found)} with something to choose from")
    more = [check_bound(seed) for seed in range(1000, 1000 + count)]
    print(f"diverse: {sum(more)} with more than were listed")


def test_answers_tell_how_far_they_are_apart(explainer, refused):
    found = explainer.diverse(refused, k=3, within=0.5, target="granted")
    assert found.status == "optimal" and len(found) == 3
    assert found.apart == found.upper_bound > 0
    best = explainer.explain(refused, target="granted")
    assert found.limit == pytest.approx(1.5 * best.distance)
    assert all(a.verified and a.distance <= found.limit * (1 + 1e-9) for a in found)
    assert "(proved: no 3 such answers are farther apart)" in str(found)
    assert list(found.table().columns) == ["status", "distance", "changes"]
    plain = json.loads(found.to_json())
    assert plain["apart"] == found.apart and len(plain["answers"]) == 3


def test_all_that_there_are(explainer, refused):
    found = explainer.diverse(
        refused, k=20, within=0.0, target="granted", constraints=[Forbidden(Stays("income"))]
    )
    assert found.complete and found.listed == len(found) >= 1, found
    assert "no others exist (proved)" in str(found)
    nothing = explainer.diverse(refused, target="granted", constraints=[MaxChanges(0)])
    assert nothing.status == "infeasible" and "no answer exists (proved)" in str(nothing)


def test_a_list_that_is_too_long_proves_a_bound_alone(explainer, refused, monkeypatch):
    whole = explainer.diverse(refused, k=3, within=2.0, target="granted")
    monkeypatch.setattr(diverse_finder, "MOST_LISTED", 5)
    found = explainer.diverse(refused, k=3, within=2.0, target="granted")
    assert (found.status, found.stop_reason, found.listed) == ("feasible", "gap", None)
    assert found.apart <= whole.apart <= found.upper_bound
    assert "at most" in str(found) and "5" in str(found)


def test_they_hold_under_every_model(credit):
    model, X = credit
    other = ExtraTreesClassifier(4, max_depth=3, random_state=1).fit(X, model.predict(X))
    both = Explainer(model, X, also=[other])
    row = X[(model.predict(X) == "refused") & (other.predict(X) == "refused")].iloc[0]
    found = both.diverse(row, k=3, within=1.0, target="granted")
    rows = pd.DataFrame([answer.counterfactual for answer in found])
    assert found.status == "optimal" and len(rows) == 3
    assert all((each.predict(rows) == "granted").all() for each in (model, other))


def test_no_time_is_no_proof(explainer, refused):
    found = explainer.diverse(refused, target="granted", time_limit_s=1e-9)
    assert found.status in ("unknown", "feasible") and not found.complete
    assert found.stop_reason == "time_limit"


def test_bounds_are_told(explainer, refused):
    told = []
    found = explainer.diverse(
        refused, k=3, within=0.5, target="granted", on_progress=lambda *bounds: told.append(bounds)
    )
    assert told and told[-1][1:] == (found.upper_bound, found.apart)
    assert all(lower <= upper for _, upper, lower in told)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"k": 1}, "k must be a whole number from 2"),
        ({"within": -0.1}, "within must be a number from 0 to 1e"),
        ({"within": math.inf}, "within must be a number from 0 to 1e"),
        ({"within": 1e300}, r"within must be a number from 0 to 1e\+06, got 1e\+300"),
        ({"norm": 2}, "Use norm=0, 1 or 'inf'"),
        ({"norm": lambda name, before, after: 1.0}, "Use norm=0, 1 or 'inf'"),
        (
            {"constraints": [JointCost("home", "age", {("own", 30): 1})]},
            "does not support JointCost, which defines no distance",
        ),
        (
            {"constraints": [Linear({"income": 1, "age": 1}, ">=", 30)]},
            "Give income a step or digits",
        ),
    ],
)
def test_what_does_not_fit_is_told(explainer, refused, given, words):
    with pytest.raises(InputError, match=words):
        explainer.diverse(refused, **{"target": "granted"} | given)


def test_a_list_that_ends_early_is_exchanged_until_no_answer_is_much_farther(
    explainer, refused, monkeypatch
):
    whole = explainer.diverse(refused, k=3, within=2.0, target="granted")
    monkeypatch.setattr(diverse_finder, "LISTING", 0.0)
    monkeypatch.setattr(diverse_finder, "FEW", 5)
    found = explainer.diverse(refused, k=3, within=2.0, target="granted")
    assert (found.status, found.stop_reason) == ("feasible", "gap") and found.seconds < 60
    assert "gains at most 5% distance (proved)" in found.message
    assert found.apart <= whole.apart <= found.upper_bound
