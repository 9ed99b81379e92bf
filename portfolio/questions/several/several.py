"""Several counterfactuals, each the cheapest that differs from the earlier ones."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from encoders.query.constraints import Constraint, MaxChanges
from encoders.query.relations import Forbidden
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import check_progress
from portfolio.engine.series import LEAST_S, Series
from portfolio.questions.records import SeveralQuestion
from portfolio.questions.region.region import Region
from portfolio.questions.several.answer_list import AnswerList
from portfolio.results.printing import bounds, unwrapped, wrapped
from portfolio.results.result import Result

Different = Literal["features", "region"]
MOST = 1000  # answers; more would not be read
NO_MORE = {
    "features": "No more answers: any other one changes all features of one of these (proved).",
    "region": "No more answers: any other one lies in the region of one of these (proved).",
}


@dataclass(frozen=True)
class Several(AnswerList):
    """Counterfactuals by ascending cost, each different from all earlier ones.

    A sequence of :class:`portfolio.results.result.Result`.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal" if each answer is proved to be the cheapest that differs from the earlier ones. If
        there are fewer than requested, it is proved that there are no more. "feasible" if the last
        answer, or that there are no more, is not proved. "infeasible" if no answer exists (proved).
        "unknown" if none was found.
    stop_reason : str
        Reason why the last search ended.
    answers : tuple of Result
        Answers, the cheapest first.
    complete : bool
        Whether it is proved that there are no more answers.
    target : label or goal
        Requested target; None for any other class.
    seconds : float
        Time from the call to the last answer.
    message : str
        Reason why the last answer is weaker than a proof, or "".
    different : {"features", "region"}
        Criterion by which answers differ: none changes all features that an earlier one changes, or
        none lies in the region of an earlier one.
    regions : tuple of Region
        Regions of the earlier answers; empty if ``different`` is "features".

    Examples
    --------
    >>> several = explainer.several(row, k=5)
    >>> [answer.changed[0].feature for answer in several], several.complete
    (['income', 'age', 'housing'], True)
    """

    status: Status
    stop_reason: StopReason
    answers: tuple[Result, ...]
    complete: bool
    target: Any
    seconds: float
    message: str = ""
    different: Different = "features"
    regions: tuple[Region, ...] = ()

    def table(self) -> pd.DataFrame:
        """Return one row per answer: status, distance, lower_bound and changes.

        Returns
        -------
        DataFrame
            The column ``changes`` has tuples of feature names.

        Examples
        --------
        >>> explainer.several(row, k=2).table()[["status", "distance", "changes"]]
            status  distance    changes
        0  optimal  0.103825  (income,)
        1  optimal  0.941176     (age,)
        """
        rows = [
            (a.status, a.distance, a.lower_bound, tuple(c.feature for c in a.changed))
            for a in self.answers
        ]
        return pd.DataFrame(rows, columns=["status", "distance", "lower_bound", "changes"])

    def __str__(self) -> str:
        if not self.answers:
            return self.nothing(self.status, self.stop_reason, self.message)
        lines = [line for at, answer in enumerate(self.answers, 1) for line in _lines(at, answer)]
        if self.complete:
            lines.append(NO_MORE[self.different])
        elif self.status == "feasible" and self.answers[-1].status == "optimal":
            lines.append("There may be more answers.")
        return wrapped(lines)


def _lines(at: int, answer: Result) -> list[str]:
    """Return the lines of an answer; from the second on, the proof covers the remaining answers."""
    if at == 1 or not answer.changed:
        first, *rest = unwrapped(str(answer)).splitlines()
        return [f"{at}. {first}", *rest]
    lower, distance = bounds(answer.lower_bound, answer.distance)
    sure = "proved: no other is cheaper"
    if answer.status != "optimal":
        sure = f"any other one costs at least {lower}"
    headline = f"{at}. Distance {distance} ({sure})."
    scored = [answer.scored] if answer.scored else []
    return [headline, *scored, *(f"- {change}" for change in answer.told)]


@interruptible
def find_several(
    asker: Asker, x: Any, question: SeveralQuestion, on_progress: OnProgress | None = None
) -> Several:
    """Find the cheapest answers, each the cheapest of all rows that differ from the earlier ones.

    If features have to differ, a limit on the changes among an answer's features is added after it.
    This also excludes rows that change the same features and more. No cheaper row is lost: changing
    a feature without crossing a threshold never lowers the cost. If regions have to differ, the box
    around an answer is forbidden.
    """
    k, different = question.k, question.different
    settings, options = question.settings, question.options
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= MOST:
        raise InputError(f"k must be a whole number from 1 to {MOST}, got {k!r}.")
    if different not in get_args(Different):
        raise InputError(f"different must be 'features' or 'region', got {different!r}.")
    check_progress(on_progress)
    series = Series(asker, asker.read(x), settings, options, on_progress=on_progress)
    answers: list[Result] = []
    others: list[Constraint] = []
    regions: list[Region] = []
    complete = False
    while True:
        last = series.ask(others)
        complete = last.status == "infeasible"
        if last.verified:
            answers.append(last)
            complete = different == "features" and not last.changed
        if complete or last.status != "optimal" or len(answers) == k or series.over:
            break
        if different == "region":
            regions.append(_region(series, last))
            others.append(Forbidden(*(span.condition() for span in regions[-1].spans)))
        else:
            names = tuple(change.feature for change in last.changed)
            others.append(MaxChanges(len(names) - 1, names))
    proved = complete or (last.status == "optimal" and len(answers) == k)
    status: Status = "optimal" if proved else "feasible"
    if not answers:
        status = last.status
    cut = not proved and last.status == "optimal"
    return Several(
        status=status,
        stop_reason=series.asker.why if cut else last.stop_reason,
        answers=tuple(answers),
        complete=complete,
        target=settings.target,
        seconds=series.seconds,
        message=last.message,
        different=different,
        regions=tuple(regions),
    )


def _region(series: Series, answer: Result) -> "Region":
    """Return the region of an answer; if there is little time, any box around the answer."""
    options = series.options
    left_s = max(options.time_limit_s - series.seconds, LEAST_S)
    assert answer.regional is not None
    stop = series.asker.stop  # without it, an interrupt would not end this step
    region: Region = answer.regional(None, left_s, options.threads, options.seed, None, stop=stop)
    return region
