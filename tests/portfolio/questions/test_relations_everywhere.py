"""Relations and further models in every question, against brute force over a small grid."""

import itertools
import json
import math

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from xgboost import XGBClassifier

from portfolio import (
    Around,
    HardVotingClassifier,
    InputError,
    Precedence,
    Retraining,
)
from tests.support.listed_problems import (
    ALL,
    GRID,
    LABELS,
    back,
    cases,
    check,
    check_widest,
    encoded,
    in_region,
    some_model,
)
from tests.support.parts import few_and_large

PARTS = few_and_large(1, 100)


@pytest.mark.parametrize("part", PARTS)
def test_answers_that_come_first(part):
    for case in cases(part):
        right = (case.labels == 1) & case.allowed
        best = case.cost[right].min(initial=math.inf)
        found = case.explainer().explain(
            case.x, target=1, constraints=case.relations, tie_break=True
        )
        check(found, best, case.where)
        if math.isinf(best):
            continue
        assert found.first, case.where
        cheapest = right & (case.cost <= best + 1e-9)
        key = [
            (changed.sum(), tuple(~changed), tuple(np.abs(row - case.q)[:3] * changed[:3]))
            for changed, row in zip(case.changed()[cheapest], ALL[cheapest], strict=True)
        ]
        got = back(found.counterfactual)
        changed = got != case.q
        own = (changed.sum(), tuple(~changed), tuple(np.abs(got - case.q)[:3] * changed[:3]))
        assert own[:2] == min(key)[:2], (case.where, own, min(key))


@pytest.mark.parametrize("part", PARTS)
def test_answers_that_may_be_missed(part):
    for case in cases(part):
        radius = {"a": 1} if case.rng.random() < 0.5 else {"a": 1, "b": 1}
        right = (case.labels == 1).reshape(5, 4, 2, 3)
        safe = right.copy()
        for axis, name in enumerate("ab"):
            if name in radius:
                moved = np.moveaxis(safe, axis, 0)
                n = len(moved)
                near = [moved[max(0, i - 1) : i + 2].all(axis=0) for i in range(n)]
                safe = np.moveaxis(np.array(near), 0, axis)
        best = case.cost[safe.ravel() & case.allowed].min(initial=math.inf)
        found = case.explainer().explain_robust(
            case.x, Around(radius), 1, constraints=case.relations
        )
        check(found, best, (case.where, radius))


@pytest.mark.parametrize("part", PARTS)
def test_answers_of_forests_trained_anew(part):
    for case in cases(part):
        if isinstance(case.model, XGBClassifier | LGBMClassifier):
            continue
        against = Retraining(float(case.rng.choice([0.6, 0.75, 0.9])))
        if isinstance(case.model, HardVotingClassifier):
            trees = case.model.forest_.estimators_
            votes = sum(np.ravel(t.predict(case.grid.to_numpy())) == 1 for t in trees)
            right = votes >= against.votes(len(trees))
        else:
            share = against.share(len(case.model.estimators_))
            right = case.model.predict_proba(case.grid)[:, 1] >= share
        right &= (case.labels == 1) & case.allowed
        best = case.cost[right].min(initial=math.inf)
        found = case.explainer().explain_robust(case.x, against, 1, constraints=case.relations)
        check(found, best, (case.where, against))


@pytest.mark.parametrize("part", PARTS)
def test_fronts(part):
    for case in cases(part):
        right = (case.labels == 1) & case.allowed
        count = case.changed().sum(axis=1)
        front = case.explainer().front(case.x, target=1, constraints=case.relations)
        for most in range(5):
            best = case.cost[right & (count <= most)].min(initial=math.inf)
            own = min(
                [p.result.distance for p in front.points if p.level <= most], default=math.inf
            )
            assert math.isclose(own, best, rel_tol=1e-9, abs_tol=1e-12), (
                case.where,
                most,
                own,
                best,
            )
        json.loads(front.to_json())
        if isinstance(case.model, HardVotingClassifier):
            continue
        p = case.model.predict_proba(case.grid)[:, 1].astype(float)
        levels = (0.4, 0.6, 0.75, 0.9)
        front = case.explainer().front(
            case.x, by="probability", levels=levels, target=1, constraints=case.relations
        )
        for point in front.points:
            best = case.cost[(p >= point.level) & case.allowed].min(initial=math.inf)
            check(point.result, best, (case.where, point.level))


