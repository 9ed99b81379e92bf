"""What every backend must say of a problem whose optimum is known."""

import math

from encoders.backends.interface import Capability, Outcome
from encoders.problem.problem import Problem

SMALLEST = 1e-9  # costs that differ by less are the same, far below those of the test problems


def check_outcome(problem: Problem, outcome: Outcome, cost: float, capability: Capability) -> None:
    """Hold an outcome against the optimum, within the tolerance that is declared.

    Parameters
    ----------
    problem : that was solved
    outcome : what a backend says
    cost : the known optimum, inf if there is no choice
    capability : of the backend

    Raises
    ------
    AssertionError
        What is wrong with it.
    """
    if math.isinf(cost):
        _expect(outcome.status == "infeasible", "there is no choice", outcome)
        _expect(outcome.stop_reason == "proved" and outcome.choices == (), "a proof", outcome)
        return
    _expect(bool(outcome.choices), f"a choice of cost {cost}", outcome)
    best = outcome.choices[0]
    _expect(problem.admits(best), "the best choice keeps the constraints", outcome)
    told = math.isclose(problem.distance(best), outcome.upper, rel_tol=1e-12, abs_tol=1e-300)
    _expect(told, f"upper is the best choice's cost, {problem.distance(best)}", outcome)
    if outcome.stop_reason == "gap":
        _expect(capability.epsilon > 0 and outcome.status == "feasible", "a gap declared", outcome)
        within = outcome.lower <= cost * (1 + 1e-12) and outcome.upper >= cost * (1 - 1e-12)
        _expect(within, f"bounds around {cost}", outcome)
        _expect(outcome.upper - outcome.lower <= capability.epsilon, "the gap declared", outcome)
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
