"""Any question about a row, asked of every row of a table."""

import inspect
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from encoders.errors import InputError
from portfolio.batch.rows import BatchRows
from portfolio.questions.methods import Questions
from portfolio.questions.series import LEAST_S
from portfolio.running.small_batches import settled
from portfolio.running.work import Record, Task, in_a_sentence
from portfolio.solving.ask import Asker

FIELDS = frozenset(
    ("key", "status", "stop_reason", "seconds", "message", "text", "answer", "final")
)
OF_THE_BATCH = frozenset(("time_limit_s", "threads", "seed", "on_progress"))
Plain = str | int | float | None


class Asked(Questions):
    """The questions of an explainer, where there is no explainer."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker


def settings_of(question: str) -> frozenset[str]:
    """What a question takes besides the row, its limits and its seed."""
    known = {
        name: frozenset(inspect.signature(method).parameters)
        for name, method in inspect.getmembers(Questions, inspect.isfunction)
        if not name.startswith("_")
    }
    of_a_row = {name: own for name, own in known.items() if {"x", "time_limit_s"} <= own}
    if question not in of_a_row:
        more = " (for the cheapest change there is explain_batch)" if question == "explain" else ""
        raise InputError(
            f"no question {question!r} about a row{more}; known are {', '.join(of_a_row)}."
        )
    return of_a_row[question] - OF_THE_BATCH - {"self", "x"}


@dataclass(frozen=True, eq=False)
class QuestionJob:
    """Asks one question of many rows; a :class:`portfolio.batch.work.BatchWork`.

    Attributes
    ----------
    question : name of a method of :class:`portfolio.explainer.Explainer`
    settings : its arguments besides the row, threads and seed included
    """

    asker: Asker
    question: str
    settings: Mapping[str, Any]

    @property
    def fields(self) -> frozenset[str]:
        """See :class:`portfolio.batch.work.BatchWork`."""
        return FIELDS

    @property
    def on_disk(self) -> frozenset[str]:
        """See :class:`portfolio.batch.work.BatchWork`."""
        return frozenset()

    def warm_up(self, task: Task) -> None:
        """See :class:`portfolio.running.work.Work`."""
        self.answer(replace(task, limit_s=LEAST_S))

    def answer(self, task: Task) -> Record:
        """The record of one row; what goes wrong is told in it."""
        try:
            return self._record(task)
        except Exception as error:  # one row must not end the job
            return self.unanswered(task.key, in_a_sentence(error), "error")

    def answer_briefly(self, task: Task, limit_s: float) -> Record | None:
        """See :class:`portfolio.running.small_batches.BriefWork`."""
        return settled(self, task, limit_s)

    def _record(self, task: Task) -> Record:
        began = time.perf_counter()
        ask = getattr(Asked(self.asker), self.question)
        told = ask(task.payload, **self.settings, time_limit_s=task.limit_s)
        answer = told.to_dict()
        late = told.stop_reason == "time_limit" and task.cut
        return {
            "key": task.key,
            "status": told.status,
            "stop_reason": "deadline" if late else told.stop_reason,
            "seconds": time.perf_counter() - began,
            "message": answer.get("message") or "",
            "text": str(told),
            "answer": answer,
            # What a limit of the job, an error or an interrupt left open is asked again.
            "final": not late and told.stop_reason not in ("error", "interrupted"),
        }

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        """See :class:`portfolio.running.work.Work`."""
        return self.unanswered(task.key, message, "time_limit" if late else "error")

    def unanswered(self, key: str, message: str, reason: str) -> Record:
        """See :class:`portfolio.batch.work.BatchWork`."""
        return {
            "key": key,
            "status": "unknown",
            "stop_reason": reason,
            "seconds": 0.0,
            "message": message,
            "text": message,
            "answer": {},
            "final": False,
        }

    def table(self, rows: BatchRows, records: Sequence[Record]) -> pd.DataFrame:
        """See :meth:`portfolio.explainer.Explainer.ask_batch`."""
        own = {name: [r[name] for r in records] for name in ("status", "stop_reason", "seconds")}
        words = {name: [r[name] for r in records] for name in ("message", "text")}
        answers = [r["answer"] for r in records]
        names = dict.fromkeys(name for answer in answers for name in answer if name not in FIELDS)
        told = {name: [_in_a_cell(answer.get(name)) for answer in answers] for name in names}
        return pd.DataFrame({"id": rows.ids(), **own, **told, **words})


def _in_a_cell(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(item, Plain) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, Plain) else json.dumps(value, allow_nan=False)
