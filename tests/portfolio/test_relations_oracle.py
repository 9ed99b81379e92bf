"""Optima under relations against an oracle."""

import itertools
import os

import numpy as np
import pandas as pd
import pytest

from portfolio import AllowedPairs, Changes, Explainer, Implies, JointCost, Rises
from tests.support.brute import thresholds
from tests.support.random_relations import (
    LABELS,
    marks_of,
    model_of,
    random_relations,
    table,
)
from tests.support.related import intervals, optimum

KINDS = ("tree", "forest", "extra", "xgboost", "lightgbm")


def compare(seed, kind, norm, strategy="auto"):
    """One random question against the oracle; whether there was an answer."""
    X, y, random = table(seed)
    model = model_of(kind, seed).fit(X, y)
    explainer = Explainer(model, X)
    row = X.iloc[int(random.integers(len(X)))].astype(float)
    own = int(model.predict(row.to_frame().T)[0])
    before = {n: float(row[n]) for n in "abn"} | {"c": LABELS[int(row[3:].argmax())]}
    relations, allowed, sums, joint = random_relations(random, before)
    spec = {}
    cuts, _ = thresholds(model, X.shape[1])
    for column, name in enumerate("abn"):
        low, high = float(X[name].min()), float(X[name].max())
        if name == "n":
            spec[name] = (high - low, [float(v) for v in range(int(low), int(high) + 1)])
        else:
            marks = marks_of(relations, name, before)
            spec[name] = (high - low, intervals(cuts[column], low, high, marks))
    spec["c"] = (None, list(LABELS))

    def wanted(rows):
        coded = [[r["a"], r["b"], r["n"], *(float(r["c"] == v) for v in LABELS)] for r in rows]
        return model.predict(pd.DataFrame(coded, columns=X.columns)) != own

    best = optimum(spec, before, wanted, allowed, sums, joint, norm)
    result = explainer.explain(row, constraints=relations, norm=norm, strategy=strategy)
    told = f"{seed} {kind} {norm} {strategy} {relations}"
    if best == np.inf:
        assert result.status == "infeasible", told
        return False
    near = 1e-3 if strategy == "smt" else 1e-4  # which stops at a gap
    assert result.status == "optimal" or strategy == "smt", f"{told}: {result}"
    assert result.distance == pytest.approx(best, rel=near, abs=1e-5), f"{told}: {result}"
    after = result.counterfactual
    values = {n: float(after[n]) for n in "abn"} | {"c": LABELS[int(after[3:].argmax())]}
    assert allowed(values), told
    for factors, bound in sums:
        assert sum(f * values[n] for n, f in factors.items()) <= bound + 1e-12, told
    assert model.predict(after.to_frame().T)[0] != own
    return True


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tree", "forest"])
@pytest.mark.parametrize("norm", [0, 1, "inf"])
def test_optima_are_those_of_the_oracle(kind, norm):
    answered = [compare(seed, kind, norm) for seed in range(3)]
    assert any(answered)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["search", "cp", "milp", "maxsat", "smt", "plain-cp"])
def test_every_backend_takes_them(strategy):
    for seed in range(20, 22):
        compare(seed, "forest", 1, strategy)


@pytest.mark.large
def test_many_random_questions():
    count = int(os.environ.get("RELATION_QUESTIONS", "1000"))
    ways = itertools.product(KINDS, [0, 1, "inf"])
    for seed, (kind, norm) in zip(range(100, 100 + count), itertools.cycle(ways), strict=False):
        compare(seed, kind, norm)


@pytest.mark.parametrize("at", range(4))
def test_native_categories_are_related(trades, at):
    model, X = trades
    explainer, row = Explainer(model, X), X.iloc[at]
    own = model.predict(X.iloc[[at]])[0]
    allowed = [("n", "t0"), ("s", "t3"), ("s", "t4"), ("e", "t5"), ("w", "t1"), ("w", "t2")]
    costs = {("s", "t4"): 0.25, ("w", "t1"): 0.5, ("e", "t5"): 2.0}
    every = list(itertools.product("news", [f"t{i}" for i in range(8)], range(1, 9)))
    grid = pd.DataFrame(every, columns=X.columns)
    for name in ("region", "trade"):
        grid[name] = grid[name].astype(X[name].dtype)
    decided = model.predict(grid.astype({"size": float}))
    best = np.inf
    for values, label in zip(every, decided, strict=True):
        region, trade, size = values
        if label == own or (region, trade) not in allowed:
            continue
        moved = [region != row["region"], trade != row["trade"]]
        if moved[1] and not size >= row["size"] + 2:
            continue
        extra = costs.get((region, trade), 0.0) if any(moved) else 0.0
        cost = sum(moved) + abs(size - row["size"]) / 7 + extra
        best = min(best, cost)
    relations = [
        AllowedPairs("region", "trade", allowed),
        Implies(Changes("trade"), Rises("size", by=2)),
        JointCost("region", "trade", costs),
    ]
    result = explainer.explain(row.to_frame().T.astype(X.dtypes), constraints=relations)
    if best == np.inf:
        assert result.status == "infeasible"
    else:
        assert result.status == "optimal" and result.distance == pytest.approx(best)
