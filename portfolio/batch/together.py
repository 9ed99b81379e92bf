"""Rows of a batch whose answers are put to the model all at once."""

import time
from dataclasses import dataclass, field

from portfolio.model.lent import Loans
from portfolio.running.work import Record, Task, Work


@dataclass(frozen=True, eq=False)
class JobTogether:
    """Holds back records until the model has confirmed them.

    A :class:`portfolio.running.work.Together`.

    Attributes
    ----------
    job : for which the trees speak where they are clear
    loans : what the model is still to be asked
    """

    job: Work
    loans: Loans
    _held: list[tuple[Task, Record]] = field(default_factory=list)

    def take(self, task: Task) -> None:
        """See :class:`portfolio.running.work.Together`."""
        self.loans.of = task.key
        self._held.append((task, self.job.answer(task)))

    def settle(self) -> tuple[list[Record], list[Task]]:
        """See :class:`portfolio.running.work.Together`; what the model refuses is asked alone."""
        began = time.perf_counter()
        held = list(self._held)
        self._held.clear()
        try:
            wrong = self.loans.settle()
        except Exception:  # of one row perhaps; asked alone each says what is wrong
            self.loans.clear()
            wrong = {task.key for task, _ in held}
        share_s = (time.perf_counter() - began) / max(1, len(held))
        good = [
            record | {"seconds": record["seconds"] + share_s}
            for task, record in held
            if task.key not in wrong
        ]
        return good, [task for task, _ in held if task.key in wrong]
