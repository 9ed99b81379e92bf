"""Features that every counterfactual has to change."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from encoders.query.admissible import resolve
from encoders.query.constraints import Fixed
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.question import check_progress
from portfolio.engine.series import Series
from portfolio.questions.records import NecessaryQuestion
from portfolio.results.codec import AsJson
from portfolio.results.printing import wrapped
from portfolio.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OnStep = Callable[[float, int, int], None]


@dataclass(frozen=True)
class Necessary(AsJson):
    """Features that every counterfactual of a query changes.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal" if it is proved for each feature whether it is necessary. "feasible" if some
        features are undecided. "infeasible" if no counterfactual exists (proved). "unknown" if
        none was found.
    stop_reason : str
        "proved", or the reason why the search ended without a proof.
    features : tuple of str
        Names of the necessary features (proved): if one is fixed, nothing reaches the target.
    undecided : tuple of str
        Names of the features that may be necessary.
    best : Result
        Cheapest counterfactual found without additional fixed features.
    seconds : float
        Time from the call to the result.

    Examples
    --------
    >>> necessary = explainer.necessary(row)
    >>> necessary.features, necessary.status
    ((), 'optimal')
    """

    status: Status
    stop_reason: StopReason
    features: tuple[str, ...]
    undecided: tuple[str, ...]
    best: Result
    seconds: float

    def plot(self) -> "Figure":
        """Draw which features of the best counterfactual are necessary.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Raises
        ------
        InputError
            If no counterfactual was found.

        Examples
        --------
        >>> figure = explainer.necessary(row, constraints=[Fixed("age"), Fixed("housing")]).plot()
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['income']
        """
        from portfolio.results.plots.marks import Line, draw

        if not math.isfinite(self.best.distance):
            raise InputError(
                "cannot draw necessary features: no counterfactual was found. Check status first."
            )
        others = [change.feature for change in self.best.changed]
        state = dict.fromkeys(others, False) | dict.fromkeys(self.undecided, None)
        state |= dict.fromkeys(self.features, True)
        values = {change.feature: change.reached for change in self.best.told}
        lines = [Line(name, counts, values.get(name, "")) for name, counts in state.items()]
        meaning = {
            True: "changed by every answer",
            None: "undecided",
            False: "by some answers only",
        }
        return draw(lines, meaning)

    def __str__(self) -> str:
        if self.status in ("infeasible", "unknown"):
            return str(self.best)
        lines = [
            f"- {n} has to change: no counterfactual keeps it (proved)." for n in self.features
        ]
        if not lines:
            none = "is known to be necessary" if self.undecided else "is necessary (proved)"
            lines = [f"No single feature {none}."]
        lines += [f"- {name} may be necessary (not decided)." for name in self.undecided]
        return wrapped(lines)


@interruptible
def find_necessary(
    asker: Asker, x: Any, question: NecessaryQuestion, on_progress: OnStep | None = None
) -> Necessary:
    """Find the features that every counterfactual of one row changes.

    Only features that all counterfactuals found so far change are candidates.
    """
    settings, options = question.settings, question.options
    check_progress(on_progress)
    row = asker.read(x)
    space = asker.model.space
    admissible, _ = resolve(space, space.values(row.values), settings.constraints)
    must = {f.name for f, a in zip(space.features, admissible, strict=True) if not a.stay}
    series = Series(asker, row, settings, options)
    best = series.ask(())
    if not math.isfinite(best.distance):
        return Necessary(best.status, best.stop_reason, (), (), best, series.seconds)
    changed = {change.feature for change in best.changed}
    sure: list[str] = []
    open_: list[str] = []

    def report() -> None:
        if on_progress is not None:
            on_progress(series.seconds, len(changed), len(sure))

    for name in (feature.name for feature in space.features):
        report()
        if name not in changed:
            continue
        if name in must:
            sure.append(name)
        elif series.over:
            open_.append(name)
        else:
            result = series.ask((Fixed(name),))
            changed &= {c.feature for c in result.changed} if result.changed else changed
            if result.status == "infeasible":
                sure.append(name)
            elif not result.changed:
                open_.append(name)
    report()
    undecided = tuple(name for name in open_ if name in changed)
    status: Status = "feasible" if undecided else "optimal"
    weaker = (a.stop_reason for a in series.answers if a.status in ("feasible", "unknown"))
    reason = next(weaker, series.asker.why) if undecided else "proved"
    return Necessary(status, reason, tuple(sure), undecided, best, series.seconds)
