"""Tasks that wait for a worker, and how many of them it is given at once."""

from collections import Counter, deque
from collections.abc import Iterator
from itertools import islice
from math import ceil

from portfolio.running.work import Task

# Seconds after which records that were held back are verified and sent. With half of it a forest of
# a hundred trees spends a tenth of its time on being asked; what a lost worker held is asked again.
HELD_S = 0.4
TRIES = 3  # times that a row is asked whose worker dies


class Waiting:
    """Tasks that no worker has yet; not thread safe."""

    def __init__(self, tasks: Iterator[Task], workers: int, most: int) -> None:
        self._tasks, self._workers, self._most = tasks, workers, most
        self._ahead: deque[Task] = deque()
        self._again: deque[Task] = deque()
        self._tries: Counter[str] = Counter()

    def next(self, pace_s: float) -> list[Task]:
        """What a worker is to do next: as much as it does before it verifies, at most its share."""
        if self._again:
            return [self._again.popleft()]
        count = max(1, min(self._most, int(HELD_S / pace_s)))
        wanted = count if count == 1 else count * self._workers
        self._ahead.extend(islice(self._tasks, max(0, wanted - len(self._ahead))))
        share = min(count, ceil(len(self._ahead) / self._workers))
        return [self._ahead.popleft() for _ in range(share)]

    @property
    def any(self) -> bool:
        """Whether there is a task that waits."""
        if not self._again and not self._ahead:
            self._ahead.extend(islice(self._tasks, 1))
        return bool(self._again or self._ahead)

    def not_begun(self, tasks: list[Task]) -> None:
        """Have tasks come next that a worker was given and did not get to."""
        self._ahead.extendleft(reversed(tasks))

    def alone(self, tasks: list[Task]) -> None:
        """Have tasks asked again, alone: their records did not hold."""
        self._again.extend(tasks)

    def put_back(self, tasks: list[Task]) -> list[Task]:
        """Queue tasks again, one by one; return those that reached the limit of tries."""
        if len(tasks) == 1:
            self._tries[tasks[0].key] += 1
        given_up = [task for task in tasks if self._tries[task.key] >= TRIES]
        self.alone([task for task in tasks if task not in given_up])
        return given_up
