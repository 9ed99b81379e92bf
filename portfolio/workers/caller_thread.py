"""Program in a thread of the caller's process, which takes the place of one worker process.

It answers rows from the first moment, and its process needs no start.
"""

import queue
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from portfolio.workers.process import RemoteProgram
from portfolio.workers.small_batches import SETTLED, BriefWork
from portfolio.workers.work import HELD_S, Record, Task, Together

LIMIT_S = 1.0  # seconds of a row, after which the rest is passed to a process
ENDED = "the thread has ended"


class CallerThread(RemoteProgram):
    """Program that answers short rows in this process; for one thread at a time.

    It ends itself at the first row that is not short, because nothing can kill a thread. A process
    then takes its place.

    Parameters
    ----------
    job : BriefWork
        Work of the batch.
    together : Together
        Object that solves several of its tasks together.
    is_suspect : callable
        Function that returns whether a task may have ended a worker.
    """

    def __init__(
        self, job: BriefWork, together: Together, is_suspect: Callable[[Task], bool]
    ) -> None:
        self._job, self._together, self._is_suspect = job, together, is_suspect
        self._messages: queue.Queue[tuple[Any, ...] | None] = queue.Queue()
        self._answers: queue.Queue[tuple[str, Any]] = queue.Queue()
        # No message is accepted once it ends; all answers are in the queue once it is over.
        self._ending, self._over = threading.Event(), threading.Event()
        self._warm = False
        self._thread = threading.Thread(target=self._run, name="counterfolio-rows", daemon=True)
        self._thread.start()
        self._answers.put(("ready", None))

    @property
    def alive(self) -> bool:
        """See :class:`RemoteProgram`."""
        return not self._ending.is_set()

    def death(self) -> str:
        """See :class:`RemoteProgram`."""
        return ENDED

    def kill(self) -> None:
        """End the thread after its current row."""
        self._ending.set()
        self._messages.put(None)
        self._thread.join(2 * LIMIT_S)

    def send(self, message: Any) -> None:
        """See :class:`RemoteProgram`."""
        if not self.alive:
            raise OSError(ENDED)
        self._messages.put(message)

    def receive(self, timeout_s: float) -> Any:
        """See :class:`RemoteProgram`."""
        try:
            return self._answers.get(timeout=timeout_s)
        except queue.Empty:
            if self._over.is_set() and self._answers.empty():
                raise EOFError(ENDED) from None
            return None

    def _run(self) -> None:
        try:
            while self.alive and (message := self._messages.get()) is not None:
                kind, key, *content = message
                if kind == "load":  # this process has the job already
                    self._answers.put(("loaded", key))
                elif kind == "tasks":
                    self._answer(content[0])
        finally:
            self._ending.set()
            self._over.set()

    def _answer(self, tasks: list[Task]) -> None:
        if any(map(self._is_suspect, tasks)):
            self._end(tasks)
            return
        if not self._warm:
            self._job.warm_up(tasks[0])
            self._warm = True
            self._answers.put(("warm", None))
        if len(tasks) == 1:
            self._answer_alone(tasks[0])
        else:
            self._answer_together(tasks)

    def _answer_alone(self, task: Task) -> None:
        due = task.now()
        record = None if due is None else self._job.answer_briefly(due, LIMIT_S)
        if record is not None:
            self._answers.put(("answers", [(task.key, record)]))
        elif due is None:
            self._back([task], alone=False)
        else:
            self._end([task])

    def _answer_together(self, tasks: list[Task]) -> None:
        """Answer tasks until one takes too long, and verify the answers every ``HELD_S``."""
        remaining, began = list(tasks), time.monotonic()
        slow, limits_s = list[Task](), dict[str, float]()
        while remaining and not slow and self.alive:
            task = remaining.pop(0)
            if (due := task.now()) is None:
                self._back([task], alone=False)
                continue
            limits_s[task.key] = due.limit_s
            self._together.take(replace(due, limit_s=min(due.limit_s, LIMIT_S)))
            if time.monotonic() - began > HELD_S:
                slow, began = self._settle(limits_s), time.monotonic()
        slow += self._settle(limits_s)
        if slow or not self.alive:
            self._end([*slow, *remaining])

    def _settle(self, limits_s: Mapping[str, float]) -> list[Task]:
        """Send verified answers, and return the tasks that need more time, given their limits."""
        answers, again = self._together.settle()
        done, slow = list[tuple[str, Record]](), list[Task]()
        for task, record in answers:
            if record["stop_reason"] in SETTLED or limits_s[task.key] <= LIMIT_S:
                done.append((task.key, record))
            else:
                slow.append(task)
        if done:
            self._answers.put(("answers", done))
        self._back(again, alone=True)
        return slow

    def _back(self, tasks: list[Task], alone: bool) -> None:
        if tasks:
            self._answers.put(("back", ([task.key for task in tasks], alone)))

    def _end(self, tasks: list[Task]) -> None:
        """Send tasks back and end, so that a process takes the place of this thread."""
        self._ending.set()
        self._back(tasks, alone=False)
