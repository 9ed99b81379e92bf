"""Queue of tasks, and how many of them a worker receives at once."""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice
from math import ceil

from portfolio.workers.work import Task

# Seconds after which collected records are verified and sent. With half of it a forest of a hundred
# trees spends a tenth of its time on predictions. A lost worker's unsent rows are solved again.
HELD_S = 0.4
TRIES = 3  # attempts of a row whose worker dies


class Waiting:
    """Queue of tasks that no worker has yet; not thread safe."""

    def __init__(self, tasks: Iterator[Task], workers: int, most: int) -> None:
        self._tasks, self._workers, self._most = tasks, workers, most
        self._ahead: deque[Task] = deque()
        self._again: deque[Task] = deque()
        self._tries: Counter[str] = Counter()

    def next(self, pace_s: float) -> list[Task]:
        """Return the next tasks of a worker: as many as it solves before it verifies them."""
        if self._again:
            return [self._again.popleft()]
        count = max(1, min(self._most, int(HELD_S / pace_s)))
        target = count if count == 1 else count * self._workers
        self._ahead.extend(islice(self._tasks, max(0, target - len(self._ahead))))
        share = min(count, ceil(len(self._ahead) / self._workers))
        return [self._ahead.popleft() for _ in range(share)]

    @property
    def any(self) -> bool:
        """True if any task is waiting."""
        if not self._again and not self._ahead:
            self._ahead.extend(islice(self._tasks, 1))
        return bool(self._again or self._ahead)

    def not_begun(self, tasks: list[Task]) -> None:
        """Return tasks that a worker did not start to the front of the queue."""
        self._ahead.extendleft(reversed(tasks))

    def alone(self, tasks: list[Task]) -> None:
        """Queue tasks again, one at a time, because their records were rejected."""
        self._again.extend(tasks)

    def put_back(self, tasks: list[Task]) -> list[Task]:
        """Queue tasks again, one at a time; return those that reached the limit of attempts."""
        if len(tasks) == 1:
            self._tries[tasks[0].key] += 1
        given_up = [task for task in tasks if self._tries[task.key] >= TRIES]
        self.alone([task for task in tasks if task not in given_up])
        return given_up
