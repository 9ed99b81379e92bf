"""Rows of a batch whose answers the model verifies in one call."""

import time
from dataclasses import dataclass, field

from portfolio.model.lent import Loans
from portfolio.workers.work import Record, Task, Work


@dataclass(frozen=True, eq=False)
class JobTogether:
    """Collector of records until the model has verified them.

    A :class:`portfolio.workers.work.Together`.

    Attributes
    ----------
    job : work whose predictions are computed from the parsed trees at first.
    loans : native predictions that are still to be made.
    """

    job: Work
    loans: Loans
    _pending: list[tuple[Task, Record]] = field(default_factory=list)

    def take(self, task: Task) -> None:
        """See :class:`portfolio.workers.work.Together`."""
        self.loans.of = task.key
        self._pending.append((task, self.job.answer(task)))

    def settle(self) -> tuple[list[Record], list[Task]]:
        """See :class:`portfolio.workers.work.Together`; rejected rows are solved alone."""
        began = time.perf_counter()
        pairs = list(self._pending)
        self._pending.clear()
        try:
            wrong = self.loans.settle()
        except Exception:  # perhaps caused by one row; solved alone, each row has its own error
            self.loans.clear()
            wrong = {task.key for task, _ in pairs}
        share_s = (time.perf_counter() - began) / max(1, len(pairs))
        good = [
            record | {"seconds": record["seconds"] + share_s}
            for task, record in pairs
            if task.key not in wrong
        ]
        return good, [task for task, _ in pairs if task.key in wrong]
