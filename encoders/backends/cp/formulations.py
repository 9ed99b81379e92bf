"""CP-SAT formulations of a problem: the paper's own, and stronger equivalents.

``plain``
    Section 3 of the paper: one interval-index variable per axis, reified bounds per leaf
    (equations 3 to 5), Element constraints for the cost. ``published`` is the same model.
``order``
    Order encoding: ``y[a, m]`` is true iff axis a is at most level m. Leaves imply literals, and
    the cost is linear in them, so the LP relaxation includes it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from encoders.arrays import IntArray, runs
from encoders.backends.order_encoding import OrderEncoding
from encoders.problem.problem import Problem

Literal = Any  # a CP-SAT Boolean variable, its negation, or a constant


@dataclass(frozen=True)
class Formulation:
    """Model of all constraints, with functions that add the cost and read a solution.

    Attributes
    ----------
    model : CP-SAT model without an objective.
    terms : function that returns the cost of each axis, and adds the variables that it needs.
    tracked : variables that determine the levels.
    read : function from values of ``tracked``, int64, to levels, int64 (n_axes,).
    """

    model: cp_model.CpModel
    terms: "Terms"
    tracked: list[cp_model.IntVar]
    read: Callable[[IntArray], IntArray]

    def priced(self, cost: IntArray, aggregate: str) -> tuple[cp_model.CpModel, Any]:
        """Return a copy of the model that minimises integer level costs, and its objective."""
        model = self.model.clone()
        terms = self.terms(model, cost)
        if aggregate == "sum":
            total = sum(terms)
            model.minimize(total)
            return model, total
        worst = model.new_int_var(0, int(cost.max(initial=0)), "")
        for term in terms:
            model.add(worst >= term)
        model.minimize(worst)
        return model, worst


Terms = Callable[[cp_model.CpModel, IntArray], list[Any]]
Over = Callable[[], bool]


class UnfinishedError(Exception):
    """Expiry of the time limit before the model was built."""


def build(problem: Problem, name: str, over: Over = lambda: False) -> Formulation:
    """Build the named formulation, without costs."""
    if name in ("plain", "published"):
        return _build_plain(problem, over)
    return _build_order(problem, over)


def _build_plain(problem: Problem, over: Over) -> Formulation:
    model = cp_model.CpModel()
    level = [model.new_int_var(0, int(n) - 1, "") for n in problem.size]
    leaf = _leaves(model, problem, over)
    lasts = (problem.size - 1).tolist()
    for z, literals in _literals(problem, leaf, over):
        for a, lo, hi in literals:
            if hi < lasts[a]:
                model.add(level[a] <= hi).only_enforce_if(z)
            if lo > 0:
                model.add(level[a] >= lo).only_enforce_if(z)

    def element(model: cp_model.CpModel, weights: IntArray) -> list[Any]:
        terms = []
        for a, (begin, end) in enumerate(runs(problem.level_start)):
            table = weights[begin:end].tolist()
            if any(table):
                term = model.new_int_var(min(table), max(table), "")
                model.add_element(level[a], table, term)
                terms.append(term)
        return terms

    def at_most(a: int, m: int) -> Literal:
        flag = model.new_bool_var("")
        model.add(level[a] <= m).only_enforce_if(flag)
        model.add(level[a] > m).only_enforce_if(~flag)
        return flag

    _finish(model, problem, leaf, element, at_most)
    return Formulation(model, element, level, lambda values: values)


def _build_order(problem: Problem, over: Over) -> Formulation:
    model = cp_model.CpModel()
    true = model.new_constant(1)
    encoding = OrderEncoding.of(problem)
    y = [model.new_bool_var("") for _ in range(encoding.n)]
    for place in encoding.chained.tolist():
        model.add_implication(y[place], y[place + 1])

    def at_most(a: int, m: int) -> Literal:
        return encoding.at_most(a, m, y, true, ~true)

    leaf = _leaves(model, problem, over)
    lasts = (problem.size - 1).tolist()  # asked for each literal, of which there may be a million
    for z, literals in _literals(problem, leaf, over):
        for a, lo, hi in literals:
            if hi < lasts[a]:
                model.add_implication(z, at_most(a, hi))
            if lo > 0:
                model.add_implication(z, ~at_most(a, lo - 1))

    def linear(model: cp_model.CpModel, weights: IntArray) -> list[Any]:
        """Return a linear term per axis with a nonzero weight; see :meth:`OrderEncoding.steps`."""
        steps = encoding.steps(weights)
        terms = []
        for a, (begin, end) in enumerate(runs(encoding.first)):
            constant = int(weights[problem.level_start[a + 1] - 1])
            used = [(y[i], -int(steps[i])) for i in range(begin, end) if steps[i]]
            if used or constant:
                variables, factors = [v for v, _ in used], [s for _, s in used]
                terms.append(cp_model.LinearExpr.weighted_sum(variables, factors) + constant)
        return terms

    _finish(model, problem, leaf, linear, at_most)
    return Formulation(model, linear, y, lambda values: encoding.levels(values == 1))


def _leaves(model: cp_model.CpModel, problem: Problem, over: Over) -> list[cp_model.IntVar]:
    if over():
        raise UnfinishedError
    leaf = [model.new_bool_var("") for _ in range(problem.n_leaves)]
    for begin, end in runs(problem.tree_start):
        model.add_exactly_one(leaf[begin:end])
    return leaf


def _finish(
    model: cp_model.CpModel,
    problem: Problem,
    leaf: list[cp_model.IntVar],
    terms: Terms,
    at_most: Callable[[int, int], Literal],
) -> None:
    """Add one-hot groups, rows and forbidden boxes; the same for all formulations."""
    owner = problem.axis_of
    for group in problem.one_hot:
        chosen = []
        for level in group.tolist():
            a = int(owner[level])
            # The level 1 is the last one of its axis: chosen iff not at most the one before.
            position = level - int(problem.level_start[a])
            chosen.append(~at_most(a, position - 1) if position else model.new_constant(1))
        model.add_exactly_one(chosen)
    for row in problem.leaf_rows:
        used = np.flatnonzero(row.weight)
        total = cp_model.LinearExpr.weighted_sum(
            [leaf[z] for z in used.tolist()], row.weight[used].tolist()
        )
        model.add(total >= row.minimum)
    for level_row in problem.level_rows:
        model.add(sum(terms(model, level_row.weight)) <= level_row.maximum)
    for box in problem.forbidden:
        outside = []
        for a, lo, hi in zip(box.axis.tolist(), box.lo.tolist(), box.hi.tolist(), strict=True):
            if lo > 0:
                outside.append(at_most(a, lo - 1))
            if hi < problem.size[a] - 1:
                outside.append(~at_most(a, hi))
        model.add_bool_or(outside)


def _literals(
    problem: Problem, leaf: list[cp_model.IntVar], over: Over
) -> Iterator[tuple[cp_model.IntVar, Iterator[tuple[int, int, int]]]]:
    """Yield each leaf with its literals: axis, first level and last level."""
    for z, (begin, end) in zip(leaf, runs(problem.leaf_start), strict=True):
        if over():
            raise UnfinishedError
        parts = (part[begin:end].tolist() for part in (problem.axis, problem.lo, problem.hi))
        yield z, zip(*parts, strict=True)
