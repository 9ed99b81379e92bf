"""Ray actors that solve, like worker processes on this machine."""

import contextlib
import time
from dataclasses import replace
from typing import Any

from encoders.backends.best_so_far import BestSoFar
from encoders.backends.interface import Backend, Outcome, Request, StopReason
from encoders.backends.prepared import PreparedModel
from encoders.backends.stopping import why
from encoders.core.arrays import IntArray
from encoders.problem.problem import Problem
from portfolio.workers.solver_messages import Rival, SolverTask
from portfolio.workers.solver_process import Inbox, solve_task
from portfolio.workers.solver_workers import GRACE_S, take

LOOK_S = 0.02  # seconds between polls of an actor; shorter ones send more messages


class SolverActor:
    """Actor that solves, with a control group that handles messages meanwhile.

    Calls contain the number of their solve, so that a late one does not affect the next solve.
    """

    def __init__(self) -> None:
        self._prepared = PreparedModel()
        self._inbox = Inbox()
        self._number = 0
        self._events: list[tuple[str, Any]] = []

    def ready(self) -> None:
        """Return once the actor is placed and has started."""

    def solve(self, number: int, task: SolverTask, seconds: float) -> Outcome:
        """Solve a task within a number of seconds, as the clocks of machines differ."""
        events: list[tuple[str, Any]] = []
        self._number, self._events = number, events
        self._inbox.take(replace(task, deadline=time.monotonic() + seconds))
        here = self._inbox.tasks.get()
        return solve_task(here, lambda *event: events.append(event), self._inbox, self._prepared)

    def look(self, number: int, seen: int, rival: IntArray | None) -> list[tuple[str, Any]]:
        """Return the new choices and bounds, and take the best rival choice."""
        if number != self._number:
            return []
        if rival is not None:
            self._inbox.take(Rival(rival))
        return self._events[seen:]

    def stop(self, number: int) -> None:
        """End a solve if it is the current one."""
        if number == self._number:
            self._inbox.take("stop")


def solver_actor(ray: Any, threads: int) -> Any:
    """Start an actor on the cluster."""
    control = ray.method(concurrency_group="control")
    methods = {"look": control(SolverActor.look), "stop": control(SolverActor.stop)}
    remote = ray.remote(num_cpus=threads, concurrency_groups={"control": 2})
    return remote(type("SolverActor", (SolverActor,), methods)).remote()


def solve_on(
    ray: Any, actor: Any, backend: Backend, problem: Problem, request: Request
) -> tuple[Outcome, list[Any]]:
    """Return the outcome and the actors for the next query; a lost actor is replaced."""
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
    """Return whether the actor started within the time limit."""
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
    """Return the outcome of a solve and pass on its choices; None if it had to be killed."""
    number = time.monotonic_ns()
    ref = actor.solve.remote(number, task, request.time_limit_s)
    kill_at = time.perf_counter() + request.time_limit_s + GRACE_S
    seen, sent = 0, None
    while not ray.wait([ref], timeout=LOOK_S)[0]:
        rival = request.rival()
        with contextlib.suppress(ray.exceptions.GetTimeoutError):
            news = rival if rival is not sent else None
            events = ray.get(actor.look.remote(number, seen, news), timeout=GRACE_S)
            sent, seen = rival, seen + len(events)
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