@pytest.mark.parametrize("part", PARTS)
def test_several(part):
    for case in cases(part):
        for different in ("features", "region"):
            left = (case.labels == 1) & case.allowed
            found = case.explainer().several(
                case.x, k=4, target=1, constraints=case.relations, different=different
            )
            assert found.status in ("optimal", "infeasible"), (case.where, found)
            for at, answer in enumerate(found):
                check(answer, case.cost[left].min(initial=math.inf), (case.where, different, at))
                own = back(answer.counterfactual) != case.q
                if different == "features":
                    left = left & ~case.changed()[:, own].all(axis=1)
                    continue
                if at >= len(found.regions):
                    break
                inside = in_region(found.regions[at])
                assert (case.labels[inside] == 1).all(), (case.where, at)
                left = left & ~inside
            assert not found.complete or not left.any(), (case.where, different)
            json.loads(found.to_json())


@pytest.mark.parametrize("part", PARTS)
def test_regions_around_answers(part):
    for case in cases(part):
        found = case.explainer().explain(case.x, target=1, constraints=case.relations)
        if found.row is None:
            continue
        region = found.region()
        check_widest(case, region, case.labels == 1)
        assert in_region(region)[(back(found.counterfactual) == ALL).all(axis=1)].all(), case.where


@pytest.mark.parametrize("part", PARTS)
def test_several_models(part):
    for case in cases(part):
        second = some_model(case.rng, ("forest", "xgboost")[part % 2], case.X)
        both = (case.labels == 1) & (np.ravel(second.predict(case.grid)) == 1)
        explainer = case.explainer(also=[second])
        found = explainer.explain(case.x, target=1, constraints=case.relations, tie_break=True)
        check(found, case.cost[both & case.allowed].min(initial=math.inf), case.where)
        front = explainer.front(case.x, target=1, constraints=case.relations)
        count = case.changed().sum(axis=1)
        for most in range(5):
            best = case.cost[both & case.allowed & (count <= most)].min(initial=math.inf)
            own = min(
                [p.result.distance for p in front.points if p.level <= most], default=math.inf
            )
            assert math.isclose(own, best, rel_tol=1e-9, abs_tol=1e-12), (case.where, most)


@pytest.mark.parametrize("part", PARTS)
def test_necessary_features_under_several_models(part):
    for case in cases(part):
        second = some_model(case.rng, ("forest", "xgboost")[part % 2], case.X)
        both = (case.labels == 1) & (np.ravel(second.predict(case.grid)) == 1) & case.allowed
        explainer = case.explainer(also=[second])
        found = explainer.necessary(case.x, target=1, constraints=case.relations)
        where = (case.where, found)
        assert found.status == ("optimal" if both.any() else "infeasible"), where
        moved = case.changed()[both].all(axis=0) & both.any()
        assert found.features == tuple(
            name for name, own in zip("abcd", moved, strict=True) if own
        ), where


@pytest.mark.parametrize("part", PARTS)
def test_reasons_and_regions_under_several_models(part):
    seen = 0
    for case in cases(part):
        second = some_model(case.rng, ("forest", "xgboost")[part % 2], case.X, classes=3)
        other = np.ravel(second.predict(case.grid))
        explainer = case.explainer(also=[second])
        label = int(case.rng.integers(2))
        right = (case.labels == label) & (other == label)
        if not right.any():
            continue
        q = ALL[case.rng.choice(np.flatnonzero(right))]
        x = encoded(q[None, :]).iloc[0]
        check_widest(case, explainer.region(x), right)
        check_radius(explainer, x, np.abs(ALL - q)[~right], case.where)
        kept = deleted(q, right)
        found = explainer.reasons(x)
        where = (case.where, q, kept, found)
        assert found.status == "optimal" and found.label == label and found.holds, where
        assert found.features == tuple("abcd"[i] for i in kept), where
        for name, flip in found.flips.items():
            place = (back(flip) == ALL).all(axis=1)
            assert not right[place].any(), (where, name)
        assert explainer.reasons(x, smallest=True).status == "optimal", where
        wrong = ALL[case.rng.choice(np.flatnonzero(~right))]
        found = explainer.reasons(encoded(wrong[None, :]).iloc[0], label)
        where = (case.where, wrong, found)
        assert found.status == "optimal" and not found.holds, where
        assert found.features == tuple("abcd"[i] for i in deleted(wrong, ~right)), where
        seen += 1
    assert seen


