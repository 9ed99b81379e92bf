"""Joint verification: one call of the model checks and scores many answers."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.query.goal import Scale
from portfolio.model.lent import Loans
from portfolio.model.native import NativeModel
from portfolio.model.scoring import Scoring
from portfolio.result import Result
from portfolio.service.asking import Wanted
from portfolio.service.messages import Ask
from selector.logs.record import LogRecord


@dataclass(frozen=True, eq=False)
class Held:
    """An answer that the model has not verified yet.

    Attributes
    ----------
    ask : Ask, the question.
    result : Result, the answer.
    parts : Wanted, optional parts to include.
    native : NativeModel, the explained model.
    loans : Loans, predictions of the trees that need verification.
    records : tuple of LogRecord, records for the training log, empty if logging is off.
    """

    ask: Ask
    result: Result
    parts: Wanted
    native: NativeModel
    loans: Loans
    records: tuple[LogRecord, ...] = ()

    def unverified(self, model: NativeModel) -> Iterator[tuple[FloatArray, int, int]]:
        """Yield (row, class predicted by the trees, number of the question) for a model."""
        rows, classes = self.loans.rows.get(model, ()), self.loans.classes.get(model, ())
        for row, label in zip(rows, classes, strict=True):
            yield row, label, self.ask.number

    def charged(self, seconds: float) -> "Held":
        """Add seconds of verification to the answer and to its log records."""
        times = self.result.timings
        verify, total = times.verify + seconds, times.total + seconds
        # In place, to keep its cached properties.
        self.result.__dict__.update(timings=replace(times, verify=verify, total=total))
        records = [
            replace(record, verify_s=record.verify_s + seconds, total_s=record.total_s + seconds)
            for record in self.records
        ]
        return replace(self, records=tuple(records))


def confirm(answers: Sequence[Held]) -> list[Held]:
    """Return the answers that the models confirm; the time is divided equally between answers."""
    began = time.perf_counter()
    wrong = _contradicted(answers)
    share_s = (time.perf_counter() - began) / len(answers)
    return [each.charged(share_s) for each in answers if each.ask.number not in wrong]


def _contradicted(answers: Sequence[Held]) -> set[int]:
    """Return the numbers of questions with a contradicted answer; set the scores of all answers."""
    native, wrong = answers[0].native, set[int]()
    outputs = {_number(scoring) for _, scoring in _scorings(answers)}
    at_once = native.likeliest and {scale for scale, _ in outputs} == {"probability"}
    for model in {native, *(other for each in answers for other in each.loans.rows)}:
        claims = [claim for each in answers for claim in each.unverified(model)]
        rows = [row for row, _, _ in claims]
        if at_once and model is native:
            predicted = _classes_and_scores(native, rows, answers)
        elif rows:
            predicted = model.predict(np.array(rows))
        else:
            continue
        differ = predicted != [label for _, label, _ in claims]
        wrong.update(claims[at][2] for at in np.flatnonzero(differ))
    for scale, output in () if at_once else outputs:
        same = [pair for pair in _scorings(answers) if _number(pair[1]) == (scale, output)]
        _tell(same, native.values(_rows(same), scale, output))
    return wrong


def _classes_and_scores(
    native: NativeModel, rows: list[FloatArray], answers: Sequence[Held]
) -> IntArray:
    """Return the most probable class index of each row, int (n_rows,); set the scores."""
    scorings = _scorings(answers)
    probabilities = native.probabilities(np.array([*rows, *_rows(scorings)]))
    outputs = [scoring.output for _, scoring in scorings for _ in scoring.rows]
    _tell(scorings, probabilities[len(rows) :][np.arange(len(outputs)), outputs])
    predicted: IntArray = probabilities[: len(rows)].argmax(axis=1)
    return predicted


def _scorings(answers: Sequence[Held]) -> list[tuple[Result, Scoring]]:
    return [
        (answer.result, answer.result.scoring)
        for answer in answers
        if answer.result.scoring is not None
    ]


def _number(scoring: Scoring) -> tuple[Scale, int]:
    return scoring.scale, scoring.output


def _rows(scorings: Sequence[tuple[Result, Scoring]]) -> FloatArray:
    return np.array([row for _, scoring in scorings for row in scoring.rows])


def _tell(scorings: Sequence[tuple[Result, Scoring]], numbers: FloatArray) -> None:
    """Cache the scores, one number per row, in the results."""
    remaining = iter(numbers.tolist())
    for result, scoring in scorings:
        before, after, *_ = (*islice(remaining, len(scoring.rows)), None)
        result.__dict__.update(score_before=before, score=after)
