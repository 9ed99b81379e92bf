"""Words such as "at least" are used only where rules, bounds and the model admit what is beyond."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from portfolio import (
    AllowedPairs,
    Becomes,
    Changes,
    Explainer,
    Falls,
    Forbidden,
    Implies,
    Linear,
    Range,
    Rises,
    Stays,
    Within,
)

MODELS = (
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestClassifier(4, max_depth=3, random_state=0),
    HistGradientBoostingClassifier(
        max_iter=4, max_leaf_nodes=4, min_samples_leaf=5, learning_rate=1
    ),
)


def table(seed):
    random = np.random.default_rng(seed)
    X = pd.DataFrame({name: random.uniform(0, 8, 150) for name in "xy"})
    X["b"] = random.choice([0.0, 1.0], 150)
    return X, (X.x + random.normal() * X.y + X.b > X.x.mean()).astype(int), random


@pytest.fixture(scope="module")
def ramp():
    """Granted from 5 on, whatever the rest is, so that every number further on would do."""
    X = pd.DataFrame({"x": np.linspace(0, 8, 81), "y": np.tile([0.0, 4.0, 8.0], 27)})
    X["b"] = np.tile([0.0, 1.0, 1.0], 27)
    model = DecisionTreeClassifier(max_depth=1).fit(X, (X.x > 5).astype(int))
    return Explainer(model, X), pd.DataFrame({"x": [1.0], "y": [4.0], "b": [1.0]})


@pytest.mark.parametrize(
    ("rules", "claimed"),
    [
        ([], True),
        ([Rises("x", 4.5)], True),
        ([Within("x", 6, 9)], True),
        ([Within("x", 6, 7)], False),
        ([Becomes("x", 6, 7)], False),
        ([AllowedPairs("x", "b", [(6, 1), (7, 0)])], False),
        ([Forbidden(Within("x", 7, 7.5))], False),
        ([Forbidden(Within("x", 7, 7.5), Becomes("b", 0))], True),
        ([Linear({"x": 1, "y": 1}, "<=", 10)], False),
        ([Linear({"x": 1, "y": -1}, ">=", 2)], True),
        ([Linear({"x": 1, "y": -1}, "==", 2)], False),
        ([Range("x", 0, 6)], True),
        ([Range("x", 6, 6)], False),
    ],
    ids=str,
)
def test_rules_that_fix_a_number_or_limit_it(ramp, rules, claimed):
    explainer, row = ramp
    always = Becomes("b", 0, 1)
    relations = [
        Implies(always, r) if isinstance(r, Rises | Within | Becomes) else r for r in rules
    ]
    result = explainer.explain(row, constraints=relations)
    assert result.status == "optimal" and [c.feature for c in result.changed] == ["x"]
    words = [str(result), result.rounded and str(result.rounded)]
    assert [change.onward for change in result.changed] == [claimed]
    assert all(("at least" in own) == claimed for own in words if own)


def test_a_number_that_is_the_last_of_its_cell():
    """A model that reads float64 and a bound on its threshold: what lies beyond is another cell."""
    X = pd.DataFrame({"x": np.repeat([0.0, 2.0, 4.0], 20)})
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=5)
    model.fit(X, (X.x == 2).astype(int))
    explainer = Explainer(model, X, features={"x": {"kind": "numeric"}})
    row = pd.DataFrame({"x": [0.0]})
    assert model.predict(pd.DataFrame({"x": [3.0, np.nextafter(3.0, 4)]})).tolist() == [1, 0]
    free = explainer.explain(row)
    assert free.changed[0].onward and "at least" in str(free)
    for rule in (Range("x", 3, 4), Implies(Changes("x"), Within("x", 3, 9))):
        result = explainer.explain(row, constraints=[rule])
        assert result.changed[0].after == 3 and not result.changed[0].onward
        assert "at least" not in str(result)


def random_rules(random):
    """Rules, each with what it demands of an answer's numbers given the query's."""
    name, other = random.permutation(["x", "y"]).tolist()
    low, high = sorted(random.uniform(0, 8, 2).round(1).tolist())
    bound = round(float(random.uniform(2, 14)), 1)
    return [
        (
            Implies(Changes(name), Within(name, low, high)),
            lambda r, q: r[name] == q[name] or low <= r[name] <= high,
        ),
        (
            Forbidden(Within(name, low, high), Rises(other)),
            lambda r, q: not (low <= r[name] <= high and r[other] > q[other]),
        ),
        (
            Implies(Rises(name), Falls(other, 1)),
            lambda r, q: r[name] <= q[name] or r[other] <= q[other] - 1 + 1e-9,
        ),
        (Linear({"x": 1, "y": 1}, "<=", bound), lambda r, q: r["x"] + r["y"] <= bound + 1e-9),
        (
            AllowedPairs(name, "b", [(low, 0), (high, 0), (low, 1)]),
            lambda r, q: (r[name], r["b"]) in [(low, 0), (high, 0), (low, 1)],
        ),
        (Implies(Stays("b"), Rises(name)), lambda r, q: r["b"] != q["b"] or r[name] > q[name]),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_claims_hold_for_all_numbers_further_on(model):
    assert sum(count_claims(model, seed) for seed in range(3)) > 10


def count_claims(model, seed):
    """How many claims there are, each checked on numbers further on."""
    X, y, random = table(seed)
    model.fit(X, y)
    explainer, claims = Explainer(model, X), 0
    for at in random.permutation(len(X))[:12].tolist():
        row, every = X.iloc[[at]], random_rules(random)
        kept = [every[i] for i in random.permutation(len(every))[: int(random.integers(1, 3))]]
        result = explainer.explain(row, constraints=[r for r, _ in kept], strategy="search")
        if result.row is None:
            continue
        given, ends = row.iloc[0].to_dict(), {}
        for changed in (result.changed, result.told):
            after = given | {change.feature: change.after for change in changed}
            moved = [change for change in changed if change.onward]
            claims += len(moved)
            for change in moved:
                up = change.after > change.before
                last = X[change.feature].max() if up else X[change.feature].min()
                ends[change.feature] = np.linspace(change.after, last, 9)
                near = np.nextafter(np.float32(change.after), np.float32(last))
                tried = pd.DataFrame([after | {change.feature: float(near)}])
                assert model.predict(tried[X.columns])[0] == result.target, (seed, at, kept)
            spans = {change.feature: ends[change.feature] for change in moved}
            for numbers in itertools.product(*spans.values()):
                tried = after | dict(zip(spans, numbers, strict=True))
                assert all(demand(tried, given) for _, demand in kept), (seed, at, kept, tried)
    return claims
