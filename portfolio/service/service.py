"""State shared by all routes (models, workers, metrics), and the path of a request through it."""

import asyncio
import json
import logging
import threading
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request

from encoders.core.close_names import close_names
from portfolio.service.catalogue import Catalogue, Model
from portfolio.service.identity import owner_of
from portfolio.service.job_work import JobWork
from portfolio.service.jobs import Jobs, prepare_folder
from portfolio.service.learning import Learning
from portfolio.service.messages import CLOSING, CODES, FULL, Bounds, QuestionTicket, Refused, Reply
from portfolio.service.metrics import Metrics
from portfolio.service.pool import ClosedError, FullError, ServicePool
from portfolio.service.problems import Problem, fault
from portfolio.service.questions import ServedQuestion
from portfolio.service.quotas import DAY_S, MINUTE_S, Quota
from portfolio.service.reading import Reader
from portfolio.service.settings import Settings
from portfolio.workers.local_executor import LocalExecutor
from portfolio.workers.work import Answers

if TYPE_CHECKING:
    from portfolio.service.tracing import Tracing

log = logging.getLogger("counterfolio.service")
PATIENCE_S = 30.0  # seconds beyond the longest time limit that a request may wait for a worker
START_S = 5.0  # seconds that a request waits for the first worker
TELL_S = 0.1  # seconds between checks of the first worker's state
LOOK_S = 0.1  # seconds between checks whether the client is connected
UPLOADS = 4  # bodies with rows that are read at the same time; others wait
BEAT_S = 15.0  # seconds without an event after which a stream sends a keep-alive comment


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of one request after the server has applied its own."""

    time_limit_s: float
    threads: int  # solver threads
    clipped: tuple[str, ...]  # names of the limits that were reduced to the server's


@dataclass(frozen=True, eq=False)
class QuestionRequest:
    """A valid request about a row."""

    model: Model  # model that it started with
    question: ServedQuestion
    limits: Limits  # limits that apply
    ticket: QuestionTicket  # place in the queue, and the answer
    number: str  # id of the request
    began: float  # start on the clock ``time.perf_counter()``
    owner: str | None  # digest of the API key, None without keys
    about: dict[str, str]  # members of the line in the log
    span: Any  # span of the HTTP request, None without traces


class Service:
    """A running service: models, worker pool, jobs, metrics and logs.

    Attributes
    ----------
    draining : bool, True once the service shuts down.
    error : Exception or None, error that prevents the service from starting.
    requests, queries : Quota, limits on all requests and on questions of each API key.
    """

    def __init__(self, settings: Settings, executor: Answers | None = None) -> None:
        self.settings, self._executor = settings, executor
        self.pool = ServicePool(
            settings.workers, settings.most_waiting, settings.memory_bytes, settings.threads
        )
        self.reader = Reader()
        self.uploads = asyncio.Semaphore(UPLOADS)
        self.metrics = Metrics(self.pool)
        self.requests = Quota(settings.requests_per_minute, MINUTE_S, "requests per minute")
        self.queries = Quota(settings.queries_per_day, DAY_S, "queries per day")
        self.tracing = _tracing() if settings.traces else None
        self.learning = Learning(settings, self.pool)
        self.draining = self._closed = False
        self.error: Exception | None = None
        self._patience_s = PATIENCE_S + settings.longest_s
        self._catalogue: Catalogue | None = None
        self._jobs: Jobs | None = None

    @property
    def loading(self) -> bool:
        """True until the models are loaded."""
        return self._catalogue is None

    @property
    def catalogue(self) -> Catalogue:
        """The models, which must be loaded."""
        assert self._catalogue is not None
        return self._catalogue

    @property
    def jobs(self) -> Jobs:
        """The jobs, which must be enabled and loaded."""
        assert self._jobs is not None
        return self._jobs

    def load(self) -> None:
        """Load the models and the jobs."""
        settings = self.settings
        catalogue = Catalogue(settings.sources, settings.solvers)
        if settings.jobs is not None:
            self._open_jobs(settings.jobs)
        self._catalogue = catalogue

    def _open_jobs(self, folder: Path) -> None:
        """Open the database of the jobs, which also counts the requests of each API key."""
        from portfolio.service.answer_store import AnswerStore
        from portfolio.service.database import open_database
        from portfolio.service.job_store import JobStore
        from portfolio.service.shared_counts import SharedCounts

        prepare_folder(folder)
        url, keep_days = self.settings.jobs_database, self.settings.keep_jobs_days
        answers = None
        if self.settings.job_answers is not None:
            answers = AnswerStore(self.settings.job_answers)
        store = JobStore(open_database(url, folder), answers is not None)
        if answers is not None:
            answers.check(is_new=not store.has_stored())
        self._jobs = Jobs(folder, store, self._job_work(), keep_days, answers)
        if self.settings.requests_per_minute or self.settings.queries_per_day:
            counts = SharedCounts(open_database(url, folder, durable=False))
            self.requests.counts = self.queries.counts = counts

    def _job_work(self) -> JobWork | None:
        """Return the worker of jobs, which applies the limits of the service; None without any."""
        limits, executor = self.settings, self._executor
        if executor is None and limits.job_workers:
            executor = LocalExecutor(limits.job_workers, limits.job_memory_bytes)
        if executor is None:
            return None
        return JobWork(
            self._models_of_jobs,
            executor,
            self.learning,
            limits.job_memory_bytes,
            limits.most_rows,
        )

    def _models_of_jobs(self) -> Mapping[str, Model]:
        """Return the models; the server that received a job may know newer files."""
        if self.settings.reload_s:
            self.refresh()
        return self.catalogue.models

    def start(self) -> None:
        """Start the workers, the exploration and the jobs."""
        if self._closed:
            return
        self.pool.start(self.catalogue.models.values())
        self.learning.start()
        if self._jobs is not None:
            self._jobs.start()

    def start_early(self) -> None:
        """Start a worker, load the models in a thread, then start everything else."""

        def load_and_start() -> None:
            try:
                self.load()
                self.start()
            except Exception as error:
                self.error = error

        self.pool.prepare()
        # A daemon, so that Ctrl-C ends the process while models are loaded.
        threading.Thread(target=load_and_start, name="counterfolio-start", daemon=True).start()

    def drain(self) -> None:
        """Ask clients to close their connections from now on, as the service shuts down."""
        self.draining = True

    def close(self) -> None:
        """Stop the jobs, the exploration, the reader and the workers."""
        self._closed = True
        if self._jobs is not None:
            self._jobs.close()
        self.learning.close()
        self.reader.close()
        self.pool.close()
        if self.tracing is not None:
            self.tracing.close()

    def refresh(self) -> None:
        """Load changed models; requests in progress finish on the model that they started with."""
        if not self.loading and self.catalogue.refresh():
            self.pool.keep(self.catalogue.models.values())

    async def keep_fresh(self) -> None:
        """Poll the model files for changes until cancelled."""
        while self.settings.reload_s:
            await asyncio.sleep(self.settings.reload_s)
            try:
                await asyncio.to_thread(self.refresh)
            except Exception:  # an error of one reload must not end the polling
                log.exception("reloading the models failed")

    async def log_start(self) -> None:
        """Log what the service waits for until the first worker is warm."""
        began, logged = time.monotonic(), ""
        while not self.pool.begun:
            if logged != self.pool.why:
                logged = self.pool.why
                log.info("not ready: %s", logged)
            await asyncio.sleep(TELL_S)
        log.info("ready: a worker is warm after %.1f seconds", time.monotonic() - began)
        self.reader.warm_up()

    def model(self, name: str) -> Model:
        """Return a model by name; raise Problem if it is unknown or failed to load."""
        models = self.catalogue.models
        if failure := self.catalogue.failures.get(name) if name not in models else None:
            raise Problem(503, failure.detail)
        if name not in models:
            close = close_names(name[:80], models)
            raise Problem(
                404,
                f"unknown model {name[:80]!r}.{close} List the models with GET /v1/models.",
                code="unknown-model",
                name=name[:80],
            )
        return models[name]

    def limits(self, arguments: dict[str, Any]) -> Limits:
        """Return the limits of a request, and write them into its arguments."""
        most = {"time_limit_s": self.settings.longest_s, "threads": self.settings.threads}
        usual = {"time_limit_s": self.settings.usual_s}
        clipped = []
        for name, limit in most.items():
            value = arguments.get(name)
            if value is None:
                arguments[name] = usual.get(name, limit)
            elif value > limit:
                arguments[name] = limit
                clipped.append(name)
        return Limits(float(arguments["time_limit_s"]), arguments["threads"], tuple(clipped))

    def request_of(
        self, request: Request, name: str, question: ServedQuestion, arguments: dict[str, Any]
    ) -> QuestionRequest:
        """Return a request about a row of a model, with the limits of the service applied."""
        began, model, limits = time.perf_counter(), self.model(name), self.limits(arguments)
        book = self.learning.book(model, question.name)
        ticket = QuestionTicket(model, question.name, arguments, limits.time_limit_s, log=book)
        state, owner = request.state, owner_of(request)
        state.about.update(model=model.name, question=question.name)
        return QuestionRequest(
            model, question, limits, ticket, state.request_id, began, owner, state.about, state.span
        )

    async def answer(self, request: Request, pending: QuestionRequest) -> str:
        """Return the answer to a request as JSON; stop when the client disconnects."""
        async with self.queries.one(pending.owner):
            self._submit(pending)
            answer = asyncio.wrap_future(pending.ticket.future)
            try:
                while not (await asyncio.wait([answer], timeout=LOOK_S))[0]:
                    if await request.is_disconnected():
                        raise Problem(408, "the client disconnected before the answer was ready.")
                    self._check_patience(pending)
                return self._document(pending, answer.result())
            finally:
                self._end(pending)

    async def stream(self, pending: QuestionRequest) -> AsyncIterator[str]:
        """Return the bounds and the answer of a request as server-sent events."""
        loop, events = asyncio.get_running_loop(), asyncio.Queue[Bounds | Reply | Refused]()

        def hear(event: Any) -> None:
            loop.call_soon_threadsafe(events.put_nowait, event)

        def finish(future: "Future[Reply | Refused]") -> None:
            if not future.cancelled():
                hear(future.result())

        pending.ticket.on_bounds = hear
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.queries.one(pending.owner))
            self._submit(pending)
            counted = stack.pop_all()  # until the last event
        pending.ticket.future.add_done_callback(finish)
        return self._events(pending, events, counted)

    async def _events(
        self,
        pending: QuestionRequest,
        events: "asyncio.Queue[Bounds | Reply | Refused]",
        counted: AsyncExitStack,
    ) -> AsyncIterator[str]:
        try:
            async with counted:
                async for event in self._until_answer(pending, events):
                    yield event
        except Problem as problem:
            yield _event("problem", json.dumps(problem.document()))
        finally:
            self._end(pending)

    async def _until_answer(
        self, pending: QuestionRequest, events: "asyncio.Queue[Bounds | Reply | Refused]"
    ) -> AsyncIterator[str]:
        reason = ""
        while True:
            begun, why = self.pool.begun, self.pool.why
            if not begun and reason != why:
                reason = why
                waiting = {"detail": why, "code": CODES.get(why, "")}
                yield _event("waiting", json.dumps(waiting))
            try:
                event = await asyncio.wait_for(events.get(), BEAT_S if begun else LOOK_S)
            except TimeoutError:
                self._check_patience(pending)
                if begun:
                    yield ": keep-alive\n\n"
                continue
            if isinstance(event, Bounds):
                yield _event("bounds", json.dumps(vars(event)))
                continue
            yield _event("answer", self._document(pending, event))
            return

    def _end(self, pending: QuestionRequest) -> None:
        """Stop a question if it is not answered, and trace it."""
        pending.ticket.stop()
        if self.tracing is not None:
            began_s = time.time() - (time.perf_counter() - pending.began)
            future = pending.ticket.future
            answer = future.result() if future.done() and not future.cancelled() else None
            self.tracing.question(pending.span, pending.about, began_s, answer)

    def _submit(self, pending: QuestionRequest) -> None:
        """Queue a request for a worker; raise Problem if the queue is full or closed."""
        try:
            self.pool.submit(pending.ticket)
        except FullError as error:
            wait = {"Retry-After": str(max(1, round(error.wait_s)))}
            raise Problem(429, FULL, wait) from error
        except ClosedError as error:
            raise Problem(503, CLOSING, {"Retry-After": "1"}) from error

    def _check_patience(self, pending: QuestionRequest) -> None:
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
        status, seconds = 429 if self.pool.ready else 503, self._patience_s
        raise Problem(status, words, {"Retry-After": "1"}, "no-worker", seconds=seconds)

    def _document(self, pending: QuestionRequest, answer: Reply | Refused) -> str:
        """Return an answer as JSON; raise Problem if there is none."""
        if isinstance(answer, Refused):
            raise self._problem(pending, answer)
        seconds = time.perf_counter() - pending.began
        self.metrics.answered(pending.question.name, answer.status, answer.backend, seconds)
        self.learning.hear(pending.model, pending.ticket, answer)
        pending.about.update(answer=answer.status, backend=answer.backend)
        about = {
            "model": pending.model.named,
            "question": f'"{pending.question.name}"',
            "request": f'"{pending.number}"',
            "limits": json.dumps(vars(pending.limits)),
        }
        members = about | answer.members
        return "{" + ", ".join(f'"{name}": {value}' for name, value in members.items()) + "}"

    def _problem(self, pending: QuestionRequest, refusal: Refused) -> Problem:
        if refusal.why == "input":
            return Problem(422, refusal.detail, None, refusal.code, **refusal.arguments)
        if refusal.why == "lost":
            return Problem(503, refusal.detail, {"Retry-After": "1"})
        log.error("request %s failed: %s", pending.number, refusal.detail)
        return fault(pending.number)


def _tracing() -> "Tracing":
    """Return the traces of a service, which need an extra."""
    from portfolio.service.tracing import Tracing

    return Tracing()


def _event(name: str, data: str) -> str:
    return f"event: {name}\ndata: {data}\n\n"
