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
    ask : Ask, the question
    found : Result, the answer
    wanted : Wanted, optional parts to include
    native : NativeModel, the explained model
    loans : Loans, predictions of the trees that need verification
    records : tuple of LogRecord, records for the training log, empty if logging is off
    """

    ask: Ask
    found: Result
    wanted: Wanted
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
        times = self.found.timings
        verify, total = times.verify + seconds, times.total + seconds
        # In place, to keep its cached properties.
        self.found.__dict__.update(timings=replace(times, verify=verify, total=total))
        records = [
            replace(own, verify_s=own.verify_s + seconds, total_s=own.total_s + seconds)
            for own in self.records
        ]
        return replace(self, records=tuple(records))


def confirm(held: Sequence[Held]) -> list[Held]:
    """Return the answers that the models confirm; the time is divided equally between answers."""
    began = time.perf_counter()
    wrong = _contradicted(held)
    share_s = (time.perf_counter() - began) / len(held)
    return [each.charged(share_s) for each in held if each.ask.number not in wrong]


def _contradicted(held: Sequence[Held]) -> set[int]:
    """Return the numbers of questions with a contradicted answer; set the scores of all answers."""
    native, wrong = held[0].native, set[int]()
    asked = {_number(own) for _, own in _scorings(held)}
    at_once = native.likeliest and {scale for scale, _ in asked} == {"probability"}
    for model in {native, *(own for each in held for own in each.loans.rows)}:
        claims = [claim for each in held for claim in each.unverified(model)]
        rows = [row for row, _, _ in claims]
        if at_once and model is native:
            said = _classes_and_scores(native, rows, held)
        elif rows:
            said = model.predict(np.array(rows))
        else:
            continue
        differ = said != [label for _, label, _ in claims]
        wrong.update(claims[at][2] for at in np.flatnonzero(differ))
    for scale, output in () if at_once else asked:
        same = [pair for pair in _scorings(held) if _number(pair[1]) == (scale, output)]
        _tell(same, native.values(_rows(same), scale, output))
    return wrong


def _classes_and_scores(
    native: NativeModel, rows: list[FloatArray], held: Sequence[Held]
) -> IntArray:
    """Return the most probable class index of each row, int (n_rows,); set the scores."""
    scorings = _scorings(held)
    told = native.probabilities(np.array([*rows, *_rows(scorings)]))
    outputs = [own.output for _, own in scorings for _ in own.rows]
    _tell(scorings, told[len(rows) :][np.arange(len(outputs)), outputs])
    said: IntArray = told[: len(rows)].argmax(axis=1)
    return said


def _scorings(held: Sequence[Held]) -> list[tuple[Result, Scoring]]:
    return [(own.found, own.found.scoring) for own in held if own.found.scoring is not None]


def _number(scoring: Scoring) -> tuple[Scale, int]:
    return scoring.scale, scoring.output


def _rows(scorings: Sequence[tuple[Result, Scoring]]) -> FloatArray:
    return np.array([row for _, scoring in scorings for row in scoring.rows])


def _tell(scorings: Sequence[tuple[Result, Scoring]], numbers: FloatArray) -> None:
    """Cache the scores, one number per row, in the results."""
    left = iter(numbers.tolist())
    for found, scoring in scorings:
        before, after, *_ = (*islice(left, len(scoring.rows)), None)
        found.__dict__.update(score_before=before, score=after)
