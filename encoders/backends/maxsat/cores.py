"""To the optimum from below: stratified RC2."""

import time

from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF

from encoders.backends.interface import Outcome
from encoders.backends.maxsat.clauses import TRUE, Clauses, Soft
from encoders.backends.maxsat.state import NO_INTERRUPT, Ending, State


def search_by_cores(
    state: State, clauses: Clauses, soft: Soft, engine: str, time_limit_s: float
) -> Outcome:
    """Unsatisfiable cores raise the lower bound until a model costs no more.

    Parameters
    ----------
    state : takes choices and bounds
    clauses : of the problem
    soft : of its costs
    engine : PySAT's name of the SAT solver
    time_limit_s : seconds for building and solving
    """
    began = time.perf_counter()
    formula = WCNF()
    formula.extend(clauses.hard)
    formula.extend(soft.hard)
    for literal, weight in soft.soft or [(TRUE, 1)]:  # RC2 fails where nothing costs
        formula.append([literal], weight=weight)
    with _Reporting(state, formula, engine) as solver:
        build_s = time.perf_counter() - began
        ending = Ending(state, began + time_limit_s, lambda: state.at_least(solver.cost))
        solver.ending = ending
        interruptible = engine != NO_INTERRUPT
        with ending.watch(solver, engine):
            model = solver.compute(expect_interrupt=interruptible)
    solve_s = time.perf_counter() - began - build_s
    if model is not None:
        state.found({v for v in model if v > 0})
    if ending.hopeless:
        return state.nothing(build_s, solve_s)
    if ending.asked and interruptible:  # what it says after that proves nothing
        return state.stopped(build_s, solve_s)
    if model is None or state.best.beaten():
        return state.nothing(build_s, solve_s)
    state.cost = solver.cost
    return state.proved(build_s, solve_s)


class _Reporting(RC2Stratified):  # type: ignore[misc]
    """RC2 that passes on the model and the bound of every finished stratum."""

    def __init__(self, state: State, formula: WCNF, engine: str) -> None:
        self._state = state
        self.ending: Ending | None = None
        super().__init__(formula, solver=engine, adapt=True, exhaust=True, minz=True)

    def finish_level(self) -> None:
        inner = self.vmap.i2e
        true = {inner[v] for v in self.oracle.get_model() or [] if v > 0 and v in inner}
        self._state.found(true)
        if self.ending is not None and not (self.ending.asked or self.ending.hopeless):
            self._state.at_least(self.cost)  # no interrupt was sent: the cost is right
        super().finish_level()
