"""Executor of batches in processes on this machine."""

import pickle
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from math import inf
from typing import Any

from encoders.core.errors import InputError
from portfolio.workers.process import POLL_S, Process, RemoteProgram
from portfolio.workers.work import (
    HELD_S,
    TRIES,
    NoRoomError,
    Record,
    Task,
    Waiting,
    Work,
    together_of,
)

GRACE_S = 5.0  # seconds beyond the time limit of a row after which a worker is killed
MOST = 64  # most rows that a worker receives at once
LATE = "the worker was killed: the row exceeded its time limit"
PROGRAM = "portfolio.workers.work_process"
SEND_S = 60.0  # seconds for one message to a worker, which always listens unless it is frozen
WAIT_S = 0.1  # seconds between checks of the deadline and the end


@dataclass(frozen=True)
class LocalExecutor:
    """Executor of batches in worker processes on this machine.

    A worker receives several rows at a time if they are solved fast.

    Attributes
    ----------
    workers : int
        Number of worker processes.
    memory_bytes : int
        Limit of the address space of each worker in bytes, 0 for no limit.

    Examples
    --------
    >>> answers = explainer.explain_batch(X, executor=LocalExecutor(workers=2))
    >>> len(answers) == len(X)
    True
    """

    workers: int
    memory_bytes: int = 0

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """Yield the records of all tasks; see :class:`portfolio.workers.work.Answers`."""
        pool = WorkPool(job, tasks, self.workers, self._start)
        yield from pool.records(dumped(job))

    def _start(self) -> RemoteProgram:
        return Process(PROGRAM, self.memory_bytes)


def dumped(job: Work) -> bytes:
    """Return a job as bytes; raise InputError if it cannot be pickled."""
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise InputError(
            f"the model, norm or constraints can't be sent to workers ({error}). "
            "Use functions and classes of a module that can be imported."
        ) from error


