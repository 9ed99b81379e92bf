"""Conversion of rows to records of their answers, the work of a batch."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError, NothingAdmissibleError
from encoders.query.goal import Wanted
from portfolio.engine.ask import Asker
from portfolio.engine.logbook import Log
from portfolio.engine.question import Options, Question
from portfolio.engine.series import Series
from portfolio.model.batch_rows import BatchRows
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import own_number, wanted_of
from portfolio.model.lent import Deferral, lending
from portfolio.model.row import Row
from portfolio.results.codec import encode
from portfolio.results.result import Result
from portfolio.workers.small_batches import settled
from portfolio.workers.work import Record, Task, Work, in_a_sentence

FIELDS = frozenset(
    ("key", "status", "stop_reason", "distance", "bound", "backend", "target", "seconds",
     "changed", "message", "row", "final")
)  # fmt: skip

PREFIX = "cf_"


def batch_scores(
    model: ExplainedModel,
    asked: Any,
    targets: Sequence[Any],
    queries: Sequence[FloatArray | str],
    answers: Sequence[FloatArray | None],
) -> tuple[FloatArray, FloatArray]:
    """Return :attr:`Result.score_before` and :attr:`Result.score` of each row, float64 (n_rows,).

    They are computed from rows and answers, because records do not contain them.
    """
    before, after = np.full(len(targets), np.nan), np.full(len(targets), np.nan)
    if model.aim is not None:  # numbers are those of the first output
        first = next(iter(model.aim.values()))
        targets = [None if each is None else first for each in targets]
        return batch_scores(replace(model, aim=None), first, targets, queries, answers)
    wanted = wanted_of(model, asked)
    places: dict[Any, list[int]] = {}
    for place, (target, query) in enumerate(zip(targets, queries, strict=True)):
        if target is not None and not isinstance(query, str):
            places.setdefault(target, []).append(place)
    for target, of_target in places.items():
        try:
            number = own_number(model, target if wanted is None else wanted)
        except InputError:
            continue  # a label that JSON does not preserve
        assert number is not None
        rows = np.array([queries[place] for place in of_target], dtype=np.float64)
        before[of_target] = model.native.values(rows, *number)
        with_answer = [place for place in of_target if answers[place] is not None]
        if with_answer:
            rows = np.array([answers[place] for place in with_answer], dtype=np.float64)
            after[with_answer] = model.native.values(rows, *number)
    return before, after


@dataclass(frozen=True, eq=False)
class Job:
    """Query with the same settings for many rows; a :class:`portfolio.workers.work.Work`.

    Attributes
    ----------
    options : options of each query; the time limit is that of each task.
    log : training log, see :meth:`Explainer.explain`.
    proof_mb : maximum megabytes of the proof in each answer's record, which is made in the seconds
        that remain; None for no records.
    """

    asker: Asker
    question: Question
    options: Options
    log: Log | None
    proof_mb: float | None = None

    def warm_up(self, task: Task) -> None:
        """See :class:`portfolio.workers.work.Work`."""
        replace(self, log=None).answer(replace(task, limit_s=1e-3))

    def answer(self, task: Task) -> Record:
        """Return the record of one row; it contains the error if one occurs."""
        try:
            began = time.perf_counter()
            result = self._result(task)
            return _record(task, result) | self._with_proof(task, result, began + task.limit_s)
        except NothingAdmissibleError as error:
            return self._without(task.key, str(error))
        except Exception as error:  # one row must not end the job
            return self.unanswered(task.key, in_a_sentence(error), "error")

    def answer_briefly(self, task: Task, limit_s: float) -> Record | None:
        """See :class:`portfolio.workers.small_batches.BriefWork`."""
        if self.log is not None:  # a log would contain the short attempt as well
            return None
        record = settled(self, task, limit_s)
        lacks_proof = record is not None and record.get("why_no_proof", "") != ""
        return None if lacks_proof and limit_s < task.limit_s else record

    def together(self) -> "JobTogether | None":
        """See :class:`portfolio.workers.work.GatheringWork`.

        Logs and proofs need a verified answer at once, so they rule this out.
        """
        if self.log is not None or self.proof_mb is not None:
            return None
        deferral: Deferral[tuple[Task, Record]] = Deferral()
        asker = replace(self.asker, model=lending(self.asker.model, deferral.loans))
        return JobTogether(replace(self, asker=asker), deferral)

    def _with_proof(self, task: Task, result: Result, ends: float) -> Record:
        if self.proof_mb is None:
            return {}
        made = result.record(max(0.0, ends - time.perf_counter()), proof_mb=self.proof_mb)
        members: Record = {"record": made.to_dict(), "why_no_proof": made.why_not}
        # A row that the deadline of the job cut short is solved again on resume.
        late = task.cut and not made.proved and time.perf_counter() >= ends
        return members | ({"final": False} if late else {})

    def _without(self, key: str, message: str) -> Record:
        """Return the record of a row whose constraints admit no answer, proved without a solver."""
        votes = self.asker.model.ensemble.votes
        return self.unanswered(key, message, "proved") | {
            "status": "infeasible",
            "bound": None,
            "margin": self.question.lead(votes),
            "final": True,
        }

    def _result(self, task: Task) -> Result:
        options = replace(self.options, time_limit_s=task.limit_s)
        row = Row(task.payload)
        if options.tie_break:
            return Series(self.asker, row, self.question, options, log=self.log).ask([])
        strategy = self.asker.strategy(self.question, options)
        return self.asker.ask(self.question, options, row, strategy, log=self.log)

    def lost(self, task: Task, message: str, late: bool = False) -> Record:
        """See :class:`portfolio.workers.work.Work`."""
        return self.unanswered(task.key, message, "time_limit" if late else "error")

    def unanswered(self, key: str, message: str, reason: str) -> Record:
        """See :class:`portfolio.batch.run.BatchWork`."""
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
            **({} if self.proof_mb is None else {"record": None, "why_no_proof": message}),
        }

    @property
    def fields(self) -> frozenset[str]:
        """See :class:`portfolio.batch.run.BatchWork`."""
        return FIELDS

    @property
    def on_disk(self) -> frozenset[str]:
        """See :class:`portfolio.batch.run.BatchWork`."""
        return frozenset(("record",))

    def table(self, rows: BatchRows, records: Sequence[Record]) -> pd.DataFrame:
        """See :meth:`portfolio.api.explainer.Explainer.explain_batch`."""
        width = len(rows.columns)
        values = np.array([r["row"] or [np.nan] * width for r in records], dtype=np.float64)
        values = values.reshape(len(records), width)
        before, after = batch_scores(
            self.asker.model,
            self.question.target,
            [r["target"] for r in records],
            rows.values,
            [row if r["row"] else None for r, row in zip(records, values, strict=True)],
        )
        frame = pd.DataFrame(
            {
                "id": rows.ids(),
                **{name: [r[name] for r in records] for name in ("status", "stop_reason")},
                **{name: _floats(records, name) for name in ("distance", "bound")},
                "margin": [r.get("margin", np.nan) for r in records],
                **{name: [r[name] for r in records] for name in ("backend", "target")},
                "seconds": _floats(records, "seconds"),
                "changed": [", ".join(r["changed"]) for r in records],
                "message": [r["message"] for r in records],
                "score_before": before,
                "score": after,
            }
        )
        if self.proof_mb is not None:
            frame["why_no_proof"] = [r["why_no_proof"] for r in records]
        answers = rows.answered(
            [row if r["row"] else None for r, row in zip(records, values, strict=True)]
        )
        return pd.concat([frame, answers.add_prefix(PREFIX)], axis=1)


@dataclass(frozen=True, eq=False)
class JobTogether:
    """Collector of records until the model has verified them.

    A :class:`portfolio.workers.work.Together`.
    """

    job: Work  # work whose predictions are computed from the parsed trees at first
    deferral: Deferral[tuple[Task, Record]]  # records that the model has not verified

    def take(self, task: Task) -> None:
        """See :class:`portfolio.workers.work.Together`."""
        self.deferral.add(lambda: (task, self.job.answer(task)))

    def settle(self) -> tuple[list[tuple[Task, Record]], list[Task]]:
        """See :class:`portfolio.workers.work.Together`; rejected rows are solved alone."""
        good, wrong, share_s = self.deferral.settle()
        records = [(task, each | {"seconds": each["seconds"] + share_s}) for task, each in good]
        return records, [task for task, _ in wrong]


def _record(task: Task, result: Result) -> Record:
    row = result.counterfactual
    late = result.stop_reason == "time_limit" and task.cut
    return {
        "key": task.key,
        "status": result.status,
        "stop_reason": "deadline" if late else result.stop_reason,
        "distance": encode(result.distance),
        "bound": encode(result.lower_bound),
        "margin": result.margin,
        "backend": result.backend,
        "target": _plain(result.target),
        "seconds": result.timings.total,
        "changed": [change.feature for change in result.changed],
        "message": result.message,
        "row": None if row is None else encode(np.asarray(row).tolist()),
        # A row that the deadline, an error or an interrupt left open is solved again on resume.
        "final": not late and result.stop_reason not in ("error", "interrupted"),
    }


def _plain(label: Any) -> Any:
    if isinstance(label, Wanted):
        return str(label)
    return label.item() if isinstance(label, np.generic) else label


def _floats(records: Sequence[Record], name: str) -> FloatArray:
    return np.array([np.inf if r[name] is None else r[name] for r in records], dtype=np.float64)
