"""Costs as whole numbers, for solvers that only know integers, with the error bounded."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.interface import Outcome, Request
from encoders.problem.problem import Problem

# See docs/exactness.md, sections 4 and 7.
LARGEST_TOTAL = 2.0**44  # whole units of a choice; more would not stay exact in solvers
LARGEST_CUTOFF = 2.0**60  # whole units: no choice costs more, and solvers take int64 only
LARGEST_EXPONENT = 1000  # of the scale, which has to stay a finite float64
RELATIVE_GAP = 1e-9  # of the answer: a larger gap is solved again with finer units


@dataclass(frozen=True, eq=False)
class IntegerCost:
    """Whole-number costs and what they say about the real ones.

    Attributes
    ----------
    cost : int64 (n_levels,)
    values : for "max" the distinct real costs, an integer cost being an index into them;
        empty for "sum"
    scale : integer units per unit of cost ("sum")
    slack : largest difference between an integer total and the scaled real total ("sum")
    """

    cost: IntArray
    values: FloatArray
    scale: float
    slack: float

    def lower(self, bound: float) -> float:
        """A bound on the real cost that follows from a bound on the integer cost."""
        if self.values.size:
            index = int(np.clip(np.ceil(bound - 1e-6), 0, self.values.size - 1))
            return float(self.values[index])
        return max(0.0, (bound - self.slack) / self.scale)

    def upper(self, cutoff: float) -> int:
        """Return the largest integer cost that a choice of real cost <= ``cutoff`` can have.

        The result fits int64: it is limited to more than any choice costs.
        """
        if self.values.size:
            return int(np.searchsorted(self.values, cutoff, side="right")) - 1
        return int(min(float(cutoff) * self.scale + self.slack, LARGEST_CUTOFF))


def integer_cost(problem: Problem, ceiling: float = np.inf, finest: bool = False) -> IntegerCost:
    """Ranks for "max" (exact); scaled and rounded costs for "sum"."""
    if problem.aggregate == "max":
        values, rank = np.unique(np.append(problem.cost, 0.0), return_inverse=True)
        return IntegerCost(rank[:-1].astype(np.int64), values, 1.0, 0.0)
    cost = np.minimum(problem.cost, 2 * ceiling)
    worst = np.maximum.reduceat(cost, problem.level_start[:-1]) if cost.size else cost
    total = float(worst.max(initial=0.0) if finest else worst.sum())
    # A power of two, so that scaling itself does not round.
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
    """Solve with rounded costs, and again with finer ones around the answer if need be.

    "optimal" then means a real gap of at most 1e-9 of the answer. Where rounding can't be made
    fine enough the gap is reported as what it stopped at, and a proof is not claimed.
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
        # A rival's choice is better, and the last attempt looked for still better ones.
        return replace(outcome, status="infeasible", choices=(), upper=np.inf, lower=np.inf)
    return outcome


def _gap(outcome: Outcome) -> float:
    gap = outcome.upper - outcome.lower
    return gap / outcome.upper if gap > 0 else 0.0


def _joined(first: Outcome, again: Outcome) -> Outcome:
    """The second attempt looked at choices that cost at most the first one's answer."""
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
