"""A problem as a first-order formula over Booleans and reals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import z3

from encoders.arrays import FloatArray, IntArray, runs
from encoders.backends.order_encoding import OrderEncoding
from encoders.problem.problem import Problem


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
