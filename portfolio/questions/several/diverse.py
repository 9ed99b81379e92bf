"""Answers that cost little more than the cheapest, and are as far apart as such answers get."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from encoders.backends.interface import Status, StopReason
from portfolio.as_json import as_plain
from portfolio.questions.several.answer_list import AnswerList
from portfolio.result import Result


@dataclass(frozen=True)
class Diverse(AnswerList):
    """Answers that are far apart, by ascending cost.

    A sequence of :class:`portfolio.result.Result`. Two answers are as far apart as one costs if the
    other is the query.

    Attributes
    ----------
    status : "optimal": no so many answers that cost at most :attr:`limit` are farther apart, or
        there are no others (proved); "feasible": how far they may be apart is known by
        :attr:`upper_bound` alone; "infeasible": there is no answer at all (proved); "unknown": none
        was found
    stop_reason : why the search ended
    answers : the cheapest first
    within : share by which answers may cost more than the cheapest
    limit : what they may cost at most
    apart : the least distance between two of them; inf for fewer than two
    upper_bound : no so many answers have a larger least distance; inf if nothing is known
    complete : there are no others so cheap (proved)
    listed : how many answers cost at most the limit; None if that is not known
    target : that was asked for
    seconds : from the call to the last answer
    message : why the status is weaker than a proof, "" if it is not
    """

    status: Status
    stop_reason: StopReason
    answers: tuple[Result, ...]
    within: float
    limit: float
    apart: float
    upper_bound: float
    complete: bool
    listed: int | None
    target: Any
    seconds: float
    message: str = ""

    def table(self) -> pd.DataFrame:
        """One row per answer: status, distance, changes (names of features)."""
        rows = [(a.status, a.distance, tuple(change.feature for change in a.changed)) for a in self]
        return pd.DataFrame(rows, columns=["status", "distance", "changes"])

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        names = (
            *("status", "stop_reason", "within", "limit", "apart", "upper_bound", "complete"),
            *("listed", "target", "seconds", "message"),
        )
        plain: dict[str, Any] = as_plain({name: getattr(self, name) for name in names})
        return plain | {"answers": [answer.to_dict() for answer in self.answers]}

    def __str__(self) -> str:
        if not self.answers:
            return self.nothing(self.status, self.stop_reason, self.message)
        lines = [self._headline(), *([self.message] if self.message else [])]
        for at, answer in enumerate(self.answers, 1):
            lines.append(f"{at}. Distance {answer.distance:.6g}. {answer.scored}".rstrip())
            lines += [f"- {change}" for change in answer.told]
        return "\n".join(lines)

    def _headline(self) -> str:
        count = f"{len(self)} answer{'s' if len(self) > 1 else ''} at distance"
        so_cheap = f"{count} {self.limit:.6g} or less"
        if self.complete:
            return f"{so_cheap}: there are no others (proved)."
        if len(self) < 2:
            return f"{so_cheap}; whether there are others is not known."
        apart = f"{so_cheap}, {self.apart:.6g} or more from each other"
        if self.status == "optimal":
            return f"{apart} (proved: no {len(self)} such answers are farther apart)."
        bound = f"at most {self.upper_bound:.6g} is possible"
        return f"{apart} ({bound}; stopped by: {self.stop_reason})."
