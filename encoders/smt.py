"""Satisfiability modulo theories with Z3: the MACE baseline (Karimi et al., 2020).

A sequence of satisfiability checks bisects the distance. Each tree's score is a real variable
that its active leaf sets, and the forest's decision compares their sums, as in MACE.
"""

import threading
import time
from typing import Any

import numpy as np
import z3

from encoders.arrays import IntArray
from encoders.backend import Outcome, Request, Status, StopReason
from encoders.granularity import unit_of
from encoders.problem import Problem
from encoders.smt_formula import Formula, write_formula

EPSILON = 1e-3
POLL_S = 0.02


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
        return run.outcome("interrupted" if request.stop.is_set() else "time_limit", build_s, 0.0)
    watcher = _Watcher(formula.context, request.stop, deadline)
    watcher.start()
    try:
        reason = run.bisect(deadline)
    finally:
        watcher.end()
    return run.outcome(reason, build_s, time.perf_counter() - began - build_s)


class _Bisection:
    """Bounds on the cost, and the best choice so far."""

    def __init__(self, problem: Problem, request: Request, formula: Formula) -> None:
        self._problem, self._request, self._formula = problem, request, formula
        self._unit = unit_of(problem)
        self._half = min(self._unit, float(problem.cost.sum()) + 1.0) / 2
        self.choices: list[IntArray] = []
        self.upper = np.inf
        self.lower = 0.0

    def bisect(self, deadline: float) -> StopReason:
        """Check ever smaller distances; why it ended."""
        found = self._check(self._formula.cost <= self._exact(self._request.cutoff))
        while found is not None and self.choices:
            worth = min(self.upper, self._request.worth(self._problem))
            gap = worth - self.lower
            if gap <= 0:
                return "proved"
            if gap <= EPSILON or gap < self._unit:
                if self._unit <= EPSILON:
                    return "gap"
                # Float sums and exact ones differ in the last digits: half a unit covers that.
                found = self._check(self._formula.cost <= self._exact(worth - self._half))
                if found is False:
                    return "proved"
                continue
            middle = (worth + self.lower) / 2
            found = self._check(self._formula.cost <= self._exact(middle))
            if found is False:
                self.lower = middle
                self._request.on_bounds(self.upper, self.lower)
        if found is False:
            return "proved"
        if self._request.stop.is_set():
            return "interrupted"
        return "time_limit" if time.perf_counter() >= deadline else "error"

    def _exact(self, value: float) -> Any:
        """A float64 as the rational number it is; infinity as more than any cost."""
        if not np.isfinite(value):
            value = float(self._problem.cost.sum()) + 1.0
        numerator, denominator = value.as_integer_ratio()
        return z3.Q(numerator, denominator, self._formula.context)

    def _check(self, condition: Any) -> bool | None:
        """Whether a choice meets a condition (then it is kept); None if Z3 can't say."""
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
        self.choices.append(levels)
        self.upper = self._problem.distance(levels)
        self._request.on_choice(levels)
        self._request.on_bounds(self.upper, min(self.lower, self.upper))
        return True

    def outcome(self, reason: StopReason, build_s: float, solve_s: float) -> Outcome:
        status: Status = "feasible" if self.choices else "unknown"
        lower = min(self.lower, self.upper)
        if reason == "proved":
            if self.upper > self._request.worth(self._problem):  # a rival's choice is better
                self.choices, self.upper = [], np.inf
            status = "optimal" if self.choices else "infeasible"
            lower = self.upper
        return Outcome(
            status=status,
            stop_reason=reason,
            choices=tuple(reversed(self.choices)),
            upper=self.upper,
            lower=lower,
            build_s=build_s,
            solve_s=solve_s,
            raw=f"Z3 {z3.get_version_string()}: {len(self.choices)} models",
        )


class _Watcher(threading.Thread):
    """Interrupts Z3 when asked or late, again and again until the solve is over."""

    def __init__(self, context: Any, stop: threading.Event, deadline: float) -> None:
        super().__init__(daemon=True, name="counterfolio-smt-watch")
        self._context, self._stop_asked, self._deadline = context, stop, deadline
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(POLL_S):
            if self._stop_asked.is_set() or time.perf_counter() >= self._deadline:
                self._context.interrupt()

    def end(self) -> None:
        self._over.set()
        self.join()
