"""The check of a backend's outcome against a known optimum."""

import math

import numpy as np

from encoders.backends.interface import Capability, Outcome
from encoders.problem.problem import Problem

SMALLEST = 1e-9  # costs that differ by less are equal; all costs of the test problems are larger


def check_outcome(problem: Problem, outcome: Outcome, cost: float, capability: Capability) -> None:
    """Check the outcome of a backend against the optimum, within the declared tolerance.

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    outcome : Outcome
        The result of the backend.
    cost : float
        The optimal cost, inf if the problem is infeasible.
    capability : Capability
        The declared abilities and tolerances of the backend.

    Raises
    ------
    AssertionError
        If the outcome is wrong.

    See Also
    --------
    check_backend : Run the whole conformance suite.

    Examples
    --------
    >>> from encoders.backends.interface import Request
    >>> from encoders.backends.registry import find_backend
    >>> from encoders.testing import NAMED, check_outcome
    >>> search, named = find_backend("search"), NAMED[0]
    >>> outcome = search.load()(named.problem, Request(60.0, 1))
    >>> check_outcome(named.problem, outcome, named.optimum, search.capability)
    """
    if math.isinf(cost):
        _expect(outcome.status == "infeasible", "status infeasible", outcome)
        _expect(outcome.stop_reason == "proved" and outcome.choices == (), "a proof", outcome)
        return
    _expect(bool(outcome.choices), f"a choice of cost {cost}", outcome)
    best = outcome.choices[0]
    _expect(best.dtype == np.int64, "choices of dtype int64", outcome)
    _expect(problem.admits(best), "a best choice that satisfies the constraints", outcome)
    equal = math.isclose(problem.distance(best), outcome.upper, rel_tol=1e-12, abs_tol=1e-300)
    _expect(equal, f"upper equal to the best choice's cost, {problem.distance(best)}", outcome)
    if outcome.stop_reason == "gap":
        declared = capability.epsilon > 0 and outcome.status == "feasible"
        _expect(declared, "status feasible and a declared gap", outcome)
        within = outcome.lower <= cost * (1 + 1e-12) and outcome.upper >= cost * (1 - 1e-12)
        _expect(within, f"bounds around {cost}", outcome)
        small = outcome.upper - outcome.lower <= capability.epsilon
        _expect(small, f"a gap of at most {capability.epsilon}", outcome)
        return
    _expect((outcome.status, outcome.stop_reason) == ("optimal", "proved"), "a proof", outcome)
    _expect(_near(outcome.upper, cost, capability.tolerance), f"cost {cost}", outcome)
    _expect(_near(outcome.lower, cost, 10 * capability.tolerance), f"lower bound {cost}", outcome)


def _near(value: float, cost: float, tolerance: float) -> bool:
    return math.isclose(value, cost, rel_tol=tolerance, abs_tol=SMALLEST)


def _expect(holds: bool, what: str, outcome: Outcome) -> None:
    if not holds:
        raise AssertionError(
            f"expected {what}, got {outcome.status} ({outcome.stop_reason}), upper "
            f"{outcome.upper}, lower {outcome.lower}, {len(outcome.choices)} choices: "
            f"{outcome.raw}"
        )
