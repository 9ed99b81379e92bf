"""Weighted partial MaxSAT with PySAT (appendix B of the paper).

``cores``
    Core-guided search, stratified RC2: unsatisfiable cores raise the lower bound, the model of
    every finished stratum may lower the upper bound.
``linear``
    Linear SAT-UNSAT search: every model found must be undercut by the next one; when there is
    none, the last one is optimal. Starts from the incumbent's cost; no lower bound before the end.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF
from pysat.solvers import Solver

from encoders.backends.integer_cost import IntegerCost, solve_within_gap
from encoders.backends.interface import Outcome, Request, Solve
from encoders.backends.maxsat.clauses import TRUE, Clauses, Soft, write_clauses, write_soft
from encoders.backends.maxsat.pseudo_boolean import Item, add_up, compare
from encoders.backends.maxsat.state import ENGINES, NO_INTERRUPT, Ending, State
from encoders.backends.prepared import prepared
from encoders.problem.problem import Problem


def search_linearly(
    state: State, clauses: Clauses, soft: Soft, engine: str, time_limit_s: float
) -> Outcome:
    """Every model found must be undercut by the next one; the last one is optimal."""
    began = time.perf_counter()
    limit = _Limit(soft)
    with Solver(name=engine, bootstrap_with=[*clauses.hard, *soft.hard, *limit.clauses]) as solver:
        if state.cutoff is not None:
            solver.append_formula(limit.at_most(state.cutoff))
        build_s = time.perf_counter() - began
        ending = Ending(state, began + time_limit_s, lambda: None)
        with ending.watch(solver, engine):
            cost = _undercut(solver, state, soft, limit, engine != NO_INTERRUPT)
    solve_s = time.perf_counter() - began - build_s
    if ending.asked:
        return state.stopped(build_s, solve_s)
    if cost is None or state.best.beaten():
        return state.nothing(build_s, solve_s)
    state.cost = cost
    return state.proved(build_s, solve_s)


def _undercut(
    solver: Solver, state: State, soft: Soft, limit: "_Limit", interruptible: bool
) -> int | None:
    """Cost of the last model that could be found, None without one."""
    cost: int | None = None
    while True:
        found = solver.solve_limited(expect_interrupt=True) if interruptible else solver.solve()
        if not found:
            return cost
        true = {v for v in solver.get_model() if v > 0}
        state.found(true)
        cost = sum(weight for literal, weight in soft.soft if not _holds(literal, true))
        if cost == 0:
            return cost
        cutoff = state.cutoff
        most = cost - 1 if cutoff is None else min(cost - 1, cutoff)
        solver.append_formula(limit.at_most(most))


def _holds(literal: int, true: set[int]) -> bool:
    return literal in true if literal > 0 else -literal not in true


class _Limit:
    """The cost as a binary number, and clauses that keep it low."""

    def __init__(self, soft: Soft) -> None:
        self.clauses: list[list[int]] = []
        self._top = soft.n_variables
        self._total = sum(weight for _, weight in soft.soft)
        saved = [[Item(0, [x]), Item(weight, [-x])] for x, weight in soft.soft]
        self._saved = add_up(saved, self._new, self.clauses.append)

    def _new(self) -> int:
        self._top += 1
        return self._top

    def at_most(self, cost: int) -> list[list[int]]:
        """Return clauses that limit the cost, by a minimum of the weight saved."""
        clauses: list[list[int]] = []
        minimum = self._total - cost
        if minimum > 0:
            compare(self._saved, minimum, clauses.append)
        return [clause or [-TRUE] for clause in clauses]


def search_by_cores(
    state: State, clauses: Clauses, soft: Soft, engine: str, time_limit_s: float
) -> Outcome:
    """Unsatisfiable cores raise the lower bound until a model costs no more."""
    began = time.perf_counter()
    formula = WCNF()
    formula.extend(clauses.hard)
    formula.extend(soft.hard)
    for literal, weight in soft.soft or [(TRUE, 1)]:  # RC2 fails where nothing costs
        formula.append([literal], weight=weight)
    with _Reporting(state, formula, engine) as solver:
        build_s = time.perf_counter() - began
        ending = Ending(state, began + time_limit_s, lambda: state.at_least(solver.cost))
        with ending.watch(solver, engine):
            model = solver.compute_until(ending)
        cost = solver.cost
    solve_s = time.perf_counter() - began - build_s
    if model is not None:
        state.found({v for v in model if v > 0})
    if ending.asked:
        return state.stopped(build_s, solve_s)
    if model is None or state.best.beaten():
        return state.nothing(build_s, solve_s)
    state.cost = cost
    return state.proved(build_s, solve_s)


class _EndedError(Exception):
    """Interruption of a search that has to stop, or whose bound exceeds the cutoff."""


class _Reporting(RC2Stratified):  # type: ignore[misc]
    """RC2 that reports the model and bound of every finished stratum, and can be interrupted.

    RC2 itself takes an interrupted call for a core. It then minimises and exhausts it, for up to a
    minute and with a wrong cost. So each call of the SAT solver can be interrupted here, and the
    result of an interrupted call is discarded.
    """

    def __init__(self, state: State, formula: WCNF, engine: str) -> None:
        self._state = state
        self._ending: Ending | None = None
        self._interruptible = engine != NO_INTERRUPT
        super().__init__(formula, solver=engine, adapt=True, exhaust=True, minz=True)

    def compute_until(self, ending: Ending) -> list[int] | None:
        """Return a model of least cost, None if there is none or ``ending`` ended the search."""
        self._ending = ending
        try:
            model: list[int] | None = self.compute()
        except _EndedError:
            return None
        return model

    def finish_level(self) -> None:
        inner = self.vmap.i2e
        true = {inner[v] for v in self.oracle.get_model() or [] if v > 0 and v in inner}
        self._state.found(true)
        self._state.at_least(self.cost)
        super().finish_level()

    def _call_oracle(
        self, assumptions: Sequence[int] = (), expect_interrupt: bool = False
    ) -> bool | None:
        self._end_if_due()
        answer: bool | None = self.oracle.solve_limited(
            assumptions=assumptions, expect_interrupt=self._interruptible
        )
        self._end_if_due()
        return answer

    def _end_if_due(self) -> None:
        if self._ending is not None and (self._ending.asked or self._ending.hopeless):
            raise _EndedError


def prepare(problem: Problem, request: Request) -> Solve:
    """Write what does not depend on costs; see :class:`encoders.backends.interface.Prepare`."""
    return partial(_solve, write_clauses(problem))


def solve(problem: Problem, request: Request) -> Outcome:
    """Solve a problem as weighted partial MaxSAT.

    The engine is the SAT solver. Costs are rounded to whole numbers; "optimal" means a real gap of
    at most 1e-9. CaDiCaL can't be interrupted: run it in a worker.

    Thread safe.
    """
    return prepared(prepare, problem, request)


def _solve(clauses: Clauses, problem: Problem, request: Request) -> Outcome:
    return solve_within_gap(problem, request, partial(_solve_rounded, clauses))


def _solve_rounded(
    clauses: Clauses, problem: Problem, request: Request, costs: IntegerCost
) -> Outcome:
    began = time.perf_counter()
    soft = write_soft(clauses, problem, costs.cost)
    state = State(problem, request, clauses, soft, costs)
    build_s = time.perf_counter() - began
    if request.stop.is_set() or build_s >= request.time_limit_s:
        return state.stopped(build_s, 0.0)
    if not all(clauses.hard):
        return state.nothing(build_s, 0.0)
    search = search_linearly if request.formulation == "linear" else search_by_cores
    remaining_s = request.time_limit_s - build_s
    outcome = search(state, clauses, soft, ENGINES[request.engine or "glucose"], remaining_s)
    return replace(outcome, build_s=build_s + outcome.build_s)
