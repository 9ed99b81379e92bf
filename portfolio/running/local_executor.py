"""Batch workers on this machine."""

import pickle
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from functools import partial

from encoders.errors import InputError
from portfolio.running.process import POLL_S, Process
from portfolio.running.work import Record, Task, Work

GRACE_S = 5.0  # seconds that a worker may take beyond a row's time limit before it is killed
TRIES = 3  # times that a row is asked whose worker dies
WAIT_S = 0.1  # seconds between looks at whether all is over or late


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
        pool = _ProcessPool(job, tasks, self.memory_bytes)
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
    """A job as bytes, or one sentence on why it can't be sent.

    Parameters
    ----------
    job : with all that it needs

    Raises
    ------
    InputError
        It can't be pickled.
    """
    try:
        return pickle.dumps(job)
    except Exception as error:
        raise InputError(
            f"the model, norm or constraints can't be sent to workers ({error}); "
            "use functions and classes of a module that can be imported."
        ) from error


class _ProcessPool:
    """Tasks on one side, answers on the other, a process for each thread."""

    def __init__(self, job: Work, tasks: Iterator[Task], memory_bytes: int) -> None:
        self._job, self._content = job, dumped(job)
        self._tasks, self._memory_bytes = tasks, memory_bytes
        self._lock = threading.Lock()
        self._processes: list[Process] = []
        self._closed = False
        self.done: queue.Queue[Record] = queue.Queue()
        self.broken = ""

    def work(self) -> None:
        """Answer tasks until there are none; one that kills its process is tried again."""
        process: Process | None = None
        while (task := self._next()) is not None:
            record = self._job.lost(task, "not started")
            for _ in range(TRIES):
                try:
                    if process is None or not process.alive:
                        process = self._start_process(task)
                    due = task.now()
                    if process is None or due is None:
                        return
                    record = self._ask(process, due)
                    break
                except _Broken as error:
                    self.broken = str(error)
                    self.close()
                    return
                except (EOFError, OSError):
                    if self._closed:
                        return
                    code = "" if process is None else f" (exit code {process.exit_code()})"
                    record, process = self._job.lost(task, f"the worker died{code}"), None
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

    def _ask(self, process: Process, task: Task) -> Record:
        process.send(task)
        kill_at = time.monotonic() + task.limit_s + GRACE_S
        while True:
            message = process.receive(POLL_S)
            if message is not None:
                record: Record = message[1]
                return record
            if time.monotonic() >= kill_at:
                process.kill()
                return self._job.lost(task, "killed: it did not end in time", late=True)


def _late(task: Task) -> bool:
    return time.monotonic() >= task.ends
