"""Satisfiability modulo theories with Z3: the MACE baseline (Karimi et al., 2020).

A sequence of satisfiability checks bisects the distance. Each tree's score is a real variable
that its active leaf sets, and the forest's decision compares their sums, as in MACE.
"""

import time
from typing import Any

import numpy as np
import z3

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Outcome, Request, StopReason
from encoders.backends.smt.formula import Formula, write_formula
from encoders.backends.smt.spec import SMT
from encoders.backends.stopping import StopRepeater, why
from encoders.problem.cost_unit import unit_of
from encoders.problem.problem import Problem

EPSILON = SMT.capability.epsilon
FINEST = 1e-12  # of the cost: float64 has no middle between bounds that are much closer


def solve(problem: Problem, request: Request) -> Outcome:
    """Bisect until the gap is at most ``EPSILON``.

    The result is then "feasible" with stop reason "gap". Where all costs are multiples of a unit
    above ``EPSILON`` (L0) one more check makes it "optimal".
    """
    began = time.perf_counter()
    formula = write_formula(problem)
    build_s = time.perf_counter() - began
    run = _Bisection(problem, request, formula)
    deadline = began + request.time_limit_s
    if request.stop.is_set() or build_s >= request.time_limit_s:
        return run.outcome(why(request), build_s, 0.0)

    def due() -> bool:
        return request.stop.is_set() or time.perf_counter() >= deadline

    with StopRepeater(due, formula.context.interrupt):
        reason = run.bisect(deadline)
    return run.outcome(reason, build_s, time.perf_counter() - began - build_s)


class _Bisection:
    """Bounds on the cost, moved towards each other."""

    def __init__(self, problem: Problem, request: Request, formula: Formula) -> None:
        self._problem, self._request, self._formula = problem, request, formula
        self._unit = unit_of(problem)
        self._half = min(self._unit, float(problem.cost.sum()) + 1.0) / 2
        self._best = BestSoFar(problem, request)
        self._n_models = 0

    def bisect(self, deadline: float) -> StopReason:
        """Check ever smaller distances; why it ended."""
        best = self._best
        found = self._check(self._formula.cost <= self._exact(self._request.cutoff))
        while found is not None and best.best is not None:
            cutoff = min(best.upper, self._request.cutoff_now(self._problem))
            gap = cutoff - best.lower
            if gap <= 0:
                return "proved"
            if gap <= max(EPSILON, FINEST * cutoff) or gap < self._unit:
                if self._unit <= EPSILON:
                    return "gap"
                # Float sums and exact ones differ in the last digits: half a unit covers that.
                found = self._check(self._formula.cost <= self._exact(cutoff - self._half))
                if found is False:
                    return "proved"
                continue
            middle = (cutoff + best.lower) / 2
            found = self._check(self._formula.cost <= self._exact(middle))
            if found is False:
                best.at_least(middle)
        if found is False:
            return "proved"
        late = self._request.stop.is_set() or time.perf_counter() >= deadline
        return why(self._request) if late else "error"

    def _exact(self, value: float) -> Any:
        """Return a float64 as the rational number that it is; infinity as more than any cost."""
        if not np.isfinite(value):
            value = 2.0 * float(self._problem.cost.sum()) + 1.0  # twice: the sum is rounded
        numerator, denominator = value.as_integer_ratio()
        return z3.Q(numerator, denominator, self._formula.context)

    def _check(self, condition: Any) -> bool | None:
        """Return whether a choice meets a condition, and store it; None if Z3 can't decide."""
        solver = self._formula.solver
        try:
            solver.push()
            solver.add(condition)
            answer = solver.check()
            levels = self._formula.levels(solver.model()) if answer == z3.sat else None
            solver.pop()
        except z3.Z3Exception:  # interrupted between two calls
            return None
        if levels is None:
            return False if answer == z3.unsat else None
        self._n_models += 1
        self._best.found(levels)
        return True

    def outcome(self, reason: StopReason, build_s: float, solve_s: float) -> Outcome:
        raw = f"Z3 {z3.get_version_string()}: {self._n_models} models"
        if reason != "proved":
            return self._best.ended(reason, build_s, solve_s, raw)
        if self._best.beaten():
            return self._best.nothing(build_s, solve_s, raw)
        return self._best.proved(build_s, solve_s, raw)
