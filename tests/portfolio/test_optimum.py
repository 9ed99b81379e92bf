"""The optimum equals a brute force over every cell, for every kind of model and query."""

import math

import numpy as np
import pytest

from encoders.backends.registry import all_backends, find_backend
from portfolio import (
    Explainer,
    InputError,
)
from tests.support.brute import all_rows, decides, distances, thresholds
from tests.support.ensembles import KINDS, random_frame, random_model
from tests.support.parts import few_and_large
from tests.support.questions import random_constraints

pytestmark = pytest.mark.usefixtures("lawful_problems")
CASES, LARGE = 20, 400
BATCH = 20


def check_one(seed, backend):
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    n_classes = int(rng.integers(2, 5))
    X, specs = random_frame(rng)
    model = random_model(rng, kind, X, n_classes)
    explainer = Explainer(model, X)
    x = X.iloc[int(rng.integers(len(X)))]
    values = x.to_numpy()
    current = list(explainer.classes).index(model.predict(X.loc[[x.name]])[0])
    target = (current + int(rng.integers(1, len(explainer.classes)))) % len(explainer.classes)
    p = float(rng.choice([0, 0.5, 1, 2, 3, math.inf]))
    weights = [
        float(w) for w in rng.choice([0.5, 1.0, 2.0, 0.0], len(specs), p=[0.3, 0.3, 0.3, 0.1])
    ]
    constraints, masks = random_constraints(rng, specs, values)
    cuts, dtype = thresholds(model, X.shape[1])
    rows = all_rows(specs, values, model, dtype, cuts, limit=60_000)
    if rows is None:
        return "too many cells"
    valid = decides(model, rows, explainer.classes[target])
    for mask in masks:
        keep = mask(rows)
        rows, valid = rows[keep], valid[keep]
    units = [(s.upper - s.lower) or 1.0 for s in specs]
    cost = distances(specs, values, rows, p, units, weights)
    if backend == "map":
        explainer = mapped(explainer, explainer.classes[target], partly=bool(seed % 3))
        backend = "auto"
    asked = {
        "target": explainer.classes[target],
        "norm": "inf" if math.isinf(p) else p,
        "weights": weights,
        "constraints": constraints,
        "threads": 1,
    }
    if backend == "session":
        backend = "search"
        with explainer.session(**asked, strategy=backend) as session:
            result = session.explain(x)
    else:
        prefix = "plain-" if backend != "auto" and not seed % 5 else ""
        result = explainer.explain(x, **asked, strategy=prefix + backend)
    where = f"seed {seed}, {kind}, {backend}, norm {p}, {constraints}"
    best = cost[valid].min(initial=math.inf)
    capability = find_backend("search" if backend == "auto" else backend).capability
    epsilon = capability.epsilon if result.stop_reason == "gap" else 0.0
    proved = "infeasible" if math.isinf(result.distance) else "optimal"
    assert result.status == ("feasible" if epsilon else proved), where
    assert result.margin == 0 and not result.message, where
    assert result.distance >= best * (1 - 1e-9), where
    assert result.distance <= best * (1 + capability.tolerance) + epsilon, where
    if result.status != "infeasible":
        row = result.counterfactual
        assert model.predict(row.to_frame().T)[0] == explainer.classes[target], where
        again = distances(specs, values, row.to_numpy()[None, :], p, units, weights)[0]
        assert math.isclose(again, result.distance, rel_tol=1e-9), where
        assert result.distance - result.lower_bound <= 2e-9 * result.distance + epsilon, where
        assert result.lower_bound <= best * (1 + 1e-9), where
        assert all(mask(row.to_numpy()[None, :]).all() for mask in masks), where
    return "optimal" if epsilon else result.status


def mapped(explainer, target, partly):
    """With a map where there may be one; with the smallest that is allowed, if only in part."""
    for nodes in (30, 100, 300, 1_000, 10_000_000) if partly else (10_000_000,):
        try:
            return explainer.with_map(target, megabytes=12e-6 * nodes)
        except InputError as error:
            if "far more" not in str(error):
                assert str(error).startswith("this model cannot be mapped"), error
    return explainer


@pytest.mark.slow
@pytest.mark.parametrize(
    "backend", ["map", "session", *(backend.name for backend in all_backends())]
)
@pytest.mark.parametrize("batch", few_and_large(CASES // BATCH, LARGE // BATCH))
def test_optimum_equals_brute_force(batch, backend):
    seen = []
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        try:
            seen.append(check_one(seed, backend))
        except InputError as error:
            assert "contradictory" in str(error)
            seen.append("contradictory")
    assert seen.count("optimal") >= BATCH // 4, seen


@pytest.mark.parametrize("seed", [1840, 2040, 1865, 6145])
def test_plain_cases_that_presolve_got_wrong(seed):
    assert check_one(seed, "cp") == "optimal"
