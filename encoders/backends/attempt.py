"""Records of what each backend did for a query, and of how an answer was obtained."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from encoders.backends.interface import Backend, Outcome, Request, Status, StopReason
from encoders.core import system
from encoders.problem.descriptors import Shape, shape_of
from encoders.problem.problem import OnBounds, Problem

RunBackend = Callable[[Backend, Problem, Request], Outcome]


@dataclass(frozen=True)
class Attempt:
    """Record of one backend's run on a problem, with the bounds of that backend only.

    Attributes
    ----------
    backend : str
        Name of the backend.
    engine, formulation : str
        Names, "" for the backend's first one.
    threads : int
        Number of solver threads.
    limit_s : float
        Time limit in seconds.
    outcome : Outcome
        Result of the backend, without its choices.
    began_s, ended_s : float
        Seconds since the first attempt on this problem began. A backend that is stopped ends a
        moment later.
    trace : tuple of (float, float, float)
        Seconds since the attempt began, upper and lower bound at each reported improvement.
    shape : Shape
        Descriptors of the problem that the backend received.

    Examples
    --------
    >>> result = explainer.explain(row, target="granted", strategy="plain-cp")
    >>> [attempt.backend for attempt in result.attempts]
    ['cp']
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
        """Status of the outcome; only "optimal" and "infeasible" are proofs."""
        return self.outcome.status

    @property
    def stop_reason(self) -> StopReason:
        """Reason why the backend stopped."""
        return self.outcome.stop_reason

    @property
    def upper(self) -> float:
        """Cost of the backend's best choice, inf without one."""
        return self.outcome.upper

    @property
    def lower(self) -> float:
        """Lower bound of the backend."""
        return self.outcome.lower

    @property
    def build_s(self) -> float:
        """Seconds spent on building the model."""
        return self.outcome.build_s

    @property
    def solve_s(self) -> float:
        """Seconds spent on solving the model."""
        return self.outcome.solve_s

    @property
    def peak_bytes(self) -> int:
        """Peak resident memory of the process so far in bytes, 0 if unknown."""
        return self.outcome.peak_bytes

    @property
    def raw(self) -> str:
        """Message of the solver itself, or the reason why the attempt does not count."""
        return self.outcome.raw

    def saying(self, **changes: Any) -> "Attempt":
        """Return a copy with some fields of the outcome replaced.

        Parameters
        ----------
        **changes : object
            Fields of :class:`encoders.backends.interface.Outcome`.

        Returns
        -------
        Attempt
            The changed copy.

        Examples
        --------
        >>> attempt = explainer.explain(row, strategy="plain-cp").attempts[0]
        >>> attempt.saying(raw="stopped by the user").raw
        'stopped by the user'
        """
        return replace(self, outcome=replace(self.outcome, **changes))


@dataclass(frozen=True)
class Provenance:
    """Record of how an answer was obtained.

    Attributes
    ----------
    backend : name of the backend that proved the answer, "reduce" if presolve sufficed.
    remaining : numbers of options (beyond one per axis) and leaves that were left to a solver.
    attempts : record of each backend that ran.
    certified_by : kind of proof in a race, "proved" by one backend or "bounds_meet".
    decision : reason why these backends were chosen, as a sentence.
    """

    backend: str = ""
    remaining: tuple[int, int] = (0, 0)
    attempts: tuple[Attempt, ...] = ()
    certified_by: str = ""
    decision: str = ""

    @property
    def solver(self) -> str:
        """Name of the backend, else of the last one that ran; "presolve" if none did."""
        last = self.attempts[-1].backend if self.attempts else "presolve"
        return self.backend or last


@dataclass(frozen=True, eq=False)
class Report:
    """An outcome, and how it was obtained."""

    outcome: Outcome  # result of the solve
    provenance: Provenance  # record of how it was obtained
    reduce_s: float = 0.0  # seconds for reduction, which the outcome's times do not include

    def decided(self, why: str) -> "Report":
        """Return a copy with the reason why these backends were chosen."""
        return replace(self, provenance=replace(self.provenance, decision=why))


class SolveReported(Protocol):
    """A function that solves a problem with one or several backends and reports how."""

    def __call__(self, problem: Problem, request: Request) -> Report:
        """Solve a problem within the limits of a request."""
        ...


def run_here(backend: Backend, problem: Problem, request: Request) -> Outcome:
    """Solve in this process and thread."""
    return backend.load()(problem, request)


@dataclass(frozen=True)
class ConfiguredBackend:
    """A backend with a fixed formulation and engine, and the function that runs it.

    Calling it is a :class:`SolveReported`.

    Attributes
    ----------
    backend : the backend
    formulation, engine : names, "" for the best
    run : function that runs the backend, in this process or elsewhere
    """

    backend: Backend
    formulation: str = ""
    engine: str = ""
    run: RunBackend = run_here

    def __call__(self, problem: Problem, request: Request) -> Report:
        """Solve a problem; this formulation and engine replace those of the request."""
        trace = Trace(request.on_bounds)
        outcome = self.solve(problem, replace(request, on_bounds=trace.report))
        attempts = (self.attempt(problem, request, outcome, trace),)
        return Report(outcome, Provenance(self.backend.name, extent(problem), attempts))

    def solve(self, problem: Problem, request: Request) -> Outcome:
        """Solve a problem without recording an attempt."""
        configured = replace(request, formulation=self.formulation, engine=self.engine)
        return self.run(self.backend, problem, configured)

    def attempt(
        self, problem: Problem, request: Request, outcome: Outcome, trace: "Trace"
    ) -> Attempt:
        """Return a record of a run that has just ended."""
        return Attempt(
            backend=self.backend.name,
            engine=self.engine,
            formulation=self.formulation,
            threads=request.threads,
            limit_s=request.time_limit_s,
            outcome=replace(
                outcome, choices=(), peak_bytes=outcome.peak_bytes or system.peak_bytes()
            ),
            began_s=0.0,
            ended_s=trace.seconds,
            trace=tuple(trace.points),
            shape=shape_of(problem, request.cutoff),
        )


class Trace:
    """Bounds over time; thread-safe because ``list.append`` is.

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
        """Seconds since the beginning."""
        return time.perf_counter() - self._began

    def report(self, upper: float, lower: float) -> None:
        """Record bounds and pass them on."""
        self.points.append((self.seconds, upper, lower))
        self._on_bounds(upper, lower)


def extent(problem: Problem) -> tuple[int, int]:
    """Return the number of options beyond one per axis, and the number of leaves."""
    return problem.cost.size - problem.n_axes, problem.n_leaves


def in_turn(rounds: Sequence[tuple[Attempt, ...]]) -> tuple[Attempt, ...]:
    """Join the attempts of successive rounds, with their times on one clock."""
    joined: list[Attempt] = []
    for attempts in rounds:
        shift = max((attempt.ended_s for attempt in joined), default=0.0)
        joined += [
            replace(a, began_s=a.began_s + shift, ended_s=a.ended_s + shift) for a in attempts
        ]
    return tuple(joined)
