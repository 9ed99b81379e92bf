"""Workers of this machine, with actors of a Ray cluster for races."""

import logging
import threading
import time
from contextlib import suppress
from dataclasses import replace
from typing import Any

from encoders.backends.interface import Backend, Outcome, Request
from encoders.core.errors import InputError
from encoders.problem.problem import Problem
from portfolio.workers.ray.actor import ActorProgram
from portfolio.workers.ray.connection import connect
from portfolio.workers.solver_workers import PROGRAM, Kind, Workers, solve_in

IDLE_S = 60.0  # seconds without a race after which the cores of the cluster are released
log = logging.getLogger("counterfolio.ray")


class RacingWorkers(Workers):
    """Workers that run the first backend of a race here and others on free cores of a cluster.

    A backend without a ready actor runs here as well, while an actor starts for the next race. No
    query waits for the cluster. Thread safe.
    """

    def __init__(self, address: str, memory_bytes: int = 0) -> None:
        super().__init__(memory_bytes)
        self._address = address
        self._guard = threading.Lock()
        self._at_work = 0
        self._actors: dict[Kind, ActorProgram | None] = {}  # None while it starts
        self._end: threading.Timer | None = None

    def __reduce__(self) -> Any:
        """Pickle without the connection: a copy opens a new one."""
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
            remaining_s = max(0.0, request.time_limit_s - (time.perf_counter() - began))
            return super().run(backend, problem, replace(request, time_limit_s=remaining_s))
        finally:
            with self._guard:
                self._at_work -= 1

    def close(self) -> None:
        """End all idle workers and actors; busy ones end with their solve."""
        super().close()
        self._end_actors()

    def _run_there(self, backend: Backend, problem: Problem, request: Request) -> Outcome | None:
        """Solve on the cluster; return None if no actor is ready or it fails."""
        kind = (backend.name, request.threads)
        with self._guard:
            actor = self._ready(kind)
        if actor is None:
            return None
        outcome = solve_in(actor, backend, problem, request)
        with self._guard:
            if actor.alive:
                self._actors[kind] = actor
            self._end_later()
        return None if outcome.stop_reason == "error" else outcome

    def _ready(self, kind: Kind) -> ActorProgram | None:
        """Return an actor that is ready; None if there is none yet."""
        if kind not in self._actors:
            self._actors[kind] = None
            threading.Thread(target=self._begin, args=(kind,), daemon=True).start()
        actor = self._actors[kind]
        try:
            if actor is None or not actor.ready():
                return None
        except EOFError:  # it died while it started
            actor = None
        del self._actors[kind]
        return actor

    def _begin(self, kind: Kind) -> None:
        """Start an actor if the cluster has enough free cores."""
        begun: ActorProgram | None = None
        try:
            ray = connect(self._address)
            if ray.available_resources().get("CPU", 0.0) >= kind[1]:
                begun = ActorProgram(ray, PROGRAM, kind[1])
        except Exception as error:  # an unreachable cluster has no free cores
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
            for kind, actor in idle.items():
                del self._actors[kind]
                with suppress(InputError):  # a cluster that has ended has no actors
                    connect(self._address)
                    actor.kill()
