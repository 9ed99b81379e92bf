"""Features without which there is no recourse."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
from encoders.query.admissible import resolve
from encoders.query.constraints import Fixed
from portfolio.as_json import AsJson, as_plain
from portfolio.question import Options, Question, check_progress
from portfolio.questions.interruptible import interruptible
from portfolio.questions.series import Series
from portfolio.result import Result
from portfolio.solving.ask import Asker

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OnStep = Callable[[float, int, int], None]


@dataclass(frozen=True)
class Necessary(AsJson):
    """Features that every answer to a question changes.

    Attributes
    ----------
    status : "optimal": for each feature it is proved whether it is necessary; "feasible": for some
        it is not known; "infeasible": there is no recourse at all (proved); "unknown": it is not
        known whether there is any
    stop_reason : "proved", or why it is not
    features : names of those that are: with one of them fixed, nothing reaches the target (proved)
    undecided : names of those that are not known to be
    best : the cheapest answer found with nothing fixed
    seconds : from the call to the result
    """

    status: Status
    stop_reason: StopReason
    features: tuple[str, ...]
    undecided: tuple[str, ...]
    best: Result
    seconds: float

    def plot(self) -> "Figure":
        """Which of the features that the best answer changes every other answer changes, too.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            There is no answer, or none was found.
        """
        from portfolio.plots.marks import Line, draw

        if not math.isfinite(self.best.distance):
            raise InputError("no answer is known whose features could be drawn.")
        others = [change.feature for change in self.best.changed]
        state = dict.fromkeys(others, False) | dict.fromkeys(self.undecided, None)
        state |= dict.fromkeys(self.features, True)
        told = {change.feature: change.reached for change in self.best.told}
        lines = [Line(name, counts, told.get(name, "")) for name, counts in state.items()]
        meaning = {True: "every answer changes it", None: "not known", False: "only some do"}
        return draw(lines, meaning)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        return dict(as_plain(vars(self) | {"best": self.best.to_dict()}))

    def __str__(self) -> str:
        if self.status in ("infeasible", "unknown"):
            return str(self.best)
        lines = [f"- Without a change of {n} there is no recourse (proved)." for n in self.features]
        if not lines:
            sure = "as far as is known" if self.undecided else "proved"
            lines = [f"No single feature is necessary ({sure})."]
        lines += [f"- Whether {name} is necessary is not known." for name in self.undecided]
        return "\n".join(lines)


@interruptible
def find_necessary(
    asker: Asker, x: Any, question: Question, options: Options, on_progress: OnStep | None = None
) -> Necessary:
    """The features that every answer to a question about one row changes.

    Only those that all answers found so far change are asked about.
    """
    check_progress(on_progress)
    row = asker.read(x)
    space = asker.model.space
    admissible, _ = resolve(space, space.values(row.values), question.constraints)
    must = {f.name for f, a in zip(space.features, admissible, strict=True) if not a.stay}
    series = Series(asker, row, question, options)
    best = series.ask(())
    if not math.isfinite(best.distance):
        return Necessary(best.status, best.stop_reason, (), (), best, series.seconds)
    changed = {change.feature for change in best.changed}
    sure: list[str] = []
    open_: list[str] = []

    def tell() -> None:
        if on_progress is not None:
            on_progress(series.seconds, len(changed), len(sure))

    for name in (feature.name for feature in space.features):
        tell()
        if name not in changed:
            continue
        if name in must:
            sure.append(name)
        elif series.over:
            open_.append(name)
        else:
            found = series.ask((Fixed(name),))
            changed &= {c.feature for c in found.changed} if found.changed else changed
            if found.status == "infeasible":
                sure.append(name)
            elif not found.changed:
                open_.append(name)
    tell()
    undecided = tuple(name for name in open_ if name in changed)
    status: Status = "feasible" if undecided else "optimal"
    weaker = (a.stop_reason for a in series.answers if a.status in ("feasible", "unknown"))
    reason = next(weaker, series.asker.why) if undecided else "proved"
    return Necessary(status, reason, tuple(sure), undecided, best, series.seconds)
