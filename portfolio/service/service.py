"""State shared by all routes (models, workers, metrics), and the path of a request through it."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from starlette.requests import Request

from encoders.close_names import close_names
from portfolio.running.local_executor import LocalExecutor
from portfolio.running.work import Answers
from portfolio.service.catalogue import Catalogue, Model
from portfolio.service.client_watch import LOOK_S, ClientWatch, end_wait
from portfolio.service.job_work import JobWork
from portfolio.service.jobs import Jobs
from portfolio.service.learning import Learning
from portfolio.service.messages import Bounds, Refused, Reply
from portfolio.service.metrics import Metrics
from portfolio.service.pool import CLOSING, ClosedError, FullError, Pool
from portfolio.service.problems import Problem, fault
from portfolio.service.questions import ServedQuestion
from portfolio.service.reader import Reader
from portfolio.service.settings import Settings
from portfolio.service.ticket import Ticket

log = logging.getLogger("counterfolio.service")
PATIENCE_S = 30.0  # seconds beyond the longest time limit that a request may wait for a worker
START_S = 5.0  # seconds that a request waits for the first worker
TELL_S = 0.1  # seconds between checks of the first worker's state
UPLOADS = 4  # bodies with rows that are read at the same time; others wait
BEAT_S = 15.0  # seconds without an event after which a stream sends a keep-alive comment


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of one request after the server has applied its own.

    Attributes
    ----------
    time_limit_s : float, seconds
    threads : int, solver threads
    clipped : tuple of str, names of the limits that were reduced to the server's
    """

    time_limit_s: float
    threads: int
    clipped: tuple[str, ...]


class Service:
    """A running service: models, worker pool, jobs, metrics and logs."""

    def __init__(self, settings: Settings, warm_early: bool = False) -> None:
        self.settings = settings
        self.pool = Pool(
            settings.workers, settings.most_waiting, settings.memory_bytes, settings.threads
        )
        if warm_early:
            self.pool.prepare()
        try:
            self.catalogue = Catalogue(settings.sources, settings.solvers)
        except BaseException:
            self.pool.close()
            raise
        self.reader = Reader()
        self.uploads = asyncio.Semaphore(UPLOADS)
        self.draining = False
        self._patience_s = PATIENCE_S + settings.longest_s
        self.metrics = Metrics(self.pool)
        self.learning = Learning(settings, self.pool)
        self.jobs: Jobs | None = None
        if settings.jobs is not None:
            workers = LocalExecutor(settings.job_workers, settings.job_memory_bytes)
            work = self.job_work(lambda: self.catalogue.models, workers)
            self.jobs = Jobs(settings.jobs, work, settings.keep_jobs_days)

    def job_work(self, models: Callable[[], Mapping[str, Model]], executor: Answers) -> JobWork:
        """Return the worker of jobs, which applies the limits of the service."""
        limits = self.settings
        return JobWork(models, executor, self.learning, limits.job_memory_bytes, limits.most_rows)

    def start(self) -> None:
        """Start the workers, the exploration and the jobs."""
        self.pool.start(self.catalogue.models.values())
        self.learning.start()
        if self.jobs is not None:
            self.jobs.start()

    def drain(self) -> None:
        """Ask clients to close their connections from now on, as the service shuts down."""
        self.draining = True

    def close(self) -> None:
        """Stop the jobs, the exploration, the reader and the workers."""
        if self.jobs is not None:
            self.jobs.close()
        self.learning.close()
        self.reader.close()
        self.pool.close()

    def refresh(self) -> None:
        """Load changed models; requests in progress finish on the model that they started with."""
        if self.catalogue.refresh():
            self.pool.keep(self.catalogue.models.values())

    async def keep_fresh(self) -> None:
        """Poll the model files for changes until cancelled."""
        while self.settings.reload_s:
            await asyncio.sleep(self.settings.reload_s)
            try:
                await asyncio.to_thread(self.refresh)
            except Exception:  # an error of one reload must not end the polling
                log.exception("reloading the models failed")

    async def tell_start(self) -> None:
        """Log what the service waits for until the first worker is warm."""
        began, logged = time.monotonic(), ""
        while not self.pool.begun:
            if logged != self.pool.why:
                logged = self.pool.why
                log.info("not ready: %s", logged)
            await asyncio.sleep(TELL_S)
        log.info("ready: a worker is warm after %.1f seconds", time.monotonic() - began)
        await self.reader.warm_up()

    def model(self, name: str) -> Model:
        """Return a model by name; raise Problem if it is unknown or failed to load."""
        models = self.catalogue.models
        if failure := self.catalogue.failures.get(name) if name not in models else None:
            raise Problem(503, failure.detail)
        if name not in models:
            close = close_names(name[:80], models)
            raise Problem(
                404, f"unknown model {name[:80]!r}.{close} List the models with GET /v1/models."
            )
        return models[name]

    def limits(self, arguments: dict[str, Any]) -> Limits:
        """Return the limits of a request, and write them into its arguments."""
        most = {"time_limit_s": self.settings.longest_s, "threads": self.settings.threads}
        usual = {"time_limit_s": min(self.settings.default_s, self.settings.longest_s)}
        clipped = []
        for name, limit in most.items():
            value = arguments.get(name)
            if value is None:
                arguments[name] = usual.get(name, limit)
            elif value > limit:
                arguments[name] = limit
                clipped.append(name)
        return Limits(float(arguments["time_limit_s"]), arguments["threads"], tuple(clipped))

    def submit(self, ticket: Ticket) -> None:
        """Queue a request for a worker; raise Problem if the queue is full or closed."""
        try:
            self.pool.submit(ticket)
        except FullError as error:
            wait = {"Retry-After": str(max(1, round(error.wait_s)))}
            raise Problem(429, "the queue of requests is full. Retry later.", wait) from error
        except ClosedError as error:
            raise Problem(503, CLOSING, {"Retry-After": "1"}) from error

    async def ask(
        self, request: Request, model: Model, question: ServedQuestion, arguments: dict[str, Any]
    ) -> str:
        """Return the answer to a request as JSON; stop when the client disconnects."""
        loop = asyncio.get_running_loop()
        pending = _Asked.of(self, request, model, question, arguments)
        # The answer, the disconnect and the time-out share one future: waiting for several
        # futures takes more than twice as long.
        over: asyncio.Future[None] = loop.create_future()
        future = pending.ticket.future
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(end_wait, over))
        self.submit(pending.ticket)
        looking = ClientWatch(loop, request, partial(self._check_patience, pending), over)
        looking.begin(self._patience_s if self.pool.begun else LOOK_S)
        try:
            await over
            if not future.done():
                raise Problem(408, "the client disconnected before the answer was ready.")
            return pending.document(future.result())
        finally:
            looking.end()
            pending.ticket.stop()

    def _check_patience(self, pending: "_Asked") -> None:
        """Raise Problem if a request has waited too long for a worker."""
        ticket, waited_s = pending.ticket, time.perf_counter() - pending.began
        if ticket.assigned or ticket.future.done():
            return
        if not self.pool.begun and ticket.on_bounds is None and waited_s >= START_S:
            raise Problem(503, self.pool.why, {"Retry-After": "5"})
        if waited_s < self._patience_s:
            return
        words = f"no worker was free within {self._patience_s:g} seconds. Retry later."
        # Without a warm worker the server is not ready; the clients did not send too many.
        raise Problem(429 if self.pool.ready else 503, words, {"Retry-After": "1"})

    async def stream(
        self, request: Request, model: Model, question: ServedQuestion, arguments: dict[str, Any]
    ) -> AsyncIterator[str]:
        """Yield the bounds and the answer of a request as server-sent events."""
        loop, events = asyncio.get_running_loop(), asyncio.Queue[Bounds | Reply | Refused]()

        def hear(event: Any) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        pending = _Asked.of(self, request, model, question, arguments, hear)
        self.submit(pending.ticket)

        def finish(future: "Future[Reply | Refused]") -> None:
            if not future.cancelled():
                hear(future.result())

        pending.ticket.future.add_done_callback(finish)
        return self._events(pending, events)

    async def _events(
        self, pending: "_Asked", events: "asyncio.Queue[Bounds | Reply | Refused]"
    ) -> AsyncIterator[str]:
        reason = ""
        try:
            while True:
                begun, why = self.pool.begun, self.pool.why
                if not begun and reason != why:
                    reason = why
                    yield _event("waiting", json.dumps({"detail": why}))
                try:
                    event = await asyncio.wait_for(events.get(), BEAT_S if begun else LOOK_S)
                except TimeoutError:
                    try:
                        self._check_patience(pending)
                    except Problem as problem:
                        yield _event("problem", json.dumps(problem.document()))
                        return
                    if begun:
                        yield ": keep-alive\n\n"
                    continue
                if isinstance(event, Bounds):
                    yield _event("bounds", json.dumps(vars(event)))
                    continue
                try:
                    yield _event("answer", pending.document(event))
                except Problem as problem:
                    yield _event("problem", json.dumps(problem.document()))
                return
        finally:
            pending.ticket.stop()


