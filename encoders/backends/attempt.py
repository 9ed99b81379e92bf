"""One backend's try at a problem, what is kept of it, and what is told of how an answer came."""

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from encoders.backends.interface import Backend, Outcome, Request, Status, StopReason
from encoders.problem.descriptors import Shape, shape_of
from encoders.problem.problem import OnBounds, Problem

RunBackend = Callable[[Backend, Problem, Request], Outcome]


@dataclass(frozen=True)
class Attempt:
    """What one backend did for a query; bounds are its own.

    Attributes
    ----------
    backend, engine, formulation : names, "" for the backend's first
    limit_s, threads : what it was given, seconds and solver threads
    outcome : what it said, without its choices
    began_s, ended_s : seconds since the first attempt on this problem was begun; a backend that
        was told to stop ends a moment later
    trace : (seconds since it began, upper, lower) at each improvement it told of
    shape : the problem it was given
    """

    backend: str
    engine: str
    formulation: str
    threads: int
    limit_s: float
    outcome: Outcome
    began_s: float
    ended_s: float
    trace: tuple[tuple[float, float, float], ...]
    shape: Shape

    @property
    def status(self) -> Status:
        """What it holds; a proof only if "optimal" or "infeasible"."""
        return self.outcome.status

    @property
    def stop_reason(self) -> StopReason:
        """Why it stopped."""
        return self.outcome.stop_reason

    @property
    def upper(self) -> float:
        """Cost of its best choice, inf without one."""
        return self.outcome.upper

    @property
    def lower(self) -> float:
        """Its lower bound."""
        return self.outcome.lower

    @property
    def build_s(self) -> float:
        """Seconds for building its model."""
        return self.outcome.build_s

    @property
    def solve_s(self) -> float:
        """Seconds for solving it."""
        return self.outcome.solve_s

    @property
    def peak_bytes(self) -> int:
        """Largest resident memory so far of the process it ran in, 0 if not known."""
        return self.outcome.peak_bytes

    @property
    def raw(self) -> str:
        """The solver's own words, or why it counts for nothing."""
        return self.outcome.raw

    def saying(self, **changes: Any) -> "Attempt":
        """The same attempt with fields of its outcome changed.

        Parameters
        ----------
        **changes : fields of :class:`encoders.backends.interface.Outcome`
        """
        return replace(self, outcome=replace(self.outcome, **changes))


@dataclass(frozen=True)
class Provenance:
    """How an answer came about.

    Attributes
    ----------
    backend : name of the one that had the last word, "reduce" if no solver was needed
    remaining : options (beyond one per axis) and leaves that a solver had to decide among
    attempts : what each backend that was asked did
    certified_by : in a race what the proof is, "proved" by one backend or "bounds_meet"
    decision : why these backends were asked, in words
    """

    backend: str = ""
    remaining: tuple[int, int] = (0, 0)
    attempts: tuple[Attempt, ...] = ()
    certified_by: str = ""
    decision: str = ""


@dataclass(frozen=True, eq=False)
class Report:
    """An outcome, and how it came about.

    Attributes
    ----------
    outcome : what is known of the problem
    provenance : how it came about
    reduce_s : seconds for reduction, which is no part of the outcome's times
    """

    outcome: Outcome
    provenance: Provenance
    reduce_s: float = 0.0

    def decided(self, why: str) -> "Report":
        """The same report, with the words on why these backends were asked."""
        return replace(self, provenance=replace(self.provenance, decision=why))


class SolveReported(Protocol):
    """Solves a problem by one backend or several, and tells how."""

    def __call__(self, problem: Problem, request: Request) -> Report:
        """Solve a problem, within the request's limits."""
        ...


def run_here(backend: Backend, problem: Problem, request: Request) -> Outcome:
    """Solve in this process and thread."""
    return backend.load()(problem, request)


@dataclass(frozen=True)
class ConfiguredBackend:
    """A backend with the formulation and engine asked for ("" for the best), and what runs it.

    Calling it is a :class:`SolveReported`.

    Attributes
    ----------
    backend : which
    formulation, engine : names, "" for the best
    run : what solves, here or elsewhere
    """

    backend: Backend
    formulation: str = ""
    engine: str = ""
    run: RunBackend = run_here

    def __call__(self, problem: Problem, request: Request) -> Report:
        """Solve; the request's formulation and engine are replaced by these."""
        trace = Trace(request.on_bounds)
        outcome = self.solve(problem, replace(request, on_bounds=trace.report))
        attempts = (self.attempt(problem, request, outcome, trace),)
        return Report(outcome, Provenance(self.backend.name, extent(problem), attempts))

    def solve(self, problem: Problem, request: Request) -> Outcome:
        """The same, without a record of it."""
        asked = replace(request, formulation=self.formulation, engine=self.engine)
        return self.run(self.backend, problem, asked)

    def attempt(
        self, problem: Problem, request: Request, outcome: Outcome, trace: "Trace"
    ) -> Attempt:
        """A record of what came out, until now."""
        return Attempt(
            backend=self.backend.name,
            engine=self.engine,
            formulation=self.formulation,
            threads=request.threads,
            limit_s=request.time_limit_s,
            outcome=replace(outcome, choices=(), peak_bytes=outcome.peak_bytes or peak_bytes()),
            began_s=0.0,
            ended_s=trace.seconds,
            trace=tuple(trace.points),
            shape=shape_of(problem, request.cutoff),
        )


class Trace:
    """Bounds over time; thread safe, as ``list.append`` is.

    Attributes
    ----------
    points : (seconds since the beginning, upper, lower), as reported
    """

    def __init__(self, on_bounds: OnBounds) -> None:
        self._on_bounds = on_bounds
        self._began = time.perf_counter()
        self.points: list[tuple[float, float, float]] = []

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.perf_counter() - self._began

    def report(self, upper: float, lower: float) -> None:
        """Take bounds, and pass them on."""
        self.points.append((self.seconds, upper, lower))
        self._on_bounds(upper, lower)


def peak_bytes() -> int:
    """Largest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def extent(problem: Problem) -> tuple[int, int]:
    """Options beyond one per axis, and leaves."""
    return problem.cost.size - problem.n_axes, problem.n_leaves


def in_turn(rounds: Sequence[tuple[Attempt, ...]]) -> tuple[Attempt, ...]:
    """The attempts of rounds that followed each other, on one clock."""
    joined: list[Attempt] = []
    for attempts in rounds:
        shift = max((attempt.ended_s for attempt in joined), default=0.0)
        joined += [
            replace(a, began_s=a.began_s + shift, ended_s=a.ended_s + shift) for a in attempts
        ]
    return tuple(joined)
