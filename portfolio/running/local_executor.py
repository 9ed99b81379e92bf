"""Batch workers on this machine."""

import pickle
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf

from encoders.errors import InputError
from portfolio.running.process import POLL_S, Process
from portfolio.running.waiting import HELD_S, Waiting
from portfolio.running.work import Record, Task, Work, together_of

GRACE_S = 5.0  # seconds that a worker may take beyond a row's time limit before it is killed
MOST = 64  # rows that a worker is given at once
WAIT_S = 0.1  # seconds between looks at whether all is over or late


@dataclass(frozen=True)
class LocalExecutor:
    """Processes of this machine, each with a few rows at a time where they take little.

    Parameters
    ----------
    workers : how many
    memory_bytes : address space of each, 0 for no limit
    """

    workers: int
    memory_bytes: int = 0

    def __call__(self, job: Work, tasks: Iterator[Task]) -> Generator[Record]:
        """See :class:`portfolio.running.work.Answers`.

        Parameters
        ----------
        job : pickled once
        tasks : taken when a worker is free

        Raises
        ------
        InputError
            The job can't be pickled, or workers can't start.
        """
        pool = _ProcessPool(job, tasks, self.workers, self.memory_bytes)
        threads = [threading.Thread(target=pool.work, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) or not pool.done.empty():
                try:
                    yield pool.done.get(timeout=WAIT_S)
                except queue.Empty:
                    continue
        finally:
            pool.close()
        if pool.broken:
            raise InputError(pool.broken)


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


class _ProcessPool:
    """Tasks on one side, answers on the other, a process for each thread."""

    def __init__(self, job: Work, tasks: Iterator[Task], workers: int, memory_bytes: int) -> None:
        self._job, self._content = job, dumped(job)
        self._memory_bytes = memory_bytes
        self._waiting = Waiting(tasks, workers, MOST if together_of(job) is not None else 1)
        self._lock = threading.Lock()
        self._processes: list[Process] = []
        self._closed = False
        self.done: queue.Queue[Record] = queue.Queue()
        self.broken = ""

    def work(self) -> None:
        """Answer tasks until there are none; those that are left when a process dies come again."""
        process: Process | None = None
        pace_s = inf
        while tasks := self._next(pace_s):
            try:
                if process is None or not process.alive:
                    process = self._start_process(tasks[0])
                if process is None:
                    return
                began, count = time.monotonic(), len(tasks)
                if not self._ask(process, tasks):
                    return
                pace_s = (time.monotonic() - began) / count
            except _Broken as error:
                self.broken = str(error)
                self.close()
                return
            except (EOFError, OSError):
                if self._closed:
                    return
                code = "" if process is None else f" (exit code {process.exit_code()})"
                self._left_by_the_dead(tasks, f"the worker died{code}")
                process = None
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End all processes at once."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()

    def _next(self, pace_s: float) -> list[Task]:
        with self._lock:
            return [] if self._closed else self._waiting.next(pace_s)

    def _left_by_the_dead(self, tasks: list[Task], why: str) -> None:
        """Ask again, one by one, so that it is known which of them no worker survives."""
        with self._lock:
            given_up = self._waiting.put_back(tasks)
        for task in given_up:
            self.done.put(self._job.lost(task, why))

    def _start_process(self, task: Task) -> Process | None:
        """A process that has the job and has compiled what it needs; None if it is too late."""
        with self._lock:
            if self._closed:
                raise EOFError
            process = Process("portfolio.running.work_process", self._memory_bytes)
            self._processes.append(process)
        late = partial(_late, task)
        if not process.await_ready(late):
            return None
        process.send(self._content)
        process.send(task)
        while not late():
            message = process.receive(WAIT_S)
            if message is not None:
                if message[0] == "broken":
                    raise _Broken(message[1])
                return process
        return None

    def _ask(self, process: Process, tasks: list[Task]) -> bool:
        """Answer tasks, which leave the list; False if it is too late for those that are left."""
        due = [task for task in (task.now() for task in tasks) if task is not None]
        if not due:
            return False
        process.send(due)
        longest_s = max(task.limit_s for task in due) + HELD_S + GRACE_S
        kill_at = time.monotonic() + longest_s
        while tasks:
            message = process.receive(POLL_S)
            if message is not None:
                records: list[Record] = message[1]
                if not records:
                    return False
                answered = {record["key"] for record in records}
                tasks[:] = [task for task in tasks if task.key not in answered]
                for record in records:
                    self.done.put(record)
                kill_at = time.monotonic() + longest_s
            elif time.monotonic() >= kill_at:
                process.kill()
                self._left_by_the_late(tasks)
                return True
        return True

    def _left_by_the_late(self, tasks: list[Task]) -> None:
        """One that did not end in time is lost; where it may be any of several, each is asked."""
        if len(tasks) == 1:
            late = "killed: it did not end in time"
            self.done.put(self._job.lost(tasks[0], late, late=True))
            return
        with self._lock:
            self._waiting.put_back(tasks)


def _late(task: Task) -> bool:
    return time.monotonic() >= task.ends
