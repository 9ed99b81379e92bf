"""Actors that solve, as worker processes do here."""

import contextlib
import time
from dataclasses import replace
from typing import Any

from encoders.arrays import IntArray
from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Backend, Outcome, Request, StopReason
from encoders.backends.prepared import PreparedModel
from encoders.backends.stopping import why
from encoders.problem.problem import Problem
from portfolio.running.solver_messages import Rival, SolverTask
from portfolio.running.solver_process import Inbox, solve_task
from portfolio.running.solver_workers import GRACE_S, take

LOOK_S = 0.02  # seconds between looks at what is new; shorter ones send more messages


class SolverActor:
    """An actor that solves; its control group listens while it does.

    Calls carry the number of the solve they are about: one that comes late must not touch the next.
    """

    def __init__(self) -> None:
        self._kept = PreparedModel()
        self._inbox = Inbox()
        self._number = 0
        self._events: list[tuple[str, Any]] = []

    def ready(self) -> None:
        """Answered once the actor has a place and has started."""

    def solve(self, number: int, task: SolverTask, seconds: float) -> Outcome:
        """Solve a task; deadlines are of this machine's clock."""
        events: list[tuple[str, Any]] = []
        self._number, self._events = number, events
        self._inbox.take(replace(task, deadline=time.monotonic() + seconds))
        own = self._inbox.tasks.get()
        return solve_task(own, lambda *event: events.append(event), self._inbox, self._kept)

    def look(self, number: int, seen: int, rival: IntArray | None) -> list[tuple[str, Any]]:
        """What is new, in exchange for what others have found."""
        if number != self._number:
            return []
        if rival is not None:
            self._inbox.take(Rival(rival))
        return self._events[seen:]

    def stop(self, number: int) -> None:
        """End a solve, if it is the one under way."""
        if number == self._number:
            self._inbox.take("stop")


def solver_actor(ray: Any, threads: int) -> Any:
    """A new actor on the cluster."""
    control = ray.method(concurrency_group="control")
    methods = {"look": control(SolverActor.look), "stop": control(SolverActor.stop)}
    remote = ray.remote(num_cpus=threads, concurrency_groups={"control": 2})
    return remote(type("SolverActor", (SolverActor,), methods)).remote()


def solve_on(
    ray: Any, actor: Any, backend: Backend, problem: Problem, request: Request
) -> tuple[Outcome, list[Any]]:
    """The outcome, and an actor for the next query: one that was killed or died is replaced."""
    began = time.perf_counter()
    best = BestSoFar(problem, request)
    reason: StopReason
    try:
        if not _started(ray, actor, request, began):
            ray.kill(actor)
            return best.ended(why(request), 0.0, time.perf_counter() - began, "not started"), []
        remaining_s = max(0.0, began + request.time_limit_s - time.perf_counter())
        task = SolverTask.of(backend, problem, request, False)
        outcome = _followed(ray, actor, best, task, replace(request, time_limit_s=remaining_s))
        if outcome is not None:
            return outcome, [actor]
        reason, words = why(request), "killed: it did not stop in time"
    except ray.exceptions.RayTaskError as error:
        words = f"{type(error.cause).__name__}: {error.cause}"
        return best.ended("error", 0.0, time.perf_counter() - began, words), [actor]
    except ray.exceptions.RayError:
        reason, words = "error", "the worker on the cluster died"
    end = best.ended(reason, 0.0, time.perf_counter() - began, words)
    return end, [solver_actor(ray, request.threads)]


def _started(ray: Any, actor: Any, request: Request, began: float) -> bool:
    """Whether the actor has found its place and started within the time limit."""
    ref = actor.ready.remote()
    while not ray.wait([ref], timeout=LOOK_S)[0]:
        late = time.perf_counter() >= began + request.time_limit_s
        if late or request.stop.is_set():
            return False
    ray.get(ref)  # raises if it died
    return True


def _followed(
    ray: Any, actor: Any, best: BestSoFar, task: SolverTask, request: Request
) -> Outcome | None:
    """Outcome of a solve whose choices and bounds are passed on; None if it had to be killed."""
    number = time.monotonic_ns()
    ref = actor.solve.remote(number, task, request.time_limit_s)
    kill_at = time.perf_counter() + request.time_limit_s + GRACE_S
    seen, told = 0, None
    while not ray.wait([ref], timeout=LOOK_S)[0]:
        rival = request.rival()
        with contextlib.suppress(ray.exceptions.GetTimeoutError):
            news = rival if rival is not told else None
            events = ray.get(actor.look.remote(number, seen, news), timeout=GRACE_S)
            told, seen = rival, seen + len(events)
            for event in events:
                take(best, *event)
        if request.stop.is_set():
            kill_at = min(kill_at, time.perf_counter() + GRACE_S)
            actor.stop.remote(number)
        if time.perf_counter() >= kill_at:
            ray.kill(actor)
            return None
    outcome: Outcome = ray.get(ref)
    return outcome
