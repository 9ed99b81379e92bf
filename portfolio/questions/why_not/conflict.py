"""Minimal conflicting sets of demands (MUS), found by deletion."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from encoders.core.errors import InputError, NothingAdmissibleError
from encoders.query.constraints import Constraint
from encoders.query.relations import JointCost
from portfolio.engine.ask import Asker
from portfolio.engine.question import Options, Question
from portfolio.engine.series import LEAST_S
from portfolio.engine.strategies import Strategy
from portfolio.model.row import Row
from portfolio.questions.why_not.members import Demands, Limits
from portfolio.results.result import Result
from portfolio.results.timings import Timings

Instead = tuple[int, Constraint | Limits]


def any_answer(question: Question) -> Question:
    """Return the question without costs, so that the first answer ends it."""
    tables = question.norm if isinstance(question.norm, Mapping) else 1
    rules = tuple(c for c in question.constraints if not isinstance(c, JointCost))
    return replace(question, norm=tables, constraints=rules, weights=None)


def ask_or_refute(
    asker: Asker, question: Question, options: Options, row: Row, way: Strategy
) -> Result:
    """Return the answer; "infeasible" if constraints leave a feature without any value."""
    began = time.perf_counter()
    try:
        return asker.ask(question, options, row, way)
    except NothingAdmissibleError:
        seconds = time.perf_counter() - began
        return Result(
            status="infeasible",
            stop_reason="proved",
            distance=inf,
            lower_bound=inf,
            backend="none",
            target=question.target,
            verified=False,
            timings=Timings(read=asker.model.seconds, total=seconds),
            trace=((seconds, inf, inf),),
        )


@dataclass(frozen=True, eq=False)
class Trials:
    """Solver of the query without some of its demands, all within one time limit."""

    demands: Demands  # those of the query
    options: Options  # with one time limit for all solves together
    began: float  # ``time.perf_counter()`` at the call

    def nearest(self, dropped: frozenset[int], instead: Instead | None = None) -> Result | None:
        """Return the cheapest answer; None if the query cannot be encoded."""
        return self._ask(*self.demands.without(dropped, instead))

    def nearest_in(self, name: str, instead: Instead) -> Result | None:
        """Return an answer with the smallest change of one feature; None if not encodable."""
        asker, question = self.demands.without(frozenset(), instead)
        weights = dict.fromkeys((f.name for f in asker.model.space.features), 0.0) | {name: 1.0}
        return self._ask(asker, replace(any_answer(question), scale="none", weights=weights))

    def any(self, dropped: frozenset[int], instead: Instead | None = None) -> Result | None:
        """Return any answer, whatever its cost; None if the query cannot be encoded.

        Relations may need bounds that are dropped. An answer within these bounds serves as well.
        """
        answer = self._any(dropped, instead)
        bounds = {at for at in dropped if self.demands.members[at].kind == "bounds"}
        if answer is not None or not bounds:
            return answer
        within = self._any(dropped - bounds, instead)
        return None if within is None or within.row is None else within

    def _any(self, dropped: frozenset[int], instead: Instead | None) -> Result | None:
        asker, question = self.demands.without(dropped, instead)
        question = any_answer(question)
        free = {feature.name: 0.0 for feature in asker.model.space.features}
        return self._ask(asker, replace(question, weights=free))

    def _ask(self, asker: Asker, question: Question) -> Result | None:
        limit_s = max(self.left, LEAST_S)
        options = replace(self.options, time_limit_s=limit_s)
        way = self.demands.asker.strategy(question, options)
        try:
            return ask_or_refute(asker, question, options, self.demands.row, way)
        except InputError:  # such as relations without bounds
            return None

    @property
    def left(self) -> float:
        """Seconds until the time limit."""
        return self.options.time_limit_s - (time.perf_counter() - self.began)

    @property
    def over(self) -> bool:
        """True if the time is over or the user interrupted."""
        return self.left <= 0 or self.demands.asker.stopped


@dataclass(eq=False)
class Conflict:
    """Conflicting demands, as far as they have been determined.

    Attributes
    ----------
    trials : Trials, solves queries without some demands.
    kept : set of int, places of the demands in the conflict; at first all.
    needed : set of int, places of the demands proved necessary for it.
    on_step : callable (Conflict), called after each decision.
    """

    trials: Trials
    on_step: Callable[["Conflict"], None]
    kept: set[int] = field(init=False)
    needed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.kept = set(range(len(self.trials.demands.members)))

    def shrink(self) -> None:
        """Leave out demands that the conflict does not need, first by kind and then one by one."""
        members = self.trials.demands.members
        blocks: dict[str, list[int]] = {}
        for at, member in enumerate(members):
            name = "own" if member.kind in ("constraint", "margin") else member.kind
            blocks.setdefault(name, []).append(at)
        for block in blocks.values():
            self._leave_out(block)

    @property
    def minimal(self) -> bool:
        """True if each demand is proved to be needed."""
        return self.needed == self.kept

    def _leave_out(self, block: Sequence[int]) -> None:
        if self.trials.over:
            return
        answer = self.trials.any(frozenset(self._others | set(block)))
        status = "unknown" if answer is None else answer.status
        if status == "infeasible":
            self.kept -= set(block)
        elif len(block) == 1:
            if status in ("optimal", "feasible"):
                self.needed |= set(block)
        else:
            half = len(block) // 2
            self._leave_out(block[:half])
            self._leave_out(block[half:])
            return
        self.on_step(self)

    @property
    def _others(self) -> set[int]:
        return set(range(len(self.trials.demands.members))) - self.kept
