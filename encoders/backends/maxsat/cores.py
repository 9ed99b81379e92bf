"""To the optimum from below: stratified RC2."""

import time
from collections.abc import Sequence

from pysat.examples.rc2 import RC2Stratified
from pysat.formula import WCNF

from encoders.backends.interface import Outcome
from encoders.backends.maxsat.clauses import TRUE, Clauses, Soft
from encoders.backends.maxsat.state import NO_INTERRUPT, Ending, State


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