class WorkPool:
    """Pool of workers for the tasks of a job, one for each thread of this process.

    Parameters
    ----------
    job : Work
        Work to do.
    tasks : iterator of Task
        Tasks, taken as workers become free.
    workers : int
        Largest number of workers.
    start : callable
        Function that starts a worker.
    room_s : float
        Seconds after which the batch fails if no worker gets free cores.
    """

    def __init__(
        self,
        job: Work,
        tasks: Iterator[Task],
        workers: int,
        start: Callable[[], RemoteProgram],
        room_s: float = inf,
    ) -> None:
        first = list(islice(tasks, workers))
        self._workers = len(first)
        self._job, self._start, self._room_s = job, start, room_s
        self._waiting = Waiting(
            chain(first, tasks), workers, MOST if together_of(job) is not None else 1
        )
        self._lock = threading.Lock()
        self._open: list[RemoteProgram] = []
        self._closed = False
        self._busy = self._lost = 0  # workers with tasks, and those that died while they started
        self._busy_at = time.monotonic()
        self._done: queue.Queue[Record] = queue.Queue()
        self._ends = inf  # deadline of the batch, which all its tasks share
        self._broken: InputError | None = None

    def records(self, content: Any) -> Generator[Record]:
        """Yield the records of all tasks; ``content`` is the pickled job, as workers receive it."""
        threads = [
            threading.Thread(target=self._run, args=(content,), daemon=True)
            for _ in range(self._workers)
        ]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) or not self._done.empty():
                try:
                    yield self._done.get(timeout=WAIT_S)
                except queue.Empty:
                    self._end_frozen()
                    if time.monotonic() >= self._ends + 2 * GRACE_S:
                        self._close()  # frees a thread that is sending to a frozen worker
        finally:
            self._close()
        if self._broken is not None:
            raise self._broken

    def _run(self, content: Any) -> None:
        """Run tasks until none is left; stop all workers if the job cannot run."""
        try:
            while self._run_worker(content):
                pass
        except InputError as error:
            self._broken = error
            self._close()

    def _run_worker(self, content: Any) -> bool:
        """Run tasks in a new worker; return True if it ended before them."""
        worker = self._started()
        if worker is None:
            return False
        pace_s, warm = inf, False
        while tasks := self._next(pace_s):
            try:
                if not warm and not self._warm_up(worker, content, tasks[0]):
                    break
                warm, began, count = True, time.monotonic(), len(tasks)
                if not self._ask(worker, tasks):
                    break
                pace_s = (time.monotonic() - began) / count
            except (EOFError, OSError):
                if not self._closed:
                    self._retry(tasks, worker.death())
            finally:
                self._count(-1)
            if not worker.alive:
                return not self._closed
        worker.kill()
        return False

    def _end_frozen(self) -> None:
        """End each worker that does not receive its message; the tasks are queued again."""
        with self._lock:
            frozen = [worker for worker in self._open if worker.sending_s > SEND_S]
        for worker in frozen:
            worker.kill_child()

    def _close(self) -> None:
        """End all workers immediately."""
        with self._lock:
            self._closed = True
            for worker in self._open:
                worker.kill()

    def _count(self, change: int) -> None:
        with self._lock:
            self._busy += change
            self._busy_at = time.monotonic()

    def _next(self, pace_s: float) -> list[Task]:
        with self._lock:
            tasks = [] if self._closed else self._waiting.next(pace_s)
            self._ends = min((task.ends for task in tasks), default=self._ends)
            self._busy += bool(tasks)
            return tasks

    def _retry(self, tasks: list[Task], why: str, late: bool = False) -> None:
        """Queue tasks again, one by one, to find the one that kills its worker."""
        with self._lock:
            alone = late and len(tasks) == 1
            given_up = tasks if alone else self._waiting.put_back(tasks)
        for task in given_up:
            self._done.put(self._job.lost(task, why, late=alone))

    def _started(self) -> RemoteProgram | None:
        """Return a new worker that listens; None if no task is left for it."""
        while not self._over():
            with self._lock:
                if self._closed:
                    return None
                worker = self._start()
                self._open.append(worker)
            try:
                if worker.await_ready(self._over):
                    return worker
                worker.kill()
            except (EOFError, OSError):
                self._lost += 1
                if self._lost >= TRIES * self._workers and not self._closed:
                    raise InputError(
                        f"workers died while they started: {worker.death()}. Install this version "
                        "of counterfolio wherever workers run."
                    ) from None
        return None

    def _over(self) -> bool:
        """Return whether a worker that starts is useless; raise NoRoomError if none can start."""
        with self._lock:
            now = time.monotonic()
            if self._busy:
                self._busy_at = now
            elif now > self._busy_at + self._room_s:
                raise NoRoomError(
                    f"the cluster did not provide free cores for a worker within "
                    f"{self._room_s:g} s. Free some, or set fewer threads."
                )
            return self._closed or now >= self._ends or not self._waiting.any

    def _warm_up(self, worker: RemoteProgram, content: Any, task: Task) -> bool:
        """Load the job in a worker; return False if the deadline passed."""
        worker.send(content)
        worker.send(task)
        while time.monotonic() < task.ends:
            message = worker.receive(WAIT_S)
            if message is not None:
                if message[0] == "broken":
                    raise InputError(message[1])
                return True
        return False

    def _ask(self, worker: RemoteProgram, tasks: list[Task]) -> bool:
        """Run tasks and remove them from the list; return False if the deadline passed."""
        due = [task for task in (task.now() for task in tasks) if task is not None]
        if not due:
            return False
        worker.send(due)
        longest_s = max(task.limit_s for task in due) + HELD_S + GRACE_S
        kill_at = time.monotonic() + longest_s
        while tasks:
            message = worker.receive(POLL_S)
            if message is not None:
                records: list[Record] = message[1]
                if not records:
                    return False
                answered = {record["key"] for record in records}
                tasks[:] = [task for task in tasks if task.key not in answered]
                for record in records:
                    self._done.put(record)
                kill_at = time.monotonic() + longest_s
            elif time.monotonic() >= kill_at:
                worker.kill()
                self._retry(tasks, LATE, late=True)
                return True
        return True
