"""Batch workers on this machine."""

import pickle
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial

from encoders.errors import InputError
from portfolio.batch_job import Task, Work, failure
from portfolio.batch_log import Record
from portfolio.process import POLL_S, Process

GRACE_S = 5.0  # what a worker may take beyond a row's time limit before it is killed
TRIES = 3
WAIT_S = 0.1


@dataclass(frozen=True)
class LocalExecutor:
    """Processes of this machine, one query at a time each.

    Parameters
    ----------
    workers : how many
    memory_bytes : address space of each, 0 for no limit
    """

    workers: int
    memory_bytes: int = 0

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """See :class:`portfolio.batch_job.Answers`."""
        shop = _Shop(dumped(job), tasks, self.memory_bytes)
        hands = [threading.Thread(target=shop.work, daemon=True) for _ in range(self.workers)]
        for hand in hands:
            hand.start()
        try:
            while any(hand.is_alive() for hand in hands) or not shop.done.empty():
                try:
                    yield shop.done.get(timeout=WAIT_S)
                except queue.Empty:
                    continue
        finally:
            shop.close()
        if shop.broken:
            raise InputError(shop.broken)


class _Broken(Exception):  # noqa: N818
    """A worker can't do the job at all."""


def dumped(job: Work) -> bytes:
    """A job as bytes, or one sentence on why it can't be sent."""
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise InputError(
            f"the model, norm or constraints can't be sent to workers ({error}); "
            "use functions and classes of a module that can be imported."
        ) from error


class _Shop:
    """Tasks on one side, answers on the other, a process for each hand."""

    def __init__(self, job: bytes, tasks: Iterator[Task], memory_bytes: int) -> None:
        self._job, self._tasks, self._memory_bytes = job, tasks, memory_bytes
        self._lock = threading.Lock()
        self._processes: list[Process] = []
        self._closed = False
        self.done: queue.Queue[Record] = queue.Queue()
        self.broken = ""

    def work(self) -> None:
        """Answer tasks until there are none; one that kills its process is tried again."""
        process: Process | None = None
        while (task := self._next()) is not None:
            record = failure(task.key, "not started")
            for _ in range(TRIES):
                try:
                    if process is None or not process.alive:
                        process = self._hired(task)
                    asked = task.now()
                    if process is None or asked is None:
                        return
                    record = _asked(process, asked)
                    break
                except _Broken as error:
                    self.broken = str(error)
                    self.close()
                    return
                except (EOFError, OSError):
                    if self._closed:
                        return
                    code = "" if process is None else f" (exit code {process.exit_code()})"
                    record, process = failure(task.key, f"the worker died{code}"), None
            self.done.put(record)
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End all processes at once."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()

    def _next(self) -> Task | None:
        with self._lock:
            return None if self._closed else next(self._tasks, None)

    def _hired(self, task: Task) -> Process | None:
        """A process that has the job and has compiled what it needs; None if it is too late."""
        with self._lock:
            if self._closed:
                raise EOFError
            process = Process("portfolio.batch_main", self._memory_bytes)
            self._processes.append(process)
        late = partial(_late, task)
        if not process.await_ready(late):
            return None
        process.send(self._job)
        process.send(task)
        while not late():
            message = process.receive(WAIT_S)
            if message is not None:
                if message[0] == "broken":
                    raise _Broken(message[1])
                return process
        return None


def _late(task: Task) -> bool:
    return time.monotonic() >= task.ends


def _asked(process: Process, task: Task) -> Record:
    process.send(task)
    kill_at = time.monotonic() + task.limit_s + GRACE_S
    while True:
        message = process.receive(POLL_S)
        if message is not None:
            record: Record = message[1]
            return record
        if time.monotonic() >= kill_at:
            process.kill()
            return failure(task.key, "killed: it did not end in time", "time_limit")
