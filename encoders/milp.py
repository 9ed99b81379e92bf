"""Mixed-integer linear programming, with HiGHS or Gurobi."""

import contextlib
import importlib
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backend import Outcome, Request, Solve, Status, StopReason
from encoders.engine import Finish, Limits, Run
from encoders.errors import UnavailableBackendError
from encoders.kept import prepared
from encoders.linear import LinearModel, Structure, build, columns_of, levels_of, price
from encoders.problem import Problem

GAP = 1e-6  # objective units: the optimum is at about 1e3 of them
RELATIVE_GAP = 1e-6
KEPT_CHOICES = 20


def prepare(problem: Problem, request: Request) -> Solve:
    """Build what does not depend on costs; see :class:`encoders.backend.Prepare`."""
    return partial(_solve, build(problem, request.formulation or "tight"))


def solve(problem: Problem, request: Request) -> Outcome:
    """Solve a problem as a mixed-integer linear program.

    The engines compute in float64 within tolerances. Every solution is read as levels and checked
    in exact integers. One that does not hold is cut off, and the search goes on: until then its
    bound is that of a relaxation, and stays valid. "optimal" means a gap of at most 1e-6 of the
    answer, as far as the engine's arithmetic goes.
    """
    return prepared(prepare, problem, request)


def _solve(structure: Structure, problem: Problem, request: Request) -> Outcome:
    began = time.perf_counter()
    engine = _engine(request.engine)
    record = _Record(problem, request)
    build_s = solve_s = 0.0
    current, cutoff = problem, request.cutoff
    while True:
        built = time.perf_counter()
        model = price(structure, current, cutoff)
        build_s += time.perf_counter() - built
        left = request.time_limit_s - (time.perf_counter() - began)
        if left <= 0 or request.stop.is_set():
            reason: StopReason = "interrupted" if request.stop.is_set() else "time_limit"
            return record.outcome(reason, False, build_s, solve_s, "not started")
        finish = _run(engine, current, model, request, cutoff, record, left)
        solve_s += finish.seconds
        record.bound(model, finish.bound, finish.end == "infeasible")
        if finish.end != "optimal" or finish.x is None:
            break
        levels = levels_of(current, finish.x)
        if not current.admits(levels):
            current = current.without(levels)
            structure = build(current, request.formulation or "tight")
            continue
        record.solution(levels)
        # Tolerances are absolute: the answer must be large in the model's units.
        if RELATIVE_GAP * record.upper * model.scale >= GAP or cutoff <= record.upper:
            break
        cutoff = record.upper
    if finish.end == "optimal" or finish.end == "infeasible":
        return record.outcome("proved", True, build_s, solve_s, finish.raw)
    return record.outcome(finish.end, False, build_s, solve_s, finish.raw)


def _engine(name: str) -> Run:
    """Gurobi where there is a licence that fits the model, unless an engine is asked for."""
    if name in ("", "auto"):
        return _gurobi_or_highs
    return cast(Run, importlib.import_module(f"encoders.{name}").run)


def _gurobi_or_highs(
    model: LinearModel,
    limits: Limits,
    start: tuple[IntArray, FloatArray] | None,
    on_solution: Callable[[FloatArray], None],
    on_bound: Callable[[float], None],
) -> Finish:
    from encoders import highs

    if importlib.util.find_spec("gurobipy") is not None:
        from encoders import gurobi

        with contextlib.suppress(UnavailableBackendError):
            return gurobi.run(model, limits, start, on_solution, on_bound)
    return highs.run(model, limits, start, on_solution, on_bound)


def _run(
    engine: Run,
    problem: Problem,
    model: LinearModel,
    request: Request,
    cutoff: float,
    record: "_Record",
    time_limit_s: float,
) -> Finish:
    limits = Limits(
        time_limit_s=time_limit_s,
        threads=request.threads,
        seed=request.seed,
        cutoff=cutoff * model.scale + GAP,
        gap=GAP,
        stop=request.stop,
    )
    start = None if request.hint is None else columns_of(problem, request.hint)

    def on_solution(x: FloatArray) -> None:
        levels = levels_of(problem, x)
        if problem.admits(levels):
            record.solution(levels)

    return engine(model, limits, start, on_solution, lambda bound: record.bound(model, bound))


@dataclass
class _Record:
    """Best choices and bound so far; reports every improvement."""

    problem: Problem
    request: Request
    choices: list[IntArray] = field(default_factory=list)
    upper: float = np.inf
    lower: float = 0.0

    def solution(self, levels: IntArray) -> None:
        distance = self.problem.distance(levels)
        if distance < self.upper and distance <= self.request.cutoff:
            self.choices = [*self.choices[1 - KEPT_CHOICES :], levels]
            self.upper = distance
            self.request.on_choice(levels)
            self.request.on_bounds(self.upper, min(self.lower, self.upper))

    def bound(self, model: LinearModel, value: float, infeasible: bool = False) -> None:
        if infeasible or not np.isfinite(value):
            return
        lower = min((value - GAP) / model.scale, self.request.cutoff)
        if lower > self.lower:
            self.lower = lower
            self.request.on_bounds(self.upper, min(self.lower, self.upper))

    def outcome(
        self, reason: StopReason, proved: bool, build_s: float, solve_s: float, raw: str
    ) -> Outcome:
        status: Status
        if proved:
            status = "optimal" if self.choices else "infeasible"
            lower = self.upper
        else:
            status = "feasible" if self.choices else "unknown"
            lower = min(self.lower, self.upper)
        return Outcome(
            status=status,
            stop_reason=reason,
            choices=tuple(reversed(self.choices)),
            upper=self.upper,
            lower=lower,
            build_s=build_s,
            solve_s=solve_s,
            raw=raw,
        )
