"""Explanations of infeasible queries: conflicting demands, and how far to relax each."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from encoders.backends.interface import StopReason
from encoders.core.errors import InputError
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.question import check_progress
from portfolio.engine.warm_up import warm_up
from portfolio.questions.records import WhyNotQuestion
from portfolio.questions.why_not.conflict import Conflict, Trials, ask_or_refute
from portfolio.questions.why_not.loosening import Relaxation, relax
from portfolio.questions.why_not.members import Member, capitalised, demands_of
from portfolio.results.codec import AsJson
from portfolio.results.printing import wrapped
from portfolio.results.result import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_MINIMAL = (
    "Some of these demands may be unnecessary: relations cannot be solved without all bounds."
)
OnStep = Callable[[float, int, int], None]


@dataclass(frozen=True)
class WhyNot(AsJson):
    """Reason why a query has no counterfactual.

    Attributes
    ----------
    status : {"minimal", "conflict", "feasible", "unknown"}
        "conflict" if it is proved that the demands of :attr:`conflict` rule out every
        counterfactual. "minimal" if it is also proved that none of them can be left out (a minimal
        unsatisfiable subset). "feasible" if a counterfactual exists. "unknown" if the time ran out.
    stop_reason : str
        "proved", "time_limit", "interrupted" or "error".
    conflict : tuple of Member
        Conflicting demands; empty if the target is unreachable without any of them.
    relaxations : tuple of Relaxation
        Smallest relaxation of each demand that helps by itself, the cheapest counterfactual first.
    result : Result
        Answer of :meth:`Explainer.explain` to the query itself.
    seconds : float
        Time from the call to the result.
    message : str
        Reason why the result is weaker than a proof, or "".

    Examples
    --------
    >>> from counterfolio import Fixed, Range
    >>> rules = [Range("income", 0, 20), Fixed("age"), Fixed("housing")]
    >>> why_not = explainer.why_not(row, constraints=rules)
    >>> why_not.status, len(why_not.conflict)
    ('minimal', 3)
    """

    status: Literal["minimal", "conflict", "feasible", "unknown"]
    stop_reason: StopReason
    conflict: tuple[Member, ...]
    relaxations: tuple[Relaxation, ...]
    result: Result
    seconds: float
    message: str = ""

    @property
    def cheapest(self) -> Relaxation | None:
        """The relaxation with the nearest counterfactual; None if none is known to help."""
        return self.relaxations[0] if self.relaxations else None

    def plot(self) -> "Figure":
        """Draw the distance of the nearest counterfactual after relaxing each demand.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Raises
        ------
        InputError
            If no demands are known to conflict.

        Examples
        --------
        >>> from counterfolio import Fixed, Range
        >>> rules = [Range("income", 0, 20), Fixed("age"), Fixed("housing")]
        >>> figure = explainer.why_not(row, constraints=rules).plot()
        >>> figure.axes[0].get_yticklabels()[0].get_text()
        'income up to 26.212 instead of 20'
        """
        from portfolio.results.plots.bars import Bar, draw

        if not self.conflict:
            raise InputError(
                f"cannot draw a conflict: none was found (status {self.status!r}). Check status "
                "first."
            )
        bars = [Bar(r.words, r.distance, r.result.status == "optimal") for r in self.relaxations]
        relaxed = [relaxation.member for relaxation in self.relaxations]
        none = "not enough alone" if self.stop_reason == "proved" else "not known to be enough"
        others = [member for member in self.conflict if member not in relaxed]
        bars += [Bar(f"without '{m.words}'", 0.0, instead=none) for m in others]
        proved = all(bar.full for bar in bars)
        return draw(bars, "distance" if proved else "distance (hatched: upper bound)")

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"- {member}" for member in self.conflict]
        if self.relaxations:
            lines += ["It is enough to relax one of them:", *(f"- {r}" for r in self._relaxed())]
        elif self.conflict and self.stop_reason == "proved":
            lines.append("Relaxing one of them alone is not enough.")
        return wrapped(lines)

    def _relaxed(self) -> list[str]:
        return [capitalised(str(each), each.member.feature) for each in self.relaxations]

    def _headline(self) -> str:
        message = f" {self.message}" if self.message else ""
        if self.status == "feasible":
            return f"There is an answer; explain() finds the nearest one.{message}"
        if self.status == "unknown":
            return f"Unknown: it is not decided whether there is an answer.{message}"
        if not self.conflict:
            return f"No row of the feature space reaches the target (proved).{message}"
        if len(self.conflict) == 1:
            return f"This demand alone rules out every answer (proved).{message}"
        sure = "; none can be left out" if self.status == "minimal" else ""
        return f"These {len(self.conflict)} demands rule out every answer (proved{sure}).{message}"


@interruptible
def find_why_not(
    asker: Asker, x: Any, question: WhyNotQuestion, on_progress: OnStep | None = None
) -> WhyNot:
    """Find a minimal set of conflicting demands and the cheapest relaxation of each."""
    settings, options = question.settings, question.options
    warm_up()
    check_progress(on_progress)
    began = time.perf_counter()
    row = asker.read(x)
    whole = ask_or_refute(asker, settings, options, row, asker.strategy(settings, options))

    def finished(
        status: Literal["minimal", "conflict", "feasible", "unknown"],
        conflict: tuple[Member, ...] = (),
        relaxations: tuple[Relaxation, ...] = (),
        stop: StopReason | None = None,
    ) -> WhyNot:
        seconds = time.perf_counter() - began
        reason = stop or whole.stop_reason
        message = NOT_MINIMAL if stop == "error" else whole.message
        return WhyNot(status, reason, conflict, relaxations, whole, seconds, message)

    if whole.status != "infeasible":
        return finished("unknown" if whole.row is None else "feasible")
    trials = Trials(demands_of(asker, settings, row), options, began)

    def step(conflict: Conflict) -> None:
        if on_progress is not None:
            seconds = time.perf_counter() - began
            on_progress(seconds, len(conflict.kept), len(conflict.needed))

    conflict = Conflict(trials, step)
    conflict.shrink()
    places = sorted(conflict.kept, reverse=True)
    relaxations: list[Relaxation] = []
    for at in places:
        relaxation = None if trials.over else relax(trials, at)
        relaxations += [] if relaxation is None else [relaxation]
    stop: StopReason = "proved"
    if trials.over:
        stop = asker.why
    elif not conflict.minimal:
        stop = "error"
    return finished(
        "minimal" if conflict.minimal else "conflict",
        tuple(trials.demands.members[at] for at in places),
        tuple(sorted(relaxations, key=lambda each: each.distance)),
        stop,
    )
