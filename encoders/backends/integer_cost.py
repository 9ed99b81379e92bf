"""Integer costs for solvers that only support integers, with a bounded rounding error."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from encoders.backends.interface import Outcome, Request
from encoders.core.arrays import FloatArray, IntArray
from encoders.problem.problem import Problem

# See docs/explanation/rounding.md and docs/reference/tolerances.md.
LARGEST_TOTAL = 2.0**44  # integer cost of a choice; larger ones would not stay exact in solvers
LARGEST_CUTOFF = 2.0**60  # integer cost that no choice exceeds; it fits the solvers' int64
LARGEST_EXPONENT = 1000  # keeps the scale a finite float64
RELATIVE_GAP = 1e-9  # relative to the cost; a larger gap is solved again with finer units


@dataclass(frozen=True, eq=False)
class IntegerCost:
    """Integer costs, and how they relate to the real ones.

    Attributes
    ----------
    cost : int64 (n_levels,)
    values : float64, distinct real costs that the integer costs index ("max"), else empty.
    scale : integer units per unit of cost ("sum").
    slack : largest difference between an integer total and the scaled real total ("sum").
    """

    cost: IntArray
    values: FloatArray
    scale: float
    slack: float

    def lower(self, bound: float) -> float:
        """Return the lower bound on the real cost that a bound on the integer cost implies."""
        if self.values.size:
            index = int(np.clip(np.ceil(bound - 1e-6), 0, self.values.size - 1))
            return float(self.values[index])
        return max(0.0, (bound - self.slack) / self.scale)

    def upper(self, cutoff: float) -> int:
        """Return the largest integer cost that a choice of real cost <= ``cutoff`` can have.

        The result is limited to :data:`LARGEST_CUTOFF`, so it fits int64.
        """
        if self.values.size:
            return int(np.searchsorted(self.values, cutoff, side="right")) - 1
        return int(min(float(cutoff) * self.scale + self.slack, LARGEST_CUTOFF))


def integer_cost(problem: Problem, ceiling: float = np.inf, finest: bool = False) -> IntegerCost:
    """Return ranks for "max" (exact), and scaled and rounded costs for "sum"."""
    if problem.aggregate == "max":
        values, rank = np.unique(np.append(problem.cost, 0.0), return_inverse=True)
        return IntegerCost(rank[:-1].astype(np.int64), values, 1.0, 0.0)
    cost = np.minimum(problem.cost, 2 * ceiling)
    worst = np.maximum.reduceat(cost, problem.level_start[:-1]) if cost.size else cost
    total = float(worst.max(initial=0.0) if finest else worst.sum())
    # The scale is a power of two, so that scaling itself does not round.
    exponent = np.floor(np.log2(LARGEST_TOTAL) - np.log2(total)) if total > 0 else 0.0
    scale = 2.0 ** min(float(exponent), LARGEST_EXPONENT)
    moving = int((worst > 0).sum())
    whole = np.rint(cost * scale).astype(np.int64)
    slack = 0.0 if (whole / scale == cost).all() else moving / 2
    return IntegerCost(whole, np.zeros(0), float(scale), slack)


def solve_within_gap(
    problem: Problem,
    request: Request,
    attempt: Callable[[Problem, Request, IntegerCost], Outcome],
) -> Outcome:
    """Solve with rounded costs, and again with finer ones if the gap is too large.

    "optimal" then means a real gap of at most 1e-9 of the cost. Where rounding cannot be fine
    enough, the outcome is "feasible" with the stop reason "gap".
    """
    began = time.perf_counter()
    costs = integer_cost(problem, request.cutoff)
    outcome = attempt(problem, request, costs)
    while outcome.status == "optimal" and _gap(outcome) > RELATIVE_GAP:
        finer = integer_cost(problem, outcome.upper)
        if finer.scale <= costs.scale:
            finer = integer_cost(problem, outcome.upper, finest=True)
        if finer.scale <= costs.scale:
            return replace(outcome, status="feasible", stop_reason="gap")
        remaining_s = request.time_limit_s - (time.perf_counter() - began)
        tighter = replace(request, time_limit_s=remaining_s, cutoff=outcome.upper)
        outcome, costs = _joined(outcome, attempt(problem, tighter, finer)), finer
    least = outcome.upper * (1 - RELATIVE_GAP)
    if outcome.status == "optimal" and least > request.cutoff_now(problem):
        # Another solver has a better choice, and the last attempt proved that none beats that.
        return replace(outcome, status="infeasible", choices=(), upper=np.inf, lower=np.inf)
    return outcome


def _gap(outcome: Outcome) -> float:
    gap = outcome.upper - outcome.lower
    return gap / outcome.upper if gap > 0 else 0.0


def _joined(first: Outcome, again: Outcome) -> Outcome:
    """Join two outcomes, of which the second searched choices up to the cost of the first."""
    best = again if again.upper < first.upper else first
    proved = again.status in ("optimal", "infeasible")
    return Outcome(
        status="optimal" if proved else "feasible",
        stop_reason=again.stop_reason,
        choices=best.choices,
        upper=best.upper,
        lower=min(max(first.lower, again.lower), best.upper),
        build_s=first.build_s + again.build_s,
        solve_s=first.solve_s + again.solve_s,
        raw=again.raw,
    )
