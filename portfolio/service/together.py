"""Answers of several questions, which the model verifies and scores together."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np

from encoders.core.arrays import IntArray
from encoders.core.errors import InputError
from encoders.query.goal import Scale
from portfolio.api.explainer import Explainer
from portfolio.api.variants import asker_of, with_asker
from portfolio.engine.logbook import PendingLogbook
from portfolio.model.lent import Claims, Deferral, LentModel, lending
from portfolio.model.native import NativeModel, Scoring
from portfolio.questions.codec import decode_settings
from portfolio.results.result import Computed, Result, scores_sentence
from portfolio.service.asking import Parts, first_attempt_s, reply_of
from portfolio.service.messages import Ask, Reply
from portfolio.workers.work import Task
from selector.logs.files import LogRecord, append

Scores = tuple[float | None, float | None]  # of the query, of the answer


@dataclass(frozen=True, eq=False)
class Unverified:
    """An answer that the model has not verified yet."""

    task: Task  # the question
    result: Result  # the answer
    parts: Parts  # optional parts to include
    records: list[LogRecord]  # records for the training log, empty if logging is off
    attempts_at_s: float  # start of the first attempt on the clock ``time.time()``

    def verified(self, scores: Scores, seconds: float) -> Result:
        """Return the result with its scores and the seconds of verification, also logged."""
        self.records[:] = [
            replace(record, verify_s=record.verify_s + seconds, total_s=record.total_s + seconds)
            for record in self.records
        ]
        result, times, (before, after) = self.result, self.result.timings, scores
        return replace(
            result,
            timings=replace(times, verify=times.verify + seconds, total=times.total + seconds),
            computed=Computed(
                after,
                before,
                scores_sentence(result.scoring, before, after),
                result.told if self.parts.text else None,
                result.rounded if self.parts.rounded else None,
            ),
        )


@dataclass(frozen=True, eq=False)
class JointAnswers:
    """Answers of an explainer that predicts with the parsed trees, until the model verifies them.

    A :class:`portfolio.workers.work.Together`.
    """

    explainer: Explainer  # copy with deferred native predictions
    stop_of: Callable[[Task], threading.Event]  # function that returns the event that stops a task
    deferral: Deferral[Unverified]  # answers that the model has not verified
    _logging: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def of(cls, explainer: Explainer, stop_of: Callable[[Task], threading.Event]) -> Self:
        """Return joint answers of a copy of an explainer."""
        deferral: Deferral[Unverified] = Deferral()
        asker = asker_of(explainer)
        deferring = replace(asker, model=lending(asker.model, deferral.loans))
        return cls(with_asker(explainer, deferring), stop_of, deferral)

    def take(self, task: Task) -> None:
        """See :class:`portfolio.workers.work.Together`."""
        self.deferral.add(partial(self._solve, task))

    def _solve(self, task: Task) -> Unverified:
        ask: Ask = task.payload
        arguments = decode_settings(ask.arguments, self.explainer.classes)
        parts = Parts.taken_from(arguments)
        records: list[LogRecord] = []
        if ask.log is not None:
            arguments["log"] = PendingLogbook(ask.log.folder, ask.log.dataset, records=records)
        began_s = time.time()
        result = self.explainer.until(self.stop_of(task)).explain(**arguments)
        attempts_at_s = first_attempt_s(result, began_s)
        for name, needed in (("rounded", parts.rounded), ("told", parts.text)):
            if needed:
                getattr(result, name)  # computed and cached now, while predictions are deferred
        return Unverified(task, result, parts, records, attempts_at_s)

    def settle(self) -> tuple[list[tuple[Task, Reply]], list[Task]]:
        """See :class:`portfolio.workers.work.Together`."""
        scores: dict[str, Scores] = {}
        good, wrong, share_s = self.deferral.settle(partial(_predict, scores))
        replies: list[tuple[Unverified, Reply]] = []
        for each in good:
            result = each.verified(scores.get(each.task.key, (None, None)), share_s)
            try:
                replies.append((each, reply_of(result, each.parts)))
            except Exception:  # asked alone, the question reports its error
                wrong.append(each)
        complaint = self._log([each for each, _ in replies])
        answers = [
            (each.task, replace(reply, complaint=complaint, attempts_at_s=each.attempts_at_s))
            for each, reply in replies
        ]
        return answers, [each.task for each in wrong]

    def _log(self, answers: Sequence[Unverified]) -> str:
        """Log answers, one write per folder; return the error message, "" if there is none."""
        books: dict[Path, list[LogRecord]] = {}
        for each in answers:
            book = each.task.payload.log
            if book is not None:
                books.setdefault(book.folder, []).extend(each.records)
        try:
            with self._logging:
                for folder, records in books.items():
                    append(folder, records)
        except InputError as error:
            return str(error)
        return ""


def _predict(
    scores: dict[str, Scores], answers: Sequence[Unverified], claims: Claims
) -> dict[NativeModel, IntArray]:
    """Fill the scores of each question, by its number, with few calls of the model.

    Where the model's class is the most probable one, a call for probabilities also predicts the
    rows that need verification. Return these class indices by model.
    """
    predicted: dict[NativeModel, IntArray] = {}
    scorings = [
        (each.task.key, each.result.scoring) for each in answers if each.result.scoring is not None
    ]
    for kind in {_kind(scoring) for _, scoring in scorings}:
        native, scale, output = kind
        same = [pair for pair in scorings if _kind(pair[1]) == kind]
        rows = [row for _, scoring in same for row in scoring.rows]
        if scale == "probability":
            claimed = [row for row, _ in claims.get(native, [])] if native.likeliest else []
            table = native.probabilities(np.array([*claimed, *rows]))
            outputs = [scoring.output for _, scoring in same for _ in scoring.rows]
            numbers = table[len(claimed) :][np.arange(len(outputs)), outputs]
            if claimed:
                predicted[native] = table[: len(claimed)].argmax(axis=1)
        else:
            numbers = native.values(np.array(rows), scale, output)
        remaining = iter(numbers.tolist())
        for number, scoring in same:
            before, after, *_ = (*islice(remaining, len(scoring.rows)), None)
            scores[number] = before, after
    return predicted


def _kind(scoring: Scoring) -> tuple[NativeModel, Scale, int]:
    """Return what scores of one call have in common: probabilities of all classes come together."""
    native = scoring.native.own if isinstance(scoring.native, LentModel) else scoring.native
    return native, scoring.scale, -1 if scoring.scale == "probability" else scoring.output