def check_radius(explainer, x, apart, where):
    """The nearest row that a model decides otherwise, in norm 1 of the features' own units."""
    apart[:, 3] = apart[:, 3] > 0
    best = apart.sum(axis=1).min(initial=math.inf)
    check(explainer.robustness(x, norm=1, scale="none"), best, where)
    if best < math.inf:
        for radius in (0.5 * best, best):
            held = explainer.verify(x, radius, norm=1, scale="none")
            assert held.robust is bool(radius < best), where


def deleted(q, right):
    """Features that suffice for all rows to be right, left out in their order where they can be."""
    kept = [0, 1, 2, 3]
    for feature in range(4):
        fewer = [i for i in kept if i != feature]
        if right[(ALL[:, fewer] == q[fewer]).all(axis=1)].all():
            kept = fewer
    return kept


@pytest.mark.parametrize("part", PARTS)
def test_answers_under_several_models_that_may_be_missed(part):
    for case in cases(part):
        second = some_model(case.rng, ("forest", "xgboost")[part % 2], case.X)
        both = (case.labels == 1) & (np.ravel(second.predict(case.grid)) == 1)
        moved = both.reshape(5, 4, 2, 3)
        near = [moved[max(0, i - 1) : i + 2].all(axis=0) for i in range(5)]
        best = case.cost[np.array(near).ravel() & case.allowed].min(initial=math.inf)
        explainer, around = case.explainer(also=[second]), Around({"a": 1})
        found = explainer.explain_robust(case.x, around, 1, constraints=case.relations)
        check(found, best, case.where)


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_groups(part):
    for case in itertools.islice(cases(part), 3):
        refused = np.flatnonzero(case.labels == 0)
        chosen = case.rng.choice(refused, min(5, refused.size), replace=False)
        budget = float(case.rng.choice([0.6, 1.0, 1.5]))
        explainer, rows = case.explainer(), encoded(ALL[chosen])
        settings = {"target": 1, "actions": 1, "budget": budget}
        for rule in case.relations:
            if not isinstance(rule, Precedence):
                with pytest.raises(InputError, match=r"explain_group\(\) does not support"):
                    explainer.explain_group(rows, **settings, constraints=[rule])
        order = list(map(int, case.rng.permutation(3)))
        rule = Precedence("d", [LABELS[i] for i in order])
        found = explainer.explain_group(rows, **settings, constraints=[rule])
        best = max(served(case, chosen, budget, action, order) for action in actions())
        where = (case.where, order, chosen.tolist(), budget, best, str(found))
        assert found.status == ("optimal" if best else "infeasible"), where
        assert found.covered == best == found.bound, where
        json.loads(found.to_json())


def actions():
    """Every action on the grid: at most one step for each feature."""
    steps = [
        [("stay", 0), *((way, v) for way in ("up", "down") for v in GRID[name])] for name in "ab"
    ]
    steps += [[("stay", 0), *(("to", v) for v in GRID[name])] for name in "cd"]
    return itertools.product(*steps)


def served(case, chosen, budget, action, order):
    """How many rows an action serves, where categories follow each other in an order."""
    count = 0
    for at in chosen:
        row = [_after(own, *step) for own, step in zip(ALL[at], action, strict=True)]
        place = int(np.flatnonzero((row == ALL).all(axis=1))[0])
        within = case.costs(ALL[at])[place] <= budget * (1 + 1e-9)
        forward = order.index(row[3]) >= order.index(ALL[at][3])
        count += bool(case.labels[place] == 1 and within and forward)
    return count


def _after(own, way, value):
    return {"stay": own, "up": max(own, value), "down": min(own, value), "to": value}[way]
