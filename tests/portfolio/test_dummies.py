"""Dummy columns: answers hold one category of a group, its base or a new one included."""

import itertools

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier

from counterfolio import Allowed, Becomes, Changes, Explainer, Implies, MaxChanges

JOBS, VISITS = "abcd", 12


def table(drop_first, dtype=bool):
    rng = np.random.default_rng(3)
    raw = pd.DataFrame({"visits": rng.integers(0, VISITS, 300), "job": rng.choice(list(JOBS), 300)})
    y = (raw.visits > 5) * 1 + raw.job.isin(["a", "c"]) + rng.integers(0, 2, 300) >= 2
    return pd.get_dummies(raw, columns=["job"], drop_first=drop_first, dtype=dtype), y * 1


def rows_of(X, labels):
    jobs = [name for name in X.columns if name.startswith("job_")]
    grid = list(itertools.product(range(VISITS), labels))
    rows = [{"visits": v} | {name: name == f"job_{job}" for name in jobs} for v, job in grid]
    return pd.DataFrame(rows)[list(X.columns)].astype(X.dtypes), grid


@pytest.mark.parametrize(
    ("strategy", "drop_first"),
    [("search", True), ("search", False), ("cp", True), ("maxsat", False)],
)
def test_the_cheapest_row_with_at_most_one_job_is_found(strategy, drop_first):
    X, y = table(drop_first, [bool, int, float][len(strategy) % 3])
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    base = "base" if drop_first else "new"  # what a row of zeros is
    labels = [*("bcd" if drop_first else JOBS), base]
    rows, grid = rows_of(X, labels)
    decided = model.predict(rows)
    if_moved = [Implies(Changes("visits"), Becomes("job", "d"))]
    rules = [
        ((), lambda v, job, v0, job0: True),
        ([MaxChanges(1)], lambda v, job, v0, job0: v == v0 or job == job0),
        ([Allowed("job", ["b", "c"])], lambda v, job, v0, job0: job in "bc"),
        (if_moved, lambda v, job, v0, job0: v == v0 or job == "d"),
    ]
    for at, (constraints, holds) in zip((3, 14, 35, len(grid) - 1), rules, strict=True):
        v0, job0 = grid[at]
        costs = [
            abs(v - v0) / 11 + 0.7 * (job != job0)
            for (v, job), k in zip(grid, decided, strict=True)
            if k != decided[at] and holds(v, job, v0, job0)
            if drop_first or job != base or job0 == base
        ]
        result = explainer.explain(
            rows.iloc[[at]], weights={"job": 0.7}, constraints=constraints, strategy=strategy
        )
        assert result.distance == pytest.approx(min(costs)), (at, constraints)
        assert (result.counterfactual.dtypes == X.dtypes).all()
        assert result.counterfactual.iloc[0, 1:].astype(int).sum() <= 1


def test_a_base_has_a_name_in_changes_regions_sessions_and_batches():
    X, y = table(drop_first=True)
    model = RandomForestClassifier(6, max_depth=4, random_state=0).fit(X, y)
    explainer = Explainer(model, X, features={"job": {"kind": "categorical", "base": "a"}})
    rows, grid = rows_of(X, ["b", "c", "d", "a"])
    found = explainer.explain(rows.iloc[[0]], constraints=[Allowed("job", ["a"])], target=1)
    assert any((c.feature, c.after) == ("job", "a") for c in found.changed)
    row = rows.iloc[[grid.index((9, "a"))]]
    kept = explainer.session(strategy="cp").explain(row)
    assert kept.distance == pytest.approx(explainer.explain(row).distance)
    (span,) = [span for span in explainer.region(row).spans if span.feature == "job"]
    inside = [model.predict(rows.iloc[[grid.index((9, job))]])[0] for job in span.labels]
    assert "a" in span.labels and set(inside) == {model.predict(row)[0]}
    batch = explainer.explain_batch(rows.iloc[:3])
    each = [explainer.explain(rows.iloc[[at]]).distance for at in range(3)]
    assert batch["distance"].tolist() == pytest.approx(each)


@pytest.mark.parametrize("library", ["lightgbm", "histogram"])
def test_dummies_that_the_model_takes_for_categories_are_categories_one_by_one(library):
    X, y = table(drop_first=False, dtype=int)
    jobs = list(X.columns[1:])
    X[jobs] = X[jobs].astype("category")
    model = {
        "lightgbm": lgb.LGBMClassifier(n_estimators=5, verbose=-1, min_child_samples=5),
        "histogram": HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype"),
    }[library].fit(X, y)
    explainer = Explainer(model, X)
    assert [f.kind for f in explainer.features.features] == ["ordinal"] + ["categorical"] * 4
    grid = list(itertools.product(range(VISITS), *[(0, 1)] * 4))
    rows = pd.DataFrame(grid, columns=X.columns).astype(X.dtypes)
    decided = model.predict(rows)
    for at in (3, 44, 130):
        moved = [sum(a != b for a, b in zip(row[1:], grid[at][1:], strict=True)) for row in grid]
        cost = [abs(row[0] - grid[at][0]) / 11 + m for row, m in zip(grid, moved, strict=True)]
        best = min(c for c, k in zip(cost, decided, strict=True) if k != decided[at])
        assert explainer.explain(rows.iloc[[at]]).distance == pytest.approx(best)
