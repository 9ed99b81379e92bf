"""Satisfiability modulo theories with Z3: the MACE baseline (Karimi et al., 2020).

A sequence of satisfiability checks bisects the distance. Each tree's score is a real variable
that its active leaf sets, and the forest's decision compares their sums, as in MACE.
"""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import z3

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.builtin import SMT
from encoders.backends.interface import Outcome, Request, StopReason
from encoders.backends.order_encoding import OrderEncoding
from encoders.backends.stopping import StopRepeater, why
from encoders.core.arrays import FloatArray, IntArray, runs
from encoders.problem.cost_unit import unit_of
from encoders.problem.problem import Problem

EPSILON = SMT.capability.epsilon

FINEST = 1e-12  # of the cost: float64 has no middle between bounds that are much closer


@dataclass(frozen=True)
class Formula:
    """Assertions of all constraints, the cost as a term, and the order literals to read.

    Attributes
    ----------
    context, solver : Z3 context, and Z3 solver with the assertions.
    cost : real term.
    encoding : order encoding of the axes.
    below : Booleans of the order encoding, in its order.
    """

    context: Any
    solver: Any
    cost: Any
    encoding: OrderEncoding
    below: list[Any]

    def levels(self, model: Any) -> IntArray:
        """Return the chosen level of each axis in a model, int64 (n_axes,)."""
        true = [z3.is_true(model.eval(y, model_completion=True)) for y in self.below]
        return self.encoding.levels(np.array(true, dtype=np.bool_))


def write_formula(problem: Problem) -> Formula:
    """Assert all constraints of a problem in a new context (contexts are not thread safe)."""
    writer = _Writer(problem)
    writer.axes()
    writer.leaves()
    writer.leaf_rows()
    writer.level_rows()
    cost = writer.cost()
    return Formula(writer.context, writer.solver, cost, writer.encoding, writer.below)


class _Writer:
    """Assertions under construction."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.context = z3.Context()
        self.solver = z3.SimpleSolver(ctx=self.context)
        self.encoding = OrderEncoding.of(problem)
        places = zip(self.encoding.axis.tolist(), self.encoding.level.tolist(), strict=True)
        self.below = [z3.Bool(f"y{a}_{m}", self.context) for a, m in places]
        self._leaf = [z3.Bool(f"z{number}", self.context) for number in range(problem.n_leaves)]
        self._true, self._false = z3.BoolVal(True, self.context), z3.BoolVal(False, self.context)

    def axes(self) -> None:
        """Order of levels, one-hot groups, forbidden boxes."""
        problem = self.problem
        for place in self.encoding.chained.tolist():
            self.solver.add(z3.Implies(self.below[place], self.below[place + 1]))
        owner = problem.axis_of
        for group in problem.one_hot:
            places = [(int(owner[g]), int(g - problem.level_start[owner[g]])) for g in group]
            self.solver.add(z3.PbEq([(self._within(a, v, v), 1) for a, v in places], 1))
        for box in problem.forbidden:
            sides = zip(box.axis.tolist(), box.lo.tolist(), box.hi.tolist(), strict=True)
            inside = [self._within(a, lo, hi) for a, lo, hi in sides]
            self.solver.add(z3.Not(z3.And(inside)) if inside else self._false)

    def leaves(self) -> None:
        """Assert one active leaf per tree, which implies its literals."""
        problem = self.problem
        for begin, end in runs(problem.tree_start):
            self.solver.add(z3.PbEq([(z, 1) for z in self._leaf[begin:end]], 1))
        literals = zip(
            problem.leaf_of.tolist(),
            problem.axis.tolist(),
            problem.lo.tolist(),
            problem.hi.tolist(),
            strict=True,
        )
        for number, a, lo, hi in literals:
            self.solver.add(z3.Implies(self._leaf[number], self._within(a, lo, hi)))

    def leaf_rows(self) -> None:
        """Assert the leaf rows, with a real per tree and row for the active weight, as in MACE."""
        for number, row in enumerate(self.problem.leaf_rows):
            scores = []
            for tree, (begin, end) in enumerate(runs(self.problem.tree_start)):
                score = z3.Real(f"s{number}_{tree}", self.context)
                for z in range(begin, end):
                    weight = z3.RealVal(int(row.weight[z]), self.context)
                    self.solver.add(z3.Implies(self._leaf[z], score == weight))
                scores.append(score)
            self.solver.add(sum(scores, self._number(0.0)) >= row.minimum)

    def level_rows(self) -> None:
        """Assert the level rows: limits on sums of the chosen levels' weights."""
        for row in self.problem.level_rows:
            weights = self._per_axis(row.weight)
            self.solver.add(sum(weights, self._number(0.0)) <= row.maximum)

    def cost(self) -> Any:
        """Return a real variable that equals the summed cost, or is at least each axis' cost."""
        cost = z3.Real("cost", self.context)
        terms = self._per_axis(self.problem.cost)
        if self.problem.aggregate == "sum":
            self.solver.add(cost == sum(terms, self._number(0.0)))
        else:
            for term in terms:
                self.solver.add(cost >= term)
        return cost

    def _at_most(self, a: int, m: int) -> Any:
        return self.encoding.at_most(a, m, self.below, self._true, self._false)

    def _within(self, a: int, lo: int, hi: int) -> Any:
        return z3.And(self._at_most(a, hi), z3.Not(self._at_most(a, lo - 1)))

    def _per_axis(self, weight: FloatArray | IntArray) -> list[Any]:
        """Return the weight of each axis' level as a real term; ``weight`` is (n_levels,)."""
        terms = []
        for a, (begin, end) in enumerate(runs(self.problem.level_start)):
            term = self._number(float(weight[end - 1]))
            for v in range(end - begin - 2, -1, -1):
                term = z3.If(self._at_most(a, v), self._number(float(weight[begin + v])), term)
            terms.append(term)
        return terms

    def _number(self, value: float) -> Any:
        """Return a float64 as an exact rational constant."""
        numerator, denominator = value.as_integer_ratio()
        return z3.Q(numerator, denominator, self.context)


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
