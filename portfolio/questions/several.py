"""Several answers to one question, each the cheapest that differs from those before."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, overload

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
from encoders.query.constraints import MaxChanges
from portfolio.question import Options, Question
from portfolio.questions.interruptible import interruptible
from portfolio.questions.series import Series
from portfolio.result import Result, as_plain
from portfolio.solving.ask import Asker, check_progress
from portfolio.solving.progress import OnProgress

MOST = 1000  # answers; nobody reads more


@dataclass(frozen=True)
class Several(Sequence[Result]):
    """Answers by ascending cost, of which none changes all that an earlier one changes.

    A sequence of :class:`portfolio.result.Result`.

    Attributes
    ----------
    status : "optimal": each is proved to be the cheapest that differs from those before, and
        there are as many as were asked for, or proved to be no more; "feasible": the last one, or
        that there are no more, is not proved; "infeasible": there is no answer at all (proved);
        "unknown": none was found
    stop_reason : of the last question that was asked
    answers : the cheapest first
    complete : there are no more (proved)
    target : that was asked for
    seconds : from the call to the last answer
    message : why the last answer is weaker than a proof, "" if it is not
    """

    status: Status
    stop_reason: StopReason
    answers: tuple[Result, ...]
    complete: bool
    target: Any
    seconds: float
    message: str = ""

    def __len__(self) -> int:
        return len(self.answers)

    @overload
    def __getitem__(self, at: int) -> Result: ...

    @overload
    def __getitem__(self, at: slice) -> Sequence[Result]: ...

    def __getitem__(self, at: int | slice) -> Result | Sequence[Result]:
        return self.answers[at]

    def __iter__(self) -> Iterator[Result]:
        return iter(self.answers)

    def table(self) -> pd.DataFrame:
        """One row per answer: status, distance, lower_bound, changes (names of features)."""
        rows = [
            (a.status, a.distance, a.lower_bound, tuple(c.feature for c in a.changed))
            for a in self.answers
        ]
        return pd.DataFrame(rows, columns=["status", "distance", "lower_bound", "changes"])

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        plain: dict[str, Any] = as_plain(
            {
                "status": self.status,
                "stop_reason": self.stop_reason,
                "complete": self.complete,
                "target": self.target,
                "seconds": self.seconds,
                "message": self.message,
            }
        )
        return plain | {"answers": [answer.to_dict() for answer in self.answers]}

    def to_json(self) -> str:
        """:meth:`to_dict` as one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def __str__(self) -> str:
        if not self.answers:
            sure = "Infeasible: there is no answer (proved)."
            unsure = f"Unknown: no answer found; stopped by: {self.stop_reason}. {self.message}"
            return sure if self.status == "infeasible" else unsure.strip()
        lines = [line for at, answer in enumerate(self.answers, 1) for line in _lines(at, answer)]
        if self.complete:
            lines.append("There are no other answers: each changes all that one of these changes.")
        elif self.status == "feasible" and self.answers[-1].status == "optimal":
            lines.append("Whether there are others is not known.")
        return "\n".join(lines)


def _lines(at: int, answer: Result) -> list[str]:
    """An answer in words; but for the first, what is proved is about those that are left."""
    if at == 1 or not answer.changed:
        first, *rest = str(answer).splitlines()
        return [f"{at}. {first}", *rest]
    sure = "proved: no other is cheaper"
    if answer.status != "optimal":
        sure = f"any other costs at least {answer.lower_bound:.6g}"
    headline = f"{at}. Distance {answer.distance:.6g} ({sure}). {answer.scored}".rstrip()
    return [headline, *(f"- {change}" for change in answer.told)]


@interruptible
def find_several(
    asker: Asker,
    x: Any,
    question: Question,
    options: Options,
    k: int,
    on_progress: OnProgress | None = None,
) -> Several:
    """The cheapest answers of which none changes all that an earlier one changes.

    After each answer a limit on changes among its features is added. What is left out needs no
    thought: with an answer, every row that changes the same features and more is left out too, and
    a row that changes a feature without crossing a threshold is never cheaper than one that does
    not.

    Parameters
    ----------
    asker : of the user's explainer
    x : a row in any shape that users may give
    question : each answer is one to it
    options : the time limit is for all answers together
    k : how many at most
    on_progress : told (seconds, upper, lower) of the answer under way

    Raises
    ------
    InputError
        The row, the question or ``k`` can't be used.
    """
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST:
        raise InputError(f"k must be a whole number from 1 to {MOST}, got {k!r}.")
    check_progress(on_progress)
    series = Series(asker, asker.read(x), question, options, on_progress=on_progress)
    found: list[Result] = []
    others: list[MaxChanges] = []
    complete = False
    while True:
        last = series.ask(others)
        if math.isfinite(last.distance):
            found.append(last)
            names = tuple(change.feature for change in last.changed)
            others.append(MaxChanges(len(names) - 1, names) if names else MaxChanges(0))
        complete = last.status == "infeasible" or (bool(found) and not found[-1].changed)
        if complete or last.status != "optimal" or len(found) == k or series.over:
            break
    proved = complete or (last.status == "optimal" and len(found) == k)
    status: Status = "optimal" if proved else "feasible"
    if not found:
        status = last.status
    cut = not proved and last.status == "optimal"
    return Several(
        status=status,
        stop_reason=series.asker.why if cut else last.stop_reason,
        answers=tuple(found),
        complete=complete,
        target=question.target,
        seconds=series.seconds,
        message=last.message,
    )
