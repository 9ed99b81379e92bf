"""A box around a row in which the model decides alike, and that can't be widened on any side."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.backends.stopping import why
from encoders.errors import InputError
from encoders.query.features import FeatureSpace
from encoders.query.goal import Goal
from encoders.query.names import feature_name
from portfolio.as_json import AsJson, as_plain, by_name
from portfolio.model.row import Row
from portfolio.question import Options, check_progress
from portfolio.questions.decision import Other, besides, decision_of
from portfolio.questions.every_row import every_row
from portfolio.questions.flips import pose_flips
from portfolio.questions.interruptible import interruptible
from portfolio.questions.region.extents import extents_of
from portfolio.questions.region.grow import Growth
from portfolio.questions.region.span import Span, span_of
from portfolio.solving.ask import Asker
from portfolio.solving.warm_up import warm_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Region(AsJson):
    """A box around a row in which the model decides every row alike.

    Attributes
    ----------
    status : "optimal": it is proved that every row of the box is decided alike, and that no side
        can be moved on, nor a category be added, without taking in a row that is not;
        "feasible": the former is proved; "unknown": nothing is, and the box is the row's own cell
    stop_reason : "proved", "time_limit", "interrupted" or "error"
    label : what the model decides, or the goal that is reached
    spans : one per feature
    row : that it is around
    seconds : from the call to the result
    message : why it is weaker than a proof, "" if it is not
    """

    status: Status
    stop_reason: StopReason
    label: Any
    spans: tuple[Span, ...]
    row: Row
    seconds: float
    message: str = ""

    def __getitem__(self, name: str) -> Span:
        """The values of a feature."""
        return next(span for span in self.spans if span.feature == name)

    def plot(self) -> "Figure":
        """A line per feature: its range, the part of it in the region, and the row itself.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from portfolio.questions.region.region_picture import Bar, draw

        return draw([Bar(span.feature, span.words, *span.shares()) for span in self.spans])

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        told = vars(self) | {"row": by_name(self.row.given())}
        told["spans"] = [vars(span) for span in self.spans]
        return dict(as_plain(told))

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"- {span.feature} {span.words}" for span in self.spans if not span.whole]
        free = [span.feature for span in self.spans if span.whole]
        if free:
            lines.append(f"- any {', '.join(free)}")
        return "\n".join(lines)

    def _headline(self) -> str:
        reached = self.label.words() if hasattr(self.label, "words") else repr(self.label)
        why_not = f" {self.message}" if self.message else ""
        if self.status == "unknown":
            return f"Unknown: which rows around this one are decided as {reached}.{why_not}"
        wider = ", and it can't be widened on any side" if self.status == "optimal" else ""
        return f"Every row of this region is decided as {reached} (proved{wider}).{why_not}"


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Finds the region around a row.

    Attributes
    ----------
    asker : of the user's explainer
    row : the middle
    label : what the model decides, or the goal that is reached
    others : what rows that are decided otherwise reach, one of these
    first : features to widen first
    """

    asker: Asker
    row: Row
    label: Any
    others: tuple[Other, ...]
    first: tuple[str, ...] = ()

    def region(
        self,
        order: Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_step: "OnStep | None" = None,
    ) -> Region:
        """A region that can't be widened."""
        options = Options("auto", time_limit_s, threads, seed)
        warm_up("walks")
        began = time.perf_counter()
        space = self.asker.model.space
        turn = _order((*(order or ()), *self.first), space)
        request = self.asker.request(options)
        free = every_row(self.asker, also=True)  # whatever people may do, plausible or not
        free = replace(free, model=free.model.without_plausibility())
        deadline = began + request.time_limit_s
        flips = pose_flips(free, self.row, self.others, request, deadline)
        extents = [extents_of(side, side.view.cells) for side in flips.sides]
        growth = Growth(flips.sides, extents, request, deadline)
        for done, index in enumerate(turn, start=1):
            growth.widen(index)
            if on_step is not None:
                on_step(time.perf_counter() - began, done, len(turn))
        values = space.values(self.row.values)
        doubt = growth.doubt()
        if doubt:
            growth = Growth(growth.sides, growth.extents, request, deadline)
        sure = growth.settled and not doubt
        return Region(
            status="unknown" if doubt else "optimal" if sure else "feasible",
            stop_reason="proved" if sure else "error" if doubt else why(request),
            label=self.label,
            spans=tuple(map(span_of, growth.extents[0].each, growth.allowed, values.tolist())),
            row=self.row,
            seconds=time.perf_counter() - began,
            message=doubt,
        )


OnStep = Callable[[float, int, int], None]


def _order(first: Sequence[str], space: FeatureSpace) -> list[int]:
    """Indices of all features, those that are named first."""
    known = [feature.name for feature in space.features]
    named = [feature_name(name) for name in first]
    unknown = [name for name in named if name not in known]
    if isinstance(first, str) or unknown:
        raise InputError(
            f"order names {unknown[0] if unknown else first!r}, which is no feature; features are "
            f"{', '.join(known)}."
        )
    return [known.index(name) for name in dict.fromkeys([*named, *known])]


@interruptible
def region_of(
    asker: Asker,
    x: Any,
    target: Any,
    order: Sequence[str] | None,
    time_limit_s: float,
    threads: int | None,
    seed: int,
    on_step: OnStep | None,
) -> Region:
    """The region around a row that reaches a target."""
    check_progress(on_step)
    asker.check_classes()
    row = asker.read(x)
    decision = decision_of(asker.model.without_plausibility(), row, target)
    if not decision.holds:
        raise InputError(f"the row is decided as {decision.words()}; ask about what it reaches.")
    around = Surroundings(asker, row, decision.label, decision.others)
    return around.region(order, time_limit_s, threads, seed, on_step)


@interruptible
def region_around(
    asker: Asker,
    row: Row,
    goal: Goal,
    label: Any,
    changed: tuple[str, ...],
    order: Sequence[str] | None,
    time_limit_s: float,
    threads: int | None,
    seed: int,
    on_step: OnStep | None,
) -> Region:
    """The region around an answer."""
    check_progress(on_step)
    around = Surroundings(asker, row, label, besides(asker.model, goal), changed)
    return around.region(order, time_limit_s, threads, seed, on_step)
