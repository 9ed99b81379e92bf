"""Regions: boxes around a row in which the prediction stays the same."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from encoders.backends.interface import Status, StopReason
from encoders.backends.stopping import why
from encoders.core.errors import InputError
from encoders.query.goal import Goal
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.question import check_progress
from portfolio.engine.warm_up import warm_up
from portfolio.model.row import Row
from portfolio.questions.decision import Other, besides, decision_of
from portfolio.questions.every_row import every_row
from portfolio.questions.feature_order import feature_order
from portfolio.questions.flips import pose_flips
from portfolio.questions.records import RegionQuestion
from portfolio.questions.region.extents import extents_of
from portfolio.questions.region.grow import Growth
from portfolio.questions.region.span import Span, span_of
from portfolio.results.codec import AsJson, by_name, member
from portfolio.results.printing import wrapped
from portfolio.results.rows import Values, received

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Region(AsJson):
    """Box around a row in which all rows have the same prediction.

    Attributes
    ----------
    status : {"optimal", "feasible", "unknown"}
        "optimal" if it is proved that all rows of the box have the same prediction and that the box
        cannot be widened. Then any side moved out or category added would include a row with a
        different prediction. "feasible" if only the former is proved. "unknown" if nothing is
        proved; the box is then the cell of the row.
    stop_reason : str
        "proved", "time_limit", "interrupted" or "error".
    label : label or goal
        Predicted class, or the goal that all rows of the box reach.
    spans : tuple of Span
        Values of each feature inside the box.
    row : Row
        Row inside the box.
    seconds : float
        Time from the call to the result.
    message : str
        Reason why the result is weaker than a proof, or "".

    Examples
    --------
    >>> region = explainer.region(row)
    >>> print(region)
    Every row in this region is predicted as 'refused' (proved; it cannot be widened).
    - age at least 20
    - income at most 24.2685
    - housing free or rent
    - any sex, rooms, job
    >>> region["age"].holds(30)
    True
    """

    status: Status
    stop_reason: StopReason
    label: Any
    spans: tuple[Span, ...]
    row: Row = field(
        metadata=member(write=lambda row: by_name(row.given()), read=received, hint=Values)
    )
    seconds: float
    message: str = ""

    def __getitem__(self, name: str) -> Span:
        """Return the values of a feature inside the box."""
        return next(span for span in self.spans if span.feature == name)

    def plot(self) -> "Figure":
        """Draw a line per feature: its range, the part inside the region, and the row.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Examples
        --------
        >>> figure = explainer.region(row).plot()
        >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
        ['age', 'sex', 'income', 'rooms', 'job', 'housing']
        """
        from portfolio.results.plots.region import Bar, draw

        return draw([Bar(span.feature, span.words, *span.shares()) for span in self.spans])

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"- {span.feature} {span.words}" for span in self.spans if not span.whole]
        free = [span.feature for span in self.spans if span.whole]
        if free:
            lines.append(f"- any {', '.join(free)}")
        return wrapped(lines)

    def _headline(self) -> str:
        goal = hasattr(self.label, "words")
        reached = f"reaches {self.label.words()}" if goal else f"is predicted as {self.label!r}"
        message = f" {self.message}" if self.message else ""
        if self.status == "unknown":
            return f"Unknown: no proof that any other row {reached}.{message}"
        widest = "; it cannot be widened" if self.status == "optimal" else ""
        return f"Every row in this region {reached} (proved{widest}).{message}"


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Search for the region around a row."""

    asker: Asker  # solver of the user's explainer
    row: Row  # a row inside the region
    label: Any  # label or goal of the row
    others: tuple[Other, ...]  # goals of rows with a different prediction
    first: tuple[str, ...] = ()  # features that are widened first by default

    def region(self, question: RegionQuestion, on_step: "OnStep | None" = None) -> Region:
        """Return a region that cannot be widened, as far as the time allows."""
        warm_up("walks")
        began = time.perf_counter()
        space = self.asker.model.space
        turn = feature_order(question.order, space, self.first)
        request = self.asker.request(question.options)
        free = every_row(self.asker, also=True)  # without default actions and plausibility
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


@interruptible
def find_region(
    asker: Asker, x: Any, question: RegionQuestion, on_progress: OnStep | None = None
) -> Region:
    """Return the region around a row that reaches a target."""
    check_progress(on_progress)
    asker.check_classes()
    row = asker.read(x)
    decision = decision_of(asker.model.without_plausibility(), row, question.target)
    if not decision.holds:
        raise InputError(
            f"the row does not reach the target: its prediction is {decision.words()}. Choose a "
            "target that the row reaches, or leave it out."
        )
    around = Surroundings(asker, row, decision.label, decision.others)
    return around.region(question, on_progress)


@interruptible
def region_around(
    asker: Asker,
    row: Row,
    goal: Goal,
    label: Any,
    changed: tuple[str, ...],
    question: RegionQuestion,
    on_step: OnStep | None,
) -> Region:
    """Return the region around a counterfactual."""
    check_progress(on_step)
    around = Surroundings(asker, row, label, besides(asker.model, goal), changed)
    return around.region(question, on_step)
