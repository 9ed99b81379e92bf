"""Why there is no answer: demands that contradict each other, and how far to loosen one."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from encoders.backends.interface import StopReason
from encoders.errors import InputError
from portfolio.as_json import AsJson, as_plain
from portfolio.question import Options, Question, check_progress
from portfolio.questions.interruptible import interruptible
from portfolio.questions.why_not.conflict import Conflict, Trials, ask_or_refute
from portfolio.questions.why_not.loosening import Relaxation, relax
from portfolio.questions.why_not.members import Member, demands_of
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.warm_up import warm_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OnStep = Callable[[float, int, int], None]


@dataclass(frozen=True)
class WhyNot(AsJson):
    """Why a question has no answer.

    Attributes
    ----------
    status : "minimal": it is proved that the demands of :attr:`conflict` contradict each other and
        that they do not once any one of them is dropped; "conflict": the former is proved, and not
        all of the latter; "feasible": nothing contradicts, there is an answer; "unknown": time
        ran out before either was proved
    stop_reason : "proved", "time_limit", "interrupted" or "error"; why the work ended
    conflict : the demands, none where the target can't be reached whatever is dropped
    relaxations : for each of them that helps by itself, how far it has to be loosened while all
        others stay; the cheapest first
    result : what :meth:`Explainer.explain` gives for the question itself
    seconds : from the call to the result
    message : why it is weaker than a proof, "" if it is not
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
        """Which one demand to loosen for the nearest answer; None if none is known to help."""
        return self.relaxations[0] if self.relaxations else None

    def plot(self) -> "Figure":
        """What the nearest answer costs once one of the demands is loosened.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            No demands are known to contradict each other.
        """
        from portfolio.plots.bars import Bar, draw

        if not self.conflict:
            raise InputError("there is no conflict of demands that could be drawn.")
        bars = [Bar(r.words, r.distance, r.result.status == "optimal") for r in self.relaxations]
        loosened = [relaxation.member for relaxation in self.relaxations]
        none = "not enough alone" if self.stop_reason == "proved" else "not known to be enough"
        left = [member for member in self.conflict if member not in loosened]
        bars += [Bar(f"without '{m.words}'", 0.0, instead=none) for m in left]
        proved = all(bar.full for bar in bars)
        return draw(bars, "distance" if proved else "distance (hatched: maybe less)")

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""
        told: dict[str, Any] = as_plain(
            {
                "status": self.status,
                "stop_reason": self.stop_reason,
                "conflict": [
                    {"kind": m.kind, "feature": m.feature, "words": m.words} for m in self.conflict
                ],
                "relaxations": [relaxation.to_dict() for relaxation in self.relaxations],
                "result": self.result.to_dict(),
                "seconds": self.seconds,
                "message": self.message,
            }
        )
        return told

    def __str__(self) -> str:
        lines = [self._headline()]
        lines += [f"- {member}" for member in self.conflict]
        if self.relaxations:
            lines += ["Loosening one of them is enough:", *(f"- {r}" for r in self._told())]
        elif self.conflict and self.stop_reason == "proved":
            lines.append("Loosening one of them alone is not enough.")
        return "\n".join(lines)

    def _told(self) -> list[str]:
        return [f"{words[0].upper()}{words[1:]}" for words in map(str, self.relaxations)]

    def _headline(self) -> str:
        why = f" {self.message}" if self.message else ""
        if self.status == "feasible":
            return f"There is an answer; explain finds the nearest one.{why}"
        if self.status == "unknown":
            return f"Unknown: whether there is an answer was not settled.{why}"
        if not self.conflict:
            return f"No row of the feature space reaches the target (proved).{why}"
        if len(self.conflict) == 1:
            return f"This demand alone rules every answer out (proved).{why}"
        sure = ", and none of them alone is to spare" if self.status == "minimal" else ""
        return f"These {len(self.conflict)} demands rule every answer out (proved{sure}).{why}"


@interruptible
def find_why_not(
    asker: Asker, x: Any, question: Question, options: Options, on_progress: OnStep | None = None
) -> WhyNot:
    """A minimal set of demands that contradict each other, and the cheapest ways to loosen one."""
    warm_up()
    check_progress(on_progress)
    began = time.perf_counter()
    row = asker.read(x)
    whole = ask_or_refute(asker, question, options, row, asker.strategy(question, options))

    def told(
        status: Literal["minimal", "conflict", "feasible", "unknown"],
        conflict: tuple[Member, ...] = (),
        relaxations: tuple[Relaxation, ...] = (),
        stop: StopReason | None = None,
    ) -> WhyNot:
        seconds = time.perf_counter() - began
        reason = stop or whole.stop_reason
        return WhyNot(status, reason, conflict, relaxations, whole, seconds, whole.message)

    if whole.status != "infeasible":
        return told("unknown" if whole.row is None else "feasible")
    trials = Trials(demands_of(asker, question, row), options, began)

    def step(conflict: Conflict) -> None:
        if on_progress is not None:
            seconds = time.perf_counter() - began
            on_progress(seconds, len(conflict.kept), len(conflict.needed))

    conflict = Conflict(trials, step)
    conflict.shrink()
    places = sorted(conflict.kept, reverse=True)
    found: list[Relaxation] = []
    for at in places:
        relaxation = None if trials.over else relax(trials, at)
        found += [] if relaxation is None else [relaxation]
    stop: StopReason = "proved"
    if trials.over:
        stop = asker.why
    elif not conflict.minimal:
        stop = "error"
    return told(
        "minimal" if conflict.minimal else "conflict",
        tuple(trials.demands.members[at] for at in places),
        tuple(sorted(found, key=lambda each: each.distance)),
        stop,
    )
