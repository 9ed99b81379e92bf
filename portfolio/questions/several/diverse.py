"""Counterfactuals of almost minimal cost that are as different as possible."""

from dataclasses import dataclass
from typing import Any

import pandas as pd

from encoders.backends.interface import Status, StopReason
from portfolio.questions.several.answer_list import AnswerList
from portfolio.results.printing import (
    DIGITS,
    MOST_DIGITS,
    at_least,
    at_most,
    counted,
    short,
    wrapped,
)
from portfolio.results.result import Result


@dataclass(frozen=True)
class Diverse(AnswerList):
    """Counterfactuals that are far apart, by ascending cost.

    A sequence of :class:`portfolio.results.result.Result`. The distance between two answers is the
    cost of one of them if the other is the query.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal" if no set of this many answers within :attr:`limit` is farther apart, or there are
        no other answers (proved). "feasible" if only :attr:`upper_bound` is proved. "infeasible" if
        no answer exists (proved). "unknown" if none was found.
    stop_reason : str
        Reason why the search ended.
    answers : tuple of Result
        Answers, the cheapest first.
    within : float
        Largest additional cost, as a share of the minimal cost.
    limit : float
        Largest cost of an answer.
    apart : float
        Smallest distance between two of the answers; inf for fewer than two.
    upper_bound : float
        Proved upper bound on the smallest distance in any set of this many answers; inf if unknown.
    complete : bool
        Whether it is proved that no other answers are within the limit.
    listed : int or None
        Number of all answers within the limit; None if unknown.
    target : label or goal
        Requested target; None for any other class.
    seconds : float
        Time from the call to the last answer.
    message : str
        Reason why the status is weaker than a proof, or "".

    Examples
    --------
    >>> diverse = explainer.diverse(row, k=2)
    >>> len(diverse), diverse.complete
    (2, True)
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
        """Return one row per answer: status, distance and changes.

        Returns
        -------
        DataFrame
            The column ``changes`` has tuples of feature names.

        Examples
        --------
        >>> explainer.diverse(row, k=2, within=0.5).table()[["distance", "changes"]]
           distance        changes
        0  0.103825      (income,)
        1  0.127546  (age, income)
        """
        rows = [(a.status, a.distance, tuple(change.feature for change in a.changed)) for a in self]
        return pd.DataFrame(rows, columns=["status", "distance", "changes"])

    def __str__(self) -> str:
        if not self.answers:
            return self.nothing(self.status, self.stop_reason, self.message)
        lines = [*self._headline(), *([self.message] if self.message else [])]
        for at, answer in enumerate(self.answers, 1):
            lines.append(f"{at}. Distance {short(answer.distance)}. {answer.scored}".rstrip())
            lines += [f"- {change}" for change in answer.told]
        return wrapped(lines)

    def _reach(self) -> str:
        """Return the limit rounded down, with enough digits that no answer lies beyond it."""
        farthest = max(answer.distance for answer in self.answers)
        rounded = (at_least(self.limit, digits) for digits in range(DIGITS, MOST_DIGITS + 1))
        return next((words for words in rounded if float(words) >= farthest), repr(self.limit))

    def _headline(self) -> list[str]:
        count = counted(len(self), "answer")
        within = f"{count} at distance {self._reach()} or less"
        if self.complete:
            return [f"{within}: no others exist (proved)."]
        if len(self) < 2:
            return [f"{within}; there may be others."]
        lower = at_least(self.apart)
        apart = f"They are at least {lower} apart"
        if self.status == "optimal":
            return [
                f"{within}.",
                f"{apart} (proved: no {len(self)} such answers are farther apart).",
            ]
        bound = f"at most {at_most(self.upper_bound)} is possible; stop reason: {self.stop_reason}"
        return [f"{within}.", f"{apart} ({bound})."]
