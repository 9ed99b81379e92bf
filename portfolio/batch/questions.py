"""Batches of any question about one row."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import pandas as pd

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from portfolio.engine.ask import Asker
from portfolio.engine.series import LEAST_S
from portfolio.model.batch_rows import BatchRows
from portfolio.questions.records import QuestionType, question_named
from portfolio.workers.small_batches import settled
from portfolio.workers.work import Record, Task, in_a_sentence

FIELDS = frozenset(
    ("key", "status", "stop_reason", "seconds", "message", "text", "answer", "final")
)
BATCH_SETTINGS = frozenset(("time_limit_s", "threads", "seed"))
Plain = str | int | float | None


def settings_of(question: str) -> frozenset[str]:
    """Return the names of a question's settings, except those of a batch."""
    if question == "explain":
        raise InputError("ask_batch() does not support 'explain'. Use explain_batch().")
    record = question_named(question)
    if record.table:
        raise InputError(f"ask_batch() does not support {question!r}, which is about a table.")
    return frozenset(each.name for each in fields(record)) - BATCH_SETTINGS


def checked_record(question: str, settings: Mapping[str, Any]) -> QuestionType:
    """Return the record of a question with some settings; raise InputError if one is unknown."""
    names, record = sorted(settings_of(question)), question_named(question)
    if unknown := sorted(settings.keys() - set(names)):
        raise InputError(
            f"{question} has no setting {unknown[0]!r} in a batch."
            f"{close_names(unknown[0], names)} Use one of {', '.join(names)}."
        )
    needed = {each.name for each in fields(record) if each.default is MISSING}
    if missing := sorted(needed - settings.keys()):
        raise InputError(f"{question} needs the setting {missing[0]!r}. Pass {missing[0]}=...")
    return record(**settings)


@dataclass(frozen=True, eq=False)
class QuestionJob:
    """Work of a batch of one question; see :class:`portfolio.batch.run.BatchWork`."""

    asker: Asker  # asker of the model
    question: QuestionType  # question with its settings; the time limit is that of each row

    @property
    def fields(self) -> frozenset[str]:
        """See :class:`portfolio.batch.run.BatchWork`."""
        return FIELDS

    @property
    def on_disk(self) -> frozenset[str]:
        """See :class:`portfolio.batch.run.BatchWork`."""
        return frozenset()

    def warm_up(self, task: Task) -> None:
        """See :class:`portfolio.workers.work.Work`."""
        self.answer(replace(task, limit_s=LEAST_S))

    def answer(self, task: Task) -> Record:
        """Return the record of one row; if the row fails, the record contains the error."""
        try:
            return self._record(task)
        except Exception as error:  # a row that fails must not end the batch
            return self.unanswered(task.key, in_a_sentence(error), "error")

    def answer_briefly(self, task: Task, limit_s: float) -> Record | None:
        """See :class:`portfolio.workers.small_batches.BriefWork`."""
        return settled(self, task, limit_s)

    def _record(self, task: Task) -> Record:
        began = time.perf_counter()
        question = replace(self.question, time_limit_s=task.limit_s)
        result = question.solve(self.asker, task.payload)
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
        """See :class:`portfolio.workers.work.Work`."""
        return self.unanswered(task.key, message, "time_limit" if late else "error")

    def unanswered(self, key: str, message: str, reason: str) -> Record:
        """See :class:`portfolio.batch.run.BatchWork`."""
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
        """See :meth:`portfolio.api.explainer.Explainer.ask_batch`."""
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
