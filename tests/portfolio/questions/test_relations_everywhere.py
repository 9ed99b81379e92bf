"""Relations and further models in every question, against brute force over a small grid."""

import itertools
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from xgboost import XGBClassifier

from portfolio import (
    AllowedPairs,
    Around,
    Becomes,
    Changes,
    Explainer,
    Forbidden,
    HardVotingClassifier,
    Implies,
    InputError,
    Linear,
    Precedence,
    Retraining,
    Rises,
    Stays,
    Together,
)
from tests.support.parts import few_and_large

GRID = {"a": range(5), "b": range(4), "c": range(2), "d": range(3)}
RANGE = {"a": 4.0, "b": 3.0, "c": 1.0, "d": 1.0}
COLUMNS = ["a", "b", "c", "d_x", "d_y", "d_z"]
LABELS = ("x", "y", "z")
ALL = np.array(list(itertools.product(*GRID.values())), dtype=float)


def encoded(rows):
    """Rows of the grid as the models read them."""
    one_hot = np.eye(3)[rows[:, 3].astype(int)]
    return pd.DataFrame(np.hstack([rows[:, :3], one_hot]), columns=COLUMNS)


def back(row):
    """A row of a model as one of the grid."""
    values = np.asarray(row, dtype=float).ravel()
    return np.r_[values[:3], values[3:].argmax()]


def some_relations(rng, x):
    """One or two relations, and what they say of rows of the grid beside a query."""
    own = {
        "forbidden": lambda: (
            Forbidden(Rises("a"), Becomes("d", LABELS[k])),
            lambda r, q: ~((r[:, 0] > q[0]) & (r[:, 3] == k)),
        ),
        "stays": lambda: (
            Forbidden(Changes("b"), Stays("c")),
            lambda r, q: ~((r[:, 1] != q[1]) & (r[:, 2] == q[2])),
        ),
        "pairs": lambda: (
            AllowedPairs("a", "b", pairs),
            lambda r, q: np.array([(a, b) in set(pairs) for a, b in r[:, :2]]),
        ),
        "mixed": lambda: (
            AllowedPairs("d", "c", mixed),
            lambda r, q: np.array([(LABELS[int(d)], c) in set(mixed) for c, d in r[:, 2:]]),
        ),
        "precedence": lambda: (
            Precedence("d", [LABELS[i] for i in order]),
            lambda r, q: np.array(
                [
                    not (f in order and q[3] in order and order.index(f) < order.index(q[3]))
                    for f in r[:, 3]
                ]
            ),
        ),
        "sum": lambda: (
            Linear({"a": 1, "b": -1}, "<=", float(k)),
            lambda r, q: r[:, 0] - r[:, 1] <= k,
        ),
        "implies": lambda: (
            Implies(Changes("d"), Rises("b")),
            lambda r, q: (r[:, 3] == q[3]) | (r[:, 1] > q[1]),
        ),
        "together": lambda: (
            Together("a", "c"),
            lambda r, q: (r[:, 0] != q[0]) == (r[:, 2] != q[2]),
        ),
    }
    k = int(rng.integers(3))
    every = list(itertools.product(range(5), range(4)))
    pairs = [tuple(map(int, every[i])) for i in rng.choice(len(every), 11, replace=False)]
    others = list(itertools.product(LABELS, (0, 1)))
    mixed = [others[i] for i in rng.choice(len(others), 4, replace=False)]
    order = list(map(int, rng.permutation(3)[: rng.integers(2, 4)]))
    names = rng.choice(list(own), int(rng.integers(1, 3)), replace=False)
    relations, tells = zip(*(own[name]() for name in names), strict=True)
    return list(relations), lambda r, q: np.all([tell(r, q) for tell in tells], axis=0)


def some_model(rng, kind, X, classes=2):
    weight = rng.normal(size=6)
    signal = X.to_numpy() @ weight + rng.normal(size=len(X)) * 0.5
    y = np.digitize(signal, np.quantile(signal, [0.55, 0.85])[: classes - 1])
    seed, trees, depth = int(rng.integers(2**31)), int(rng.integers(2, 8)), int(rng.integers(2, 4))
    match kind:
        case "forest":
            model = RandomForestClassifier(trees, max_depth=depth, random_state=seed)
        case "extra":
            model = ExtraTreesClassifier(trees, max_depth=depth, random_state=seed)
        case "hard":
            model = HardVotingClassifier(
                RandomForestClassifier(trees, max_depth=depth, random_state=seed)
            )
        case "xgboost":
            model = XGBClassifier(n_estimators=trees, max_depth=depth, random_state=seed, n_jobs=1)
    return model.fit(X, y)


