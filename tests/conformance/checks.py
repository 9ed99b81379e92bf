"""What every backend must say of a problem whose optimum is known; tolerances from capabilities."""

import math

import pytest

from encoders.backend import BACKENDS

CASES = [
    (b.name, engine, formulation)
    for b in BACKENDS
    for engine in b.engines
    for formulation in b.formulations
    if engine != "auto" and formulation not in b.unproved
]


def backend(name):
    return next(b for b in BACKENDS if b.name == name)


def check(problem, outcome, cost, capability):
    """``cost`` is the known optimum, inf if there is no choice."""
    if math.isinf(cost):
        assert outcome.status == "infeasible" and outcome.stop_reason == "proved"
        assert outcome.choices == ()
        return
    assert problem.admits(outcome.choices[0])
    assert problem.distance(outcome.choices[0]) == pytest.approx(outcome.upper, rel=1e-12)
    if outcome.stop_reason == "gap":
        assert capability.epsilon > 0 and outcome.status == "feasible"
        assert outcome.lower <= cost * (1 + 1e-12) and outcome.upper >= cost * (1 - 1e-12)
        assert outcome.upper - outcome.lower <= capability.epsilon
        return
    assert outcome.status == "optimal" and outcome.stop_reason == "proved"
    assert outcome.upper == pytest.approx(cost, rel=capability.tolerance, abs=1e-9)
    assert outcome.lower == pytest.approx(cost, rel=10 * capability.tolerance, abs=1e-9)
