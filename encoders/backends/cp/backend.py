"""Constraint programming with CP-SAT (section 3 of the paper)."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from ortools.sat.python import cp_model

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.integer_cost import IntegerCost, integer_cost, solve_within_gap
from encoders.backends.interface import Outcome, Request, Solve, Status, StopReason
from encoders.backends.order_encoding import OrderEncoding
from encoders.backends.prepared import prepared
from encoders.backends.stopping import StopRepeater, why
from encoders.core.arrays import IntArray, runs
from encoders.problem.problem import Problem

Literal = Any  # a CP-SAT Boolean variable, its negation, or a constant

PUBLISHED = "published"


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


def prepare(problem: Problem, request: Request) -> Solve:
    """Build what does not depend on costs; see :class:`encoders.backends.interface.Prepare`."""
    return _prepared(lambda: False, problem, request)  # kept for queries that have more time


def solve(problem: Problem, request: Request) -> Outcome:
    """Solve a problem with CP-SAT; thread safe.

    Costs are rounded to integers. If that leaves a gap above 1e-9 of the answer, the problem is
    solved again with the costs magnified around the answer. So "optimal" means a real gap of at
    most 1e-9.

    ``published`` is the plain formulation under CP-SAT's default parameters, as the paper's code
    runs it. With OR-tools 9.15 their presolve sometimes cuts off optima, so its answer is never
    called a proof: stop reason "error", lower bound 0.
    """
    deadline = time.perf_counter() + request.time_limit_s

    def over() -> bool:
        return request.stop.is_set() or time.perf_counter() >= deadline

    try:
        return prepared(partial(_prepared, over), problem, request)
    except UnfinishedError:
        spent = time.perf_counter() - deadline + request.time_limit_s
        return BestSoFar(problem, request).ended(why(request), spent, 0.0, "not started")


def _prepared(over: Callable[[], bool], problem: Problem, request: Request) -> Solve:
    return partial(_solve, build(problem, request.formulation or "order", over))


def _solve(formulation: Formulation, problem: Problem, request: Request) -> Outcome:
    attempt = partial(_solve_rounded, formulation)
    if request.formulation == PUBLISHED:
        return _unproved(attempt(problem, request, integer_cost(problem, request.cutoff)))
    return solve_within_gap(problem, request, attempt)


def _unproved(outcome: Outcome) -> Outcome:
    reason: StopReason = "error" if outcome.stop_reason == "proved" else outcome.stop_reason
    status: Status = "feasible" if outcome.choices else "unknown"
    return replace(outcome, status=status, stop_reason=reason, lower=0.0)


def _solve_rounded(
    formulation: Formulation, problem: Problem, request: Request, costs: IntegerCost
) -> Outcome:
    began = time.perf_counter()
    best = BestSoFar(problem, request)
    model, objective = formulation.priced(costs.cost, problem.aggregate)
    if np.isfinite(request.cutoff):
        model.add(objective <= costs.upper(request.cutoff))
    build_s = time.perf_counter() - began
    remaining_s = request.time_limit_s - build_s
    if remaining_s <= 0 or request.stop.is_set():
        return best.ended(why(request), build_s, 0.0, "not started")
    solver = _solver(request, remaining_s)
    solver.best_bound_callback = lambda bound: best.at_least(costs.lower(bound))
    with StopRepeater(request.stop.is_set, solver.stop_search):
        code = solver.solve(model, _Recorder(formulation, best))
    solve_s = time.perf_counter() - began - build_s
    raw = str(getattr(code, "name", code))
    if code == cp_model.OPTIMAL:
        return best.proved(build_s, solve_s, raw, costs.lower(solver.best_objective_bound))
    if code == cp_model.INFEASIBLE:
        return best.nothing(build_s, solve_s, raw)
    best.lower = max(best.lower, costs.lower(solver.best_objective_bound))
    reason: StopReason = "error" if code == cp_model.MODEL_INVALID else why(request)
    return best.ended(reason, build_s, solve_s, raw)


def _solver(request: Request, time_limit_s: float) -> cp_model.CpSolver:
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_limit_s
    solver.parameters.num_workers = request.threads
    solver.parameters.random_seed = request.seed
    solver.parameters.catch_sigint_signal = False
    # Presolve costs more than it saves on the order encoding, and on the plain formulation that
    # of OR-tools 9.15 cuts off optima: it would make a wrong proof, so it is off for both.
    solver.parameters.cp_model_presolve = request.formulation == PUBLISHED
    return solver


class _Recorder(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
    """Hands on the solutions found; called under the solver's own lock."""

    def __init__(self, formulation: Formulation, best: BestSoFar) -> None:
        super().__init__()
        self._formulation, self._best = formulation, best

    def on_solution_callback(self) -> None:
        values = np.array([self.value(v) for v in self._formulation.tracked], dtype=np.int64)
        self._best.found(self._formulation.read(values))