@dataclass(frozen=True, eq=False)
class _Asked:
    """A request that was read, and the conversion of its answer to a document."""

    service: Service
    model: Model
    question: ServedQuestion
    limits: Limits
    ticket: Ticket
    number: str
    began: float

    @staticmethod
    def of(
        service: Service,
        request: Request,
        model: Model,
        question: ServedQuestion,
        arguments: dict[str, Any],
        on_bounds: Callable[[Bounds], None] | None = None,
    ) -> "_Asked":
        """Return the request, with the limits of the service applied."""
        began = time.perf_counter()
        limits = service.limits(arguments)
        book = service.learning.book(model, question.name)
        ticket = Ticket(model, question.name, arguments, limits.time_limit_s, on_bounds, book)
        number = request.state.request_id
        return _Asked(service, model, question, limits, ticket, number, began)

    def document(self, answer: Reply | Refused) -> str:
        """Return the answer as JSON; raise Problem if there is none."""
        if isinstance(answer, Refused):
            raise self._problem(answer)
        seconds = time.perf_counter() - self.began
        self.service.metrics.answered(self.question.name, answer.status, answer.backend, seconds)
        self.service.learning.hear(self.model, self.ticket, answer)
        about = {
            "model": self.model.named,
            "question": f'"{self.question.name}"',
            "request": f'"{self.number}"',
            "limits": json.dumps(vars(self.limits)),
        }
        members = about | answer.members
        return "{" + ", ".join(f'"{name}": {value}' for name, value in members.items()) + "}"

    def _problem(self, refusal: Refused) -> Problem:
        if refusal.why == "input":
            return Problem(422, refusal.detail)
        if refusal.why == "lost":
            return Problem(503, refusal.detail, {"Retry-After": "1"})
        log.error("request %s failed: %s", self.number, refusal.detail)
        return fault(self.number)


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
