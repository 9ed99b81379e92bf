"""To the optimum from above: models of falling cost."""

import time

from pysat.solvers import Solver

from encoders.backends.interface import Outcome
from encoders.backends.maxsat.clauses import TRUE, Clauses, Soft
from encoders.backends.maxsat.pseudo_boolean import Item, add_up, compare
from encoders.backends.maxsat.state import NO_INTERRUPT, Ending, State


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
