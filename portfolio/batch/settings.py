"""How a batch is run, whatever it asks: by whom, for how long, and where answers are kept."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from encoders.cores import usable_cores
from encoders.errors import InputError
from portfolio.batch.answer_log import refuse_used
from portfolio.question import LONGEST_S, check_seconds
from portfolio.running.local_executor import LocalExecutor
from portfolio.running.ray_by_name import ray_by_name
from portfolio.running.small_batches import SmallBatchesHere
from portfolio.running.work import Answers

OnAnswer = Callable[[int, int], None]  # (rows answered, rows in all)


@dataclass(frozen=True)
class BatchSettings:
    """As users give them; see :meth:`portfolio.explainer.Explainer.explain_batch`.

    Attributes
    ----------
    time_limit_s : seconds for each row
    deadline_s : seconds for all, from when this was made; None for no limit
    threads : solver threads of each worker
    executor : who does the work
    out : folder of answers, None to keep them in memory only
    resume : as in :class:`portfolio.batch.answer_log.AnswerLog`
    on_answer : called in the caller's thread with (rows answered, rows in all)
    began : ``time.monotonic()`` of the call, from which the deadline counts
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
            raise InputError("threads of a batch are those of each worker; give a number.")
        check_seconds(self.time_limit_s)
        if self.deadline_s is not None:
            check_seconds(self.deadline_s, "deadline_s")
        if not callable(self.on_answer):
            raise InputError(f"on_answer must be a function, got {self.on_answer!r}.")

    @property
    def folder(self) -> Path | None:
        """Where answers are kept."""
        return None if self.out is None else Path(self.out)

    @property
    def left_s(self) -> float | None:
        """Seconds until the deadline; None without one."""
        if self.deadline_s is None:
            return None
        return max(0.0, self.began + self.deadline_s - time.monotonic())

    @property
    def limit_s(self) -> float:
        """Seconds for each row that clocks can count."""
        return min(self.time_limit_s, LONGEST_S)

    def answers(self) -> Answers:
        """Who does the work."""
        if self.executor == "local":
            return SmallBatchesHere(LocalExecutor(max(1, usable_cores() // self.threads)))
        return ray_by_name(self.executor) if isinstance(self.executor, str) else self.executor
