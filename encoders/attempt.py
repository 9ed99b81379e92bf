"""One backend's try at a problem, and what is kept of it."""

import resource
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from encoders.backend import Attempt, Backend, OnBounds, Outcome, Request
from encoders.problem import Problem
from encoders.shape import shape_of

Run = Callable[[Backend, Problem, Request], Outcome]


def run_here(backend: Backend, problem: Problem, request: Request) -> Outcome:
    """Solve in this process and thread."""
    return backend.load()(problem, request)


@dataclass(frozen=True)
class Try:
    """A backend with the formulation and engine asked for ("" for the best), and what runs it.

    Calling it is a :class:`encoders.backend.Solve`.
    """

    backend: Backend
    formulation: str = ""
    engine: str = ""
    run: Run = run_here

    def __call__(self, problem: Problem, request: Request) -> Outcome:
        trace = Trace(request.on_bounds)
        asked = replace(
            request, formulation=self.formulation, engine=self.engine, on_bounds=trace.report
        )
        outcome = self.run(self.backend, problem, asked)
        attempt = self.attempt(problem, request, outcome, trace)
        return replace(
            outcome, backend=self.backend.name, left=extent(problem), attempts=(attempt,)
        )

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
            status=outcome.status,
            stop_reason=outcome.stop_reason,
            upper=outcome.upper,
            lower=outcome.lower,
            began_s=0.0,
            ended_s=trace.seconds,
            build_s=outcome.build_s,
            solve_s=outcome.solve_s,
            trace=tuple(trace.points),
            shape=shape_of(problem, request.cutoff),
            peak_bytes=outcome.peak_bytes or peak_bytes(),
            raw=outcome.raw,
        )


class Trace:
    """Bounds over time; thread safe, as ``list.append`` is."""

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
