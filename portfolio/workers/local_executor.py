"""Executor of batches in processes on this machine."""

import pickle
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial
from math import inf

from encoders.core.errors import InputError
from portfolio.workers.process import POLL_S, Process
from portfolio.workers.waiting import HELD_S, Waiting
from portfolio.workers.work import Record, Task, Work, together_of

GRACE_S = 5.0  # seconds beyond the time limit of a row after which a worker is killed
MOST = 64  # most rows that a worker receives at once
LATE = "the worker was killed: the row exceeded its time limit"
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
        pool = _ProcessPool(job, tasks, self.workers, self.memory_bytes)
        threads = [threading.Thread(target=pool.work, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) or not pool.done.empty():
                try:
                    yield pool.done.get(timeout=WAIT_S)
                except queue.Empty:
                    if time.monotonic() >= pool.ends + 2 * GRACE_S:
                        pool.close()  # frees a thread that is sending to a frozen worker
        finally:
            pool.close()
        if pool.broken:
            raise InputError(pool.broken)


class _Broken(Exception):  # noqa: N818
    """Error of a worker that cannot run the job at all."""


def dumped(job: Work) -> bytes:
    """Return a job as bytes; raise InputError if it cannot be pickled."""
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise InputError(
            f"the model, norm or constraints can't be sent to workers ({error}). "
            "Use functions and classes of a module that can be imported."
        ) from error


class _ProcessPool:
    """Pool of worker processes, one for each thread of this process."""

    def __init__(self, job: Work, tasks: Iterator[Task], workers: int, memory_bytes: int) -> None:
        self._job, self._content = job, dumped(job)
        self._memory_bytes = memory_bytes
        self._waiting = Waiting(tasks, workers, MOST if together_of(job) is not None else 1)
        self._lock = threading.Lock()
        self._processes: list[Process] = []
        self._closed = False
        self.done: queue.Queue[Record] = queue.Queue()
        self.ends = inf  # deadline of the batch, which all its tasks share
        self.broken = ""

    def work(self) -> None:
        """Run tasks until none is left; tasks of a process that dies are queued again."""
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
                self._retry_after_death(tasks, f"the worker died{code}")
                process = None
        if process is not None:
            process.kill()

    def close(self) -> None:
        """End all processes immediately."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                process.kill()

    def _next(self, pace_s: float) -> list[Task]:
        with self._lock:
            tasks = [] if self._closed else self._waiting.next(pace_s)
            self.ends = min((task.ends for task in tasks), default=self.ends)
            return tasks

    def _retry_after_death(self, tasks: list[Task], why: str) -> None:
        """Queue tasks again, one by one, to find the one that kills its worker."""
        with self._lock:
            given_up = self._waiting.put_back(tasks)
        for task in given_up:
            self.done.put(self._job.lost(task, why))

    def _start_process(self, task: Task) -> Process | None:
        """Return a process that has warmed up the job; None if the deadline passed."""
        with self._lock:
            if self._closed:
                raise EOFError
            process = Process("portfolio.workers.work_process", self._memory_bytes)
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
        """Run tasks and remove them from the list; return False if the deadline passed."""
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
                self._retry_after_timeout(tasks)
                return True
        return True

    def _retry_after_timeout(self, tasks: list[Task]) -> None:
        """Give up a single task that exceeded its limit; queue several again, one by one."""
        if len(tasks) == 1:
            self.done.put(self._job.lost(tasks[0], LATE, late=True))
            return
        with self._lock:
            self._waiting.put_back(tasks)


def _late(task: Task) -> bool:
    return time.monotonic() >= task.ends
