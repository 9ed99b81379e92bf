"""Batches of any question about one row."""

import inspect
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd

from encoders.close_names import close_names
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
BATCH_SETTINGS = frozenset(("time_limit_s", "threads", "seed", "on_progress"))
Plain = str | int | float | None


class _QuestionsOf(Questions):
    """Question methods of an asker, without an explainer."""

    def __init__(self, asker: Asker) -> None:
        self._asker = asker


def settings_of(question: str) -> frozenset[str]:
    """Return the names of a question method's settings, except the row and batch settings."""
    parameters = {
        name: frozenset(inspect.signature(method).parameters)
        for name, method in inspect.getmembers(Questions, inspect.isfunction)
        if not name.startswith("_")
    }
    about_rows = {key: names for key, names in parameters.items() if {"x", "time_limit_s"} <= names}
    if question == "explain":
        raise InputError("ask_batch() does not support 'explain'. Use explain_batch().")
    if question not in about_rows:
        raise InputError(
            f"unknown question {question!r}.{close_names(question, about_rows)} Use one of "
            f"{', '.join(about_rows)}."
        )
    return about_rows[question] - BATCH_SETTINGS - {"self", "x"}


@dataclass(frozen=True, eq=False)
class QuestionJob:
    """Work of a batch that calls one question method; see :class:`portfolio.batch.work.BatchWork`.

    Attributes
    ----------
    question : name of a question method of :class:`portfolio.explainer.Explainer`.
    settings : arguments of the method other than the row, including threads and seed.
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
        """Return the record of one row; if the row fails, the record contains the error."""
        try:
            return self._record(task)
        except Exception as error:  # a row that fails must not end the batch
            return self.unanswered(task.key, in_a_sentence(error), "error")

    def answer_briefly(self, task: Task, limit_s: float) -> Record | None:
        """See :class:`portfolio.running.small_batches.BriefWork`."""
        return settled(self, task, limit_s)

    def _record(self, task: Task) -> Record:
        began = time.perf_counter()
        ask = getattr(_QuestionsOf(self.asker), self.question)
        result = ask(task.payload, **self.settings, time_limit_s=task.limit_s)
        answer = result.to_dict()
        late = result.stop_reason == "time_limit" and task.cut
        return {
            "key": task.key,
            "status": result.status,
            "stop_reason": "deadline" if late else result.stop_reason,
            "seconds": time.perf_counter() - began,
            "message": answer.get("message") or "",
            "text": str(result),
            "answer": answer,
            # Rows cut by the deadline, an error or an interrupt are solved again on resume.
            "final": not late and result.stop_reason not in ("error", "interrupted"),
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
        states = {name: [r[name] for r in records] for name in ("status", "stop_reason", "seconds")}
        words = {name: [r[name] for r in records] for name in ("message", "text")}
        answers = [r["answer"] for r in records]
        names = dict.fromkeys(name for answer in answers for name in answer if name not in FIELDS)
        members = {name: [_in_a_cell(answer.get(name)) for answer in answers] for name in names}
        return pd.DataFrame({"id": rows.ids(), **states, **members, **words})


def _in_a_cell(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(item, Plain) for item in value):
        return ", ".join(map(str, value))
    return value if isinstance(value, Plain) else json.dumps(value, allow_nan=False)
