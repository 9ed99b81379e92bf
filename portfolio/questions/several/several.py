"""Several answers to one question, each the cheapest that differs from those before."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
from encoders.query.constraints import Constraint, MaxChanges
from encoders.query.relations import Forbidden
from portfolio.as_json import as_plain
from portfolio.question import Options, Question, check_progress
from portfolio.questions.interruptible import interruptible
from portfolio.questions.series import LEAST_S, Series
from portfolio.questions.several.answer_list import AnswerList
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress

if TYPE_CHECKING:
    from portfolio.questions.region.region import Region

Different = Literal["features", "region"]
MOST = 1000  # answers; nobody reads more
NO_MORE = {
    "features": "There are no other answers: each changes all that one of these changes.",
    "region": "There are no other answers: each lies in the region of one of these.",
}


@dataclass(frozen=True)
class Several(AnswerList):
    """Answers by ascending cost, of which each differs from all before.

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
    different : "features": none changes all that an earlier one changes; "region": none lies in the
        region of an earlier one
    regions : of all answers that another one was asked for after; none where features differ
    """

    status: Status
    stop_reason: StopReason
    answers: tuple[Result, ...]
    complete: bool
    target: Any
    seconds: float
    message: str = ""
    different: Different = "features"
    regions: "tuple[Region, ...]" = ()

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
                "different": self.different,
            }
        )
        plain["regions"] = [region.to_dict() for region in self.regions]
        return plain | {"answers": [answer.to_dict() for answer in self.answers]}

    def __str__(self) -> str:
        if not self.answers:
            return self.nothing(self.status, self.stop_reason, self.message)
        lines = [line for at, answer in enumerate(self.answers, 1) for line in _lines(at, answer)]
        if self.complete:
            lines.append(NO_MORE[self.different])
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
    different: Different = "features",
    on_progress: OnProgress | None = None,
) -> Several:
    """The cheapest answers, each the cheapest of all rows that differ from the answers before.

    Where features are to differ, a limit on changes among an answer's features is added after it.
    What is left out needs no thought: with an answer, every row that changes the same features and
    more is left out too, and a row that changes a feature without crossing a threshold is never
    cheaper than one that does not. Where regions are to differ, the box around an answer is
    forbidden.
    """
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST:
        raise InputError(f"k must be a whole number from 1 to {MOST}, got {k!r}.")
    if different not in get_args(Different):
        raise InputError(f"different must be 'features' or 'region', got {different!r}.")
    check_progress(on_progress)
    series = Series(asker, asker.read(x), question, options, on_progress=on_progress)
    found: list[Result] = []
    others: list[Constraint] = []
    regions: list[Region] = []
    complete = False
    while True:
        last = series.ask(others)
        complete = last.status == "infeasible"
        if last.verified:
            found.append(last)
            complete = different == "features" and not last.changed
        if complete or last.status != "optimal" or len(found) == k or series.over:
            break
        if different == "region":
            regions.append(_region(series, last))
            others.append(Forbidden(*(span.condition() for span in regions[-1].spans)))
        else:
            names = tuple(change.feature for change in last.changed)
            others.append(MaxChanges(len(names) - 1, names))
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
        different=different,
        regions=tuple(regions),
    )


def _region(series: Series, answer: Result) -> "Region":
    """The region of an answer; any box around it will do where there is little time."""
    options = series.options
    left = max(options.time_limit_s - series.seconds, LEAST_S)
    assert answer.regional is not None
    stop = series.asker.stop  # or the step would not hear what ends the question
    drawn: Region = answer.regional(None, left, options.threads, options.seed, None, stop=stop)
    return drawn
