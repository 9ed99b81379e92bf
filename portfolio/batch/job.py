"""The work of a batch: rows in, records of their answers out."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.errors import CounterfolioError
from encoders.query.goal import Wanted
from portfolio.logbook import Log
from portfolio.model.tabular import Row
from portfolio.question import Options, Question
from portfolio.result import Result
from portfolio.running.work import Record, Task
from portfolio.solving.ask import Asker
from portfolio.solving.targets import PROVED_MARGIN

OF_0_1 = "Answered by version 0.1: what is proved is about rows whose score leads by {:g}."


@dataclass(frozen=True, eq=False)
class Job:
    """Asks one question of many rows; a :class:`portfolio.running.work.Work`.

    Attributes
    ----------
    options : their time limit is replaced by that of each task
    log : see :meth:`Explainer.explain`
    """

    asker: Asker
    question: Question
    options: Options
    log: Log | None

    def warm_up(self, task: Task) -> None:
        """See :class:`portfolio.running.work.Work`.

        Parameters
        ----------
        task : as in :meth:`portfolio.running.work.Work.warm_up`
        """
        self.answer(replace(task, limit_s=1e-3))

    def answer(self, task: Task) -> Record:
        """The record of one row; what goes wrong is told in it.

        Parameters
        ----------
        task : its payload is the row's values, float64 (n_columns,)
        """
        try:
            return _record(task, self._asked(task))
        except CounterfolioError as error:
            return unanswered(task.key, str(error))
        except MemoryError:
            return unanswered(task.key, "out of memory")
        except Exception as error:  # one row must not end the job
            return unanswered(task.key, f"{type(error).__name__}: {error}")

    def _asked(self, task: Task) -> Result:
        options = replace(self.options, time_limit_s=task.limit_s)
        strategy = self.asker.strategy(self.question, options)
        row = Row.of_values(task.payload)
        return self.asker.ask(self.question, options, row, strategy, log=self.log)

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        """See :class:`portfolio.running.work.Work`.

        Parameters
        ----------
        task, message, late : as in :meth:`portfolio.running.work.Work.lost`
        """
        return unanswered(task.key, message, "time_limit" if late else "error")

    def completed(self, record: Record) -> Record:
        """An answer of version 0.1, which asked for rows that lead where no margin was given.

        Its proof is about those rows only, and the record now says so.

        Parameters
        ----------
        record : without a margin
        """
        votes = self.asker.model.ensemble.votes
        if self.question.margin is not None:
            return record | {"margin": self.question.lead(votes)}
        lead = 1.0 if votes else PROVED_MARGIN
        return record | {"margin": lead, "message": record["message"] or OF_0_1.format(lead)}


def unanswered(key: str, message: str, reason: str = "error") -> Record:
    """The record of a row without an answer, and why it has none.

    Parameters
    ----------
    key : of the row's task
    message : what went wrong, for users
    reason : "error", "time_limit", "deadline" or "interrupted"
    """
    return {
        "key": key,
        "status": "unknown",
        "stop_reason": reason,
        "distance": None,
        "bound": 0.0,
        "backend": "",
        "target": None,
        "seconds": 0.0,
        "changed": [],
        "message": message,
        "row": None,
        "final": False,
    }


def _record(task: Task, result: Result) -> Record:
    found = result.counterfactual
    late = result.stop_reason == "time_limit" and task.cut
    return {
        "key": task.key,
        "status": result.status,
        "stop_reason": "deadline" if late else result.stop_reason,
        "distance": _finite(result.distance),
        "bound": _finite(result.lower_bound),
        "margin": result.margin,
        "backend": result.backend,
        "target": _plain(result.target),
        "seconds": result.timings.total,
        "changed": [change.feature for change in result.changed],
        "message": result.message,
        "row": None if found is None else [_finite(v) for v in np.asarray(found).tolist()],
        # What a limit of the job, an error or an interrupt left open is asked again on resume.
        "final": not late and result.stop_reason not in ("error", "interrupted"),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(label: Any) -> Any:
    if isinstance(label, Wanted):
        return str(label)
    return label.item() if isinstance(label, np.generic) else label
