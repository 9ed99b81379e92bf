"""Settings of a batch: limits, workers and the folder of the answers."""

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from encoders.core.errors import InputError
from portfolio.batch.answer_log import refuse_used
from portfolio.engine.progress import OnAnswer
from portfolio.engine.question import LONGEST_S, check_seconds
from portfolio.workers.ray.executor import ray_by_name
from portfolio.workers.shared_executor import default_executor
from portfolio.workers.work import Answers


@dataclass(frozen=True)
class BatchSettings:
    """Settings of a batch as the user passes them.

    See :meth:`portfolio.api.explainer.Explainer.explain_batch`.

    Attributes
    ----------
    time_limit_s : seconds for each row.
    deadline_s : seconds for the whole batch, from ``began``; None for no limit.
    threads : number of solver threads of each worker.
    executor : name or object that runs the tasks.
    out : folder of the answers, None to store them in memory only.
    resume : bool, see :class:`portfolio.batch.answer_log.AnswerLog`.
    on_answer : function called in the caller's thread with (rows answered, rows in total).
    began : ``time.monotonic()`` of the call.
    """

    time_limit_s: float = 60.0
    deadline_s: float | None = None
    threads: int = 1
    executor: Literal["local", "ray"] | Answers = "local"
    out: str | Path | None = None
    resume: bool = False
    on_answer: OnAnswer = lambda answered, rows: None
    began: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        if self.out is not None and (self.out == "" or not isinstance(self.out, str | Path)):
            raise InputError(f"out must be the path of a folder, got {self.out!r}.")
        if self.folder is not None:
            refuse_used(self.folder, self.resume)
        if self.threads is None:
            raise InputError(
                "threads must be a whole number, got None. Set the number of threads per worker."
            )
        check_seconds(self.time_limit_s)
        if self.deadline_s is not None:
            check_seconds(self.deadline_s, "deadline_s")
        if not callable(self.on_answer):
            raise InputError(f"on_answer must be a function, got {self.on_answer!r}.")

    @property
    def folder(self) -> Path | None:
        """Folder of the answers, None without one."""
        return None if self.out is None else Path(self.out)

    @property
    def left_s(self) -> float | None:
        """Seconds until the deadline; None without one."""
        if self.deadline_s is None:
            return None
        return max(0.0, self.began + self.deadline_s - time.monotonic())

    @property
    def limit_s(self) -> float:
        """Seconds for each row, cut to a length that threads can wait for."""
        return min(self.time_limit_s, LONGEST_S)

    def answers(self) -> Answers:
        """Return the executor of the tasks."""
        if self.executor == "local":
            return default_executor(self.threads)
        return ray_by_name(self.executor) if isinstance(self.executor, str) else self.executor