class Case:
    """A model of the grid, a row that it refuses, and what every row of the grid costs."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        kind = ("forest", "extra", "hard", "xgboost")[seed % 4]
        self.X = encoded(ALL[rng.integers(len(ALL), size=80)])
        for i, row in enumerate(
            encoded(np.array([[0, 0, 0, 0], [4, 3, 1, 1], [0, 0, 0, 2]])).to_numpy()
        ):
            self.X.iloc[i] = row
        self.model = some_model(rng, kind, self.X)
        self.grid = encoded(ALL)
        self.labels = np.ravel(self.model.predict(self.grid))
        refused = np.flatnonzero(self.labels == 0)
        self.q = ALL[rng.choice(refused)] if refused.size else None
        if self.q is None:
            return
        self.x = encoded(self.q[None, :]).iloc[0]
        self.relations, self.tell = some_relations(rng, self.q)
        self.allowed = self.tell(ALL, self.q)
        self.cost = self.costs(self.q)
        self.where = f"seed {seed}, {kind}, {self.relations}, {self.q}"

    def costs(self, q):
        return np.abs(ALL - q)[:, :3] / [4.0, 3.0, 1.0] @ np.ones(3) + (ALL[:, 3] != q[3])

    def explainer(self, **more):
        return Explainer(
            self.model,
            self.X,
            features={"a": {"kind": "ordinal"}, "b": {"kind": "ordinal"}},
            **more,
        )

    def changed(self):
        return self.q != ALL


def cases(part, size=6):
    """Two cases of each part that always runs, and more of the others."""
    for seed in range(part * size, part * size + (size if part else 2)):
        case = Case(seed)
        if case.q is not None:
            yield case


def check(found, best, where):
    """The distance is the best there is, and the JSON tells the same."""
    assert found.status == ("infeasible" if math.isinf(best) else "optimal"), (where, best, found)
    assert math.isclose(found.distance, best, rel_tol=1e-9, abs_tol=1e-12), (where, best, found)
    told = json.loads(found.to_json())
    assert told == json.loads(json.dumps(found.to_dict())), where
    assert told["status"] == found.status, where


def check_widest(case, region, right):
    """A region holds, and no side of it can be moved on."""
    inside = in_region(region)
    assert region.status == "optimal" and right[inside].all(), (case.where, region)
    json.loads(region.to_json())
    values = [set(ALL[inside][:, at]) for at in range(4)]
    for at, name in enumerate(GRID):
        for v in set(map(float, GRID[name])) - values[at]:
            if name == "d" or {v - 1, v + 1} & values[at]:
                tried = [{v} if i == at else values[i] for i in range(4)]
                wider = np.all([np.isin(ALL[:, i], list(t)) for i, t in enumerate(tried)], axis=0)
                assert not right[wider].all(), (case.where, name, v, region)


PARTS = few_and_large(1, 40)


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
        if isinstance(case.model, XGBClassifier):
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
            case.x, "probability", levels, target=1, constraints=case.relations
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
                case.x, 4, 1, constraints=case.relations, different=different
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


def in_region(region):
    """Which rows of the grid a region holds."""
    held = [np.array([region[n].holds(float(v)) for v in ALL[:, i]]) for i, n in enumerate("abc")]
    d = np.array([region["d"].holds(LABELS[int(v)]) for v in ALL[:, 3]])
    return np.all([*held, d], axis=0)


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


@pytest.mark.parametrize("part", PARTS)
def test_groups(part):
    for case in itertools.islice(cases(part), 3):
        refused = np.flatnonzero(case.labels == 0)
        chosen = case.rng.choice(refused, min(5, refused.size), replace=False)
        budget = float(case.rng.choice([0.6, 1.0, 1.5]))
        explainer, asked = case.explainer(), (encoded(ALL[chosen]), 1, budget, 1)
        for rule in case.relations:
            if not isinstance(rule, Precedence):
                with pytest.raises(InputError, match="not for actions that rows share"):
                    explainer.explain_group(*asked, constraints=[rule])
        order = list(map(int, case.rng.permutation(3)))
        rule = Precedence("d", [LABELS[i] for i in order])
        found = explainer.explain_group(*asked, constraints=[rule])
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
