"""A problem as a first-order formula over Booleans and reals."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import z3

from encoders.arrays import IntArray, owners
from encoders.problem import Problem


@dataclass(frozen=True)
class Formula:
    """Assertions of all constraints, the cost as a term, and the order literals to read."""

    context: Any
    solver: Any
    cost: Any
    below: list[list[Any]]

    def levels(self, model: Any) -> IntArray:
        """The choice of levels in a model."""
        held = [
            sum(z3.is_true(model.eval(literal, model_completion=True)) for literal in chain)
            for chain in self.below
        ]
        last = np.array([len(chain) for chain in self.below], dtype=np.int64)
        return last - np.array(held, dtype=np.int64)


def write_formula(problem: Problem) -> Formula:
    """All constraints of a problem, in a context of its own (contexts are not thread safe)."""
    context = z3.Context()
    solver = z3.SimpleSolver(ctx=context)
    size = problem.size.tolist()
    below = [[z3.Bool(f"y{a}_{m}", context) for m in range(n - 1)] for a, n in enumerate(size)]

    def at_most(a: int, m: int) -> Any:
        if m < 0:
            return z3.BoolVal(False, context)
        return below[a][m] if m < size[a] - 1 else z3.BoolVal(True, context)

    def at(a: int, v: int) -> Any:
        return z3.And(at_most(a, v), z3.Not(at_most(a, v - 1)))

    for chain in below:
        for lower, upper in pairwise(chain):
            solver.add(z3.Implies(lower, upper))
    owner = owners(problem.level_start)
    for group in problem.one_hot:
        chosen = [at(int(owner[g]), int(g - problem.level_start[owner[g]])) for g in group.tolist()]
        solver.add(z3.PbEq([(literal, 1) for literal in chosen], 1))
    for box in problem.forbidden:
        inside = [
            z3.And(at_most(a, hi), z3.Not(at_most(a, lo - 1)))
            for a, lo, hi in zip(box.axis.tolist(), box.lo.tolist(), box.hi.tolist(), strict=True)
        ]
        solver.add(z3.Not(z3.And(inside)) if inside else z3.BoolVal(False, context))
    leaf = [z3.Bool(f"z{number}", context) for number in range(problem.n_leaves)]
    for begin, end in _runs(problem.tree_start):
        solver.add(z3.PbEq([(z, 1) for z in leaf[begin:end]], 1))
    literals = zip(
        owners(problem.leaf_start).tolist(),
        problem.axis.tolist(),
        problem.lo.tolist(),
        problem.hi.tolist(),
        strict=True,
    )
    for number, a, lo, hi in literals:
        solver.add(z3.Implies(leaf[number], z3.And(at_most(a, hi), z3.Not(at_most(a, lo - 1)))))
    _leaf_rows(problem, solver, leaf, context)

    def per_axis(weight: "np.ndarray[Any, Any]") -> list[Any]:
        """The weight of each axis' level as a real term."""
        terms = []
        for a, (begin, end) in enumerate(_runs(problem.level_start)):
            term = _number(float(weight[end - 1]), context)
            for v in range(end - begin - 2, -1, -1):
                term = z3.If(at_most(a, v), _number(float(weight[begin + v]), context), term)
            terms.append(term)
        return terms

    zero = _number(0.0, context)
    for row in problem.level_rows:
        solver.add(sum(per_axis(row.weight), zero) <= row.maximum)
    cost = z3.Real("cost", context)
    for term in per_axis(problem.cost) if problem.aggregate == "max" else []:
        solver.add(cost >= term)
    if problem.aggregate == "sum":
        solver.add(cost == sum(per_axis(problem.cost), zero))
    return Formula(context, solver, cost, below)


def _leaf_rows(problem: Problem, solver: Any, leaf: list[Any], context: Any) -> None:
    """A real variable per tree and row holds the weight of its active leaf, as in MACE."""
    for number, row in enumerate(problem.leaf_rows):
        scores = []
        for tree, (begin, end) in enumerate(_runs(problem.tree_start)):
            score = z3.Real(f"s{number}_{tree}", context)
            for z in range(begin, end):
                weight = z3.RealVal(int(row.weight[z]), context)
                solver.add(z3.Implies(leaf[z], score == weight))
            scores.append(score)
        solver.add(sum(scores, _number(0.0, context)) >= row.minimum)


def _number(value: float, context: Any) -> Any:
    """A float64 as the rational number it is."""
    numerator, denominator = value.as_integer_ratio()
    return z3.Q(numerator, denominator, context)


def _runs(start: IntArray) -> list[tuple[int, int]]:
    return list(pairwise(start.tolist()))
