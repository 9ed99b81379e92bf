"""Principal reasons for an adverse decision, ranked by proved cost."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from encoders.query.constraints import Fixed
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.question import check_progress
from portfolio.engine.series import Series
from portfolio.questions.every_row import every_row
from portfolio.questions.records import ReasonCodesQuestion
from portfolio.results.codec import AsJson
from portfolio.results.printing import short, wrapped
from portfolio.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OnStep = Callable[[float, int, int], None]


@dataclass(frozen=True)
class ReasonCode:
    """Feature that counts against the row.

    Attributes
    ----------
    feature : str
        Name of the feature.
    rank : int
        Rank of the reason, from 1.
    alone : bool
        Whether changing the feature alone is enough; otherwise :attr:`together` has to change too.
    cost : float
        Cost of the cheapest such change.
    lower_bound : float
        Proved lower bound on the cost; equal to the cost if that is proved minimal.
    together : tuple of str
        Names of the other features that have to change.
    answer : Result
        Row after the change, and what is proved about it.

    Examples
    --------
    >>> code = explainer.reason_codes(row).codes[0]
    >>> code.rank, code.feature, code.alone
    (1, 'income', True)
    """

    feature: str
    rank: int
    alone: bool
    cost: float
    lower_bound: float
    together: tuple[str, ...]
    answer: Result

    def __str__(self) -> str:
        change = next(c for c in self.answer.told if c.feature == self.feature)
        if self.alone:
            return f"{self.rank}. {change} Enough alone, at cost {short(self.cost)}."
        others = ", ".join(self.together)
        joint = f" Enough together with {others}, at cost {short(self.cost)}." if others else ""
        return f"{self.rank}. {change}{joint}"


@dataclass(frozen=True)
class ReasonCodes(AsJson):
    """Principal reasons for a decision in the order of their rank.

    Attributes
    ----------
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal" if all costs that determine the ranks are proved. "feasible" if some are not.
        "infeasible" if no change of the row reaches the target (proved). "unknown" if none was
        found.
    stop_reason : str
        "proved", or the reason why the first unproved cost is not proved.
    codes : tuple of ReasonCode
        Reasons, at most as many as requested.
    seconds : float
        Time from the call to the result.

    Examples
    --------
    >>> codes = explainer.reason_codes(row)
    >>> [code.feature for code in codes.codes]
    ['income', 'age', 'housing']
    """

    status: Status
    stop_reason: StopReason
    codes: tuple[ReasonCode, ...]
    seconds: float

    def plot(self) -> "Figure":
        """Draw a bar per reason: the cost of its change.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Raises
        ------
        InputError
            If no reason was found.

        Examples
        --------
        >>> figure = explainer.reason_codes(row).plot()
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['1. income', '2. age', '3. housing']
        """
        from portfolio.results.plots.bars import Bar, draw

        if not self.codes:
            raise InputError(
                f"cannot draw reason codes: none was found (status {self.status!r}). Check status "
                "first."
            )
        bars = [Bar(f"{c.rank}. {c.feature}", c.cost, c.alone) for c in self.codes]
        return draw(bars, "distance (hatched: only together with others)")

    def __str__(self) -> str:
        words = {
            "optimal": "Principal reasons (all costs proved):",
            "feasible": "Principal reasons (not all costs are proved minimal):",
            "infeasible": "No reasons: no change of the row reaches the target (proved).",
            "unknown": "Unknown: no row that reaches the target was found in time.",
        }
        return wrapped([words[self.status], *map(str, self.codes)])


@interruptible
def find_reason_codes(
    asker: Asker, x: Any, question: ReasonCodesQuestion, on_progress: OnStep | None = None
) -> ReasonCodes:
    """Rank features by the cost of the cheapest change of each alone.

    If fewer than ``n`` are enough alone, features of the cheapest joint change of the others
    follow, the most expensive first.
    """
    n, settings, options = question.n, question.settings, question.options
    asker = every_row(asker)
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, got {n!r}.")
    check_progress(on_progress)
    row = asker.read(x)
    every = [feature.name for feature in asker.model.space.features]
    series = Series(asker, row, settings, options)

    def ask(free: Sequence[str]) -> Result:
        return series.ask([Fixed(name) for name in every if name not in free])

    alone: list[tuple[str, Result]] = []
    rest: list[str] = []
    for done, name in enumerate(every, start=1):
        if series.over:
            break
        result = ask([name])
        if result.changed:
            alone.append((name, result))
        elif math.isinf(result.distance):
            rest.append(name)
        else:
            raise InputError(
                "the row already reaches the target, so nothing counts against it. Choose another "
                "target or row."
            )
        if on_progress is not None:
            on_progress(series.seconds, done, len(every))
    alone.sort(key=lambda pair: pair[1].distance)
    codes = [_code(name, result, rank + 1, ()) for rank, (name, result) in enumerate(alone[:n])]
    cut = len(alone) + len(rest) < len(every)
    if len(codes) < n and len(rest) > 1 and series.over:
        cut = True
    elif len(codes) < n and len(rest) > 1:
        result = ask(rest)
        by_cost = sorted(result.changed, key=lambda change: -change.cost)
        for change in by_cost[: n - len(codes)]:
            others = tuple(c.feature for c in by_cost if c.feature != change.feature)
            codes.append(_code(change.feature, result, len(codes) + 1, others))
    return _joined(codes, series, cut)


def _code(feature: str, result: Result, rank: int, together: tuple[str, ...]) -> ReasonCode:
    return ReasonCode(
        feature, rank, not together, result.distance, result.lower_bound, together, result
    )


def _joined(codes: list[ReasonCode], series: Series, cut: bool) -> ReasonCodes:
    """Return the reasons with their status.

    ``cut`` means that the time ran out before some features were tried.
    """
    weaker = [a.stop_reason for a in series.answers if a.status in ("feasible", "unknown")]
    weaker += [series.asker.why] if cut else []
    if codes:
        status: Status = "feasible" if weaker else "optimal"
    else:
        status = "unknown" if weaker else "infeasible"
    reason: StopReason = weaker[0] if weaker else "proved"
    return ReasonCodes(status, reason, tuple(codes), series.seconds)
