"""A model kept for many queries answers like one built for each."""

from dataclasses import replace

import numpy as np
import pytest

from encoders.backends.interface import Feature, Request
from encoders.backends.prepared import PreparedModel, structure_key
from encoders.backends.registry import all_backends
from encoders.testing.conformance import configurations
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem
from tests.support.checks import backend, check

KEEPING = [
    (c.backend.name, c.engine, c.formulation)
    for able in all_backends()
    if Feature.KEEPS_MODELS in able.capability.features
    for c in configurations(able)
]


def repriced(problem, seed):
    """Other costs: those of each axis in another order, and of other size."""
    rng = np.random.default_rng(seed)
    runs = [
        rng.permutation(problem.cost[begin:end]) * rng.choice([0.01, 1.0, 300.0])
        for begin, end in zip(problem.level_start[:-1], problem.level_start[1:], strict=True)
    ]
    return replace(problem, cost=np.concatenate(runs))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "engine", "formulation"), KEEPING)
def test_one_model_many_costs(name, engine, formulation, monkeypatch):
    able = backend(name)
    built = []
    prepare = able.load_prepare()

    def counted(problem, request):
        built.append(problem)
        return prepare(problem, request)

    monkeypatch.setattr(f"{able.module}.prepare", counted)
    for seed in range(20):
        kept, first = PreparedModel(), random_problem(seed)
        request = Request(60.0, 1, engine=engine, formulation=formulation)
        for again in range(3):
            problem = repriced(first, again)
            outcome = kept.solve(able, problem, request)
            check(problem, outcome, optimum(problem)[0], able.capability)
        assert len(built) == seed + 1


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({name for name, _, _ in KEEPING}))
def test_another_structure_gets_another_model(name):
    kept = PreparedModel()
    for seed in range(30):
        problem = random_problem(seed)
        outcome = kept.solve(backend(name), problem, Request(60.0, 1))
        check(problem, outcome, optimum(problem)[0], backend(name).capability)


def test_the_key_sees_everything_but_costs():
    for seed in range(50):
        problem = random_problem(seed)
        key = structure_key(problem)
        assert structure_key(repriced(problem, 0)) == key
        assert structure_key(problem.without(np.zeros(problem.n_axes, dtype=np.int64))) != key
        row = problem.leaf_rows[0]
        tighter = replace(problem, leaf_rows=(replace(row, minimum=row.minimum + 1),))
        assert structure_key(tighter) != key


def test_who_can_keep_a_model():
    keeping = {name for name, _, _ in KEEPING}
    assert keeping == {"cp", "milp", "maxsat"}
    assert {b.name for b in all_backends() if b.capability.sessions} == {*keeping, "search"}
