"""One backend's try at a problem, and what is kept of it."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from encoders.backend import Attempt, Backend, Outcome, Request
from encoders.problem import Problem

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
        began = time.perf_counter()
        asked = replace(request, formulation=self.formulation, engine=self.engine)
        outcome = self.run(self.backend, problem, asked)
        return replace(
            outcome,
            backend=self.backend.name,
            left=extent(problem),
            attempts=(self.attempt(outcome, 0.0, time.perf_counter() - began),),
        )

    def attempt(self, outcome: Outcome, began_s: float, ended_s: float) -> Attempt:
        """A record of what came out."""
        return Attempt(
            backend=self.backend.name,
            engine=self.engine,
            formulation=self.formulation,
            status=outcome.status,
            stop_reason=outcome.stop_reason,
            upper=outcome.upper,
            lower=outcome.lower,
            began_s=began_s,
            ended_s=ended_s,
            build_s=outcome.build_s,
            solve_s=outcome.solve_s,
            raw=outcome.raw,
        )


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
