"""Every backend, formulation, reduced or not, on problems with optima known by hand."""

import numpy as np
import pytest

from encoders.attempt import Try
from encoders.backend import BACKENDS, Request
from encoders.reduce import Plan, Step, solve_reduced
from tests.conformance.checks import CASES, backend, check
from tests.conformance.named import NAMED
from tests.test_reduce import optimum


@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.name)
def test_the_optimum_is_what_trying_all_choices_gives(named):
    assert optimum(named.problem)[0] == pytest.approx(named.optimum)


@pytest.mark.parametrize(("name", "engine", "formulation"), CASES)
@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.name)
def test_unreduced(name, engine, formulation, named):
    able = backend(name)
    if named.problem.aggregate not in able.capability.aggregates:
        pytest.skip(f"{name} has no {named.problem.aggregate} objective")
    request = Request(60.0, 1, engine=engine, formulation=formulation)
    outcome = able.load()(named.problem, request)
    check(named.problem, outcome, named.optimum, able.capability)


@pytest.mark.parametrize("name", [b.name for b in BACKENDS])
@pytest.mark.parametrize("named", NAMED, ids=lambda named: named.name)
def test_reduced(name, named):
    able = backend(name)
    if named.problem.aggregate not in able.capability.aggregates:
        pytest.skip(f"{name} has no {named.problem.aggregate} objective")
    start = np.zeros((1, named.problem.n_axes), dtype=np.int64)
    outcome = solve_reduced(
        named.problem, Request(60.0, 1), lambda *_: Plan([Step(Try(able))]), start
    )
    check(named.problem, outcome, named.optimum, able.capability)
