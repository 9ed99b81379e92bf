"""Workers of this machine to which actors of a Ray cluster come for races."""

import logging
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from encoders.backends.interface import Backend, Outcome, Request
from encoders.errors import InputError
from encoders.problem.problem import Problem
from portfolio.running.ray.connection import connect
from portfolio.running.ray.solver_actor import solve_on, solver_actor
from portfolio.running.solver_workers import Workers

IDLE_S = 60.0  # seconds without a race after which the cluster has its cores back
log = logging.getLogger("counterfolio.ray")
Kind = tuple[str, int]  # name of a backend, and its threads


class RacingWorkers(Workers):
    """Run the first backend of a race here, and others on free cores of a cluster.

    A backend whose actor is not there yet runs here, too, and an actor begins for the next race:
    nobody waits for the cluster, and what is found here without it is found with it. Thread safe.
    """

    def __init__(self, address: str, memory_bytes: int = 0) -> None:
        super().__init__(memory_bytes)
        self._address = address
        self._guard = threading.Lock()
        self._at_work = 0
        self._actors: dict[Kind, Any] = {}  # and what it answers once it is there; None: begins
        self._end: threading.Timer | None = None

    def __reduce__(self) -> Any:
        """A copy connects for itself."""
        return RacingWorkers, (self._address, self.memory_bytes)

    def run(self, backend: Backend, problem: Problem, request: Request) -> Outcome:
        """Solve here, or on the cluster; see :meth:`Workers.run`."""
        with self._guard:
            alone, self._at_work = not self._at_work, self._at_work + 1
        try:
            began = time.perf_counter()
            outcome = None if alone else self._run_there(backend, problem, request)
            if outcome is not None:
                return outcome
            left_s = max(0.0, request.time_limit_s - (time.perf_counter() - began))
            return super().run(backend, problem, replace(request, time_limit_s=left_s))
        finally:
            with self._guard:
                self._at_work -= 1

    def close(self) -> None:
        """End all idle workers and actors; those at work end with their solve."""
        super().close()
        self._end_actors()

    def _run_there(self, backend: Backend, problem: Problem, request: Request) -> Outcome | None:
        """None where there is no actor, or it fails."""
        kind = (backend.name, request.threads)
        with self._guard:
            actor = self._ready(kind)
        if actor is None:
            return None
        ray = connect(self._address)
        outcome, usable = solve_on(ray, actor, backend, problem, request)
        with self._guard:
            for each in usable:
                self._actors[kind] = each, each.ready.remote()
            self._end_later()
        return None if outcome.stop_reason == "error" else outcome

    def _ready(self, kind: Kind) -> Any:
        """An actor that has its place; None: there is none, but maybe soon."""
        if kind not in self._actors:
            self._actors[kind] = None
            threading.Thread(target=self._begin, args=(kind,), daemon=True).start()
        if self._actors[kind] is None:
            return None
        actor, there = self._actors[kind]
        if not connect(self._address).wait([there], timeout=0.0)[0]:
            return None
        del self._actors[kind]
        return actor

    def _begin(self, kind: Kind) -> None:
        """Have an actor, if the cluster has room."""
        begun: Any = None
        try:
            ray = connect(self._address)
            if ray.available_resources().get("CPU", 0.0) >= kind[1]:
                actor = solver_actor(ray, kind[1])
                begun = actor, actor.ready.remote()
        except Exception as error:  # a cluster that can't be reached has no room
            log.debug("no actor for a race: %s", error)
        with self._guard:
            if begun is None:
                del self._actors[kind]
            else:
                self._actors[kind] = begun
                self._end_later()

    def _end_later(self) -> None:
        if self._end is not None:
            self._end.cancel()
        self._end = threading.Timer(IDLE_S, self._end_actors)
        self._end.daemon = True
        self._end.start()

    def _end_actors(self) -> None:
        with self._guard:
            idle = {kind: begun for kind, begun in self._actors.items() if begun is not None}
            for kind, (actor, _) in idle.items():
                del self._actors[kind]
                with suppress(InputError):  # a cluster that is gone has none
                    connect(self._address).kill(actor)
