"""The principal reasons of an adverse decision, ranked by what is proved."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
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
class ReasonCode:
    """One feature that counted against the row.

    Attributes
    ----------
    feature : its name
    rank : from 1
    alone : whether a change of it alone is enough; else of it and :attr:`together`
    cost : of the cheapest such change
    lower_bound : no such change costs less; equal to the cost where that is proved
    together : the other features that have to change with it
    answer : the row with that change, and what is proved of it
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
            return f"{self.rank}. {change} This alone is enough, at cost {self.cost:.6g}."
        others = ", ".join(self.together)
        beside = f" Enough together with {others}, at cost {self.cost:.6g}." if others else ""
        return f"{self.rank}. {change}{beside}"


@dataclass(frozen=True)
class ReasonCodes(AsJson):
    """The principal reasons of a decision, the first one first.

    Attributes
    ----------
    status : "optimal": every cost that the ranks follow from is proved; "feasible": some are not;
        "infeasible": no change of the row is decided otherwise (proved); "unknown": none was found
    stop_reason : "proved", or why the first cost that is not proved is not
    codes : at most as many as asked for
    seconds : from the call to the result
    """

    status: Status
    stop_reason: StopReason
    codes: tuple[ReasonCode, ...]
    seconds: float

    def plot(self) -> "Figure":
        """A bar per reason, as long as the cost of its change.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            There are no reasons.
        """
        from portfolio.plots.bars import Bar, draw

        if not self.codes:
            raise InputError("there are no reasons that could be drawn.")
        bars = [Bar(f"{c.rank}. {c.feature}", c.cost, c.alone) for c in self.codes]
        return draw(bars, "distance (hatched: only together with others)")

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        codes = [vars(code) | {"answer": code.answer.to_dict()} for code in self.codes]
        return dict(as_plain(vars(self) | {"codes": codes}))

    def __str__(self) -> str:
        words = {
            "optimal": "Principal reasons (all costs proved):",
            "feasible": "Principal reasons (some costs are not proved to be the least):",
            "infeasible": "No reason: every row is decided alike (proved).",
            "unknown": "Unknown: no row that is decided otherwise was found in time.",
        }
        return "\n".join([words[self.status], *map(str, self.codes)])


@interruptible
def find_reason_codes(
    asker: Asker,
    x: Any,
    question: Question,
    n: int,
    options: Options,
    on_progress: OnStep | None = None,
) -> ReasonCodes:
    """Features ranked by the cost of the cheapest change of each alone.

    Where fewer than ``n`` are enough alone, the cheapest change of the others together follows,
    its dearest feature first.
    """
    if isinstance(n, bool) or not isinstance(n, int) or n < 1:
        raise InputError(f"n must be a whole number of at least 1, got {n!r}.")
    check_progress(on_progress)
    row = asker.read(x)
    every = [feature.name for feature in asker.model.space.features]
    series = Series(asker, row, question, options)

    def ask(free: Sequence[str]) -> Result:
        return series.ask([Fixed(name) for name in every if name not in free])

    found: list[tuple[str, Result]] = []
    rest: list[str] = []
    for done, name in enumerate(every, start=1):
        if series.over:
            break
        result = ask([name])
        if result.changed:
            found.append((name, result))
        elif math.isinf(result.distance):
            rest.append(name)
        else:
            raise InputError(
                "the row is decided as wanted already; there are no reasons against it."
            )
        if on_progress is not None:
            on_progress(series.seconds, done, len(every))
    found.sort(key=lambda pair: pair[1].distance)
    codes = [_code(name, result, rank + 1, ()) for rank, (name, result) in enumerate(found[:n])]
    cut = len(found) + len(rest) < len(every)
    if len(codes) < n and len(rest) > 1 and series.over:
        cut = True
    elif len(codes) < n and len(rest) > 1:
        result = ask(rest)
        dearest = sorted(result.changed, key=lambda change: -change.cost)
        for change in dearest[: n - len(codes)]:
            others = tuple(c.feature for c in dearest if c.feature != change.feature)
            codes.append(_code(change.feature, result, len(codes) + 1, others))
    return _joined(codes, series, cut)


def _code(feature: str, result: Result, rank: int, together: tuple[str, ...]) -> ReasonCode:
    return ReasonCode(
        feature, rank, not together, result.distance, result.lower_bound, together, result
    )


def _joined(codes: list[ReasonCode], series: Series, cut: bool) -> ReasonCodes:
    """All codes, and what is proved of them; nothing where some questions were not come to."""
    weaker = [a.stop_reason for a in series.answers if a.status in ("feasible", "unknown")]
    weaker += [series.asker.why] if cut else []
    if codes:
        status: Status = "feasible" if weaker else "optimal"
    else:
        status = "unknown" if weaker else "infeasible"
    reason: StopReason = weaker[0] if weaker else "proved"
    return ReasonCodes(status, reason, tuple(codes), series.seconds)
