"""Goals that are no linear rows: solved part by part, the part with the least bound first.

The rows of a part admit more than the goal. A choice that they admit and the model refuses cuts
itself off, or splits the part in two. What has been found cuts off the other parts, and once none
is left that could hold less, the answer is proved.
"""

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from encoders.arrays import IntArray
from encoders.backends.attempt import Attempt, Provenance, SolveReported, in_turn
from encoders.backends.interface import Request, Status, StopReason
from encoders.posing.pose import Posed
from encoders.posing.relaxation import Relaxation
from encoders.posing.requirements import Part
from portfolio.solving.certify import Appeal, Certificate, PosedQuery, Times, certify
from portfolio.solving.verify import Verified

MOST_CUTS = 3  # rows that cut off a refused choice, for each part, before it is split


def certify_goal_parts(
    asked: PosedQuery,
    solve: SolveReported,
    request: Request,
    appeal: Appeal = lambda out: None,
    most_refused: float = math.inf,
) -> Certificate:
    """Find the cheapest choice that the native model confirms, in any part of the goal.

    Parameters
    ----------
    asked : its posed query has a relaxation
    solve, request, appeal : as of :func:`portfolio.solving.certify.certify`
    most_refused : give up once more cells than this were refused though the goal holds there but
        for rounding
    """
    deadline = time.perf_counter() + request.time_limit_s
    relaxation = asked.posed.relaxation
    assert relaxation is not None
    search = _Search(asked, relaxation, request, most_refused)
    search.begin()
    while search.goes_on(deadline):
        search.solve_next(solve, appeal, deadline)
    return search.certificate()


@dataclass(eq=False)
class _Search:
    """What the parts that were solved have found, and those that are left.

    Attributes
    ----------
    open : least cost, number, part; a heap
    closed : the least that an answer in a part without anything left to decide may cost
    refused : choices that the native model refused, in any part
    ties : how many of them were refused where the goal holds but for rounding
    last : the certificate of the last part
    """

    asked: PosedQuery
    relaxation: Relaxation
    request: Request
    most_refused: float
    open: list[tuple[float, int, Part]] = field(default_factory=list)
    closed: float = math.inf
    best: Verified | None = None
    refused: list[IntArray] = field(default_factory=list)
    ties: int = 0
    count: int = 0
    times: Times = field(default_factory=Times)
    attempts: tuple[Attempt, ...] = ()
    last: Certificate | None = None
    stopped: StopReason | None = None
    within_gap: bool = False

    def begin(self) -> None:
        """Open the whole goal; a training row that reaches it is the first answer."""
        self._push(0.0, self.relaxation.whole)
        if self.asked.witnesses is not None:
            self.best = self.asked.witnesses.find(self.asked.posed.problem, self.request.cutoff)

    def goes_on(self, deadline: float) -> bool:
        """Whether a part is left that may hold something better, and time."""
        if not self.open or self.stopped is not None or self.open[0][0] >= self._cutoff():
            return False
        if time.perf_counter() >= deadline:
            self.stopped = "time_limit"
        return self.stopped is None

    def solve_next(self, solve: SolveReported, appeal: Appeal, deadline: float) -> None:
        """Solve the part with the least bound, and close it or split it."""
        lower, _, part = heapq.heappop(self.open)
        posed = self._posed(part)
        guide = _Guide(self.relaxation, part, posed, self.most_refused - self.ties)
        others = min([entry[0] for entry in self.open], default=math.inf)
        held = certify(
            replace(self.asked, posed=posed, witnesses=None),
            solve,
            replace(
                self.request,
                time_limit_s=deadline - time.perf_counter(),
                cutoff=self._cutoff(),
                on_bounds=self._told(min(others, self.closed), lower),
            ),
            appeal,
            pause=guide.pause,
        )
        self._take(held)
        self.ties += guide.ties
        lower = max(lower, min(held.lower, self._cutoff()))
        if guide.halves is not None:
            for half in guide.halves:
                self._push(lower, half)
        elif held.status in ("optimal", "infeasible") or held.stop_reason == "gap":
            self.closed = min(self.closed, lower)
            self.within_gap |= held.stop_reason == "gap"
        else:
            self._push(lower, part)
            self.stopped = held.stop_reason
        if held.message:
            self.stopped = held.stop_reason
        self.request.on_bounds(self._distance(), self._lower())

    def certificate(self) -> Certificate:
        """What is known of all parts together."""
        gave_up = self.ties > self.most_refused
        last = self.last
        status: Status = "unknown" if self.best is None else "feasible"
        reason: StopReason = self.stopped or ("gap" if self.within_gap else "proved")
        if reason == "proved" and not gave_up:
            status = "infeasible" if self.best is None else "optimal"
        message = "" if last is None else last.message
        provenance = Provenance("reduce") if last is None else last.provenance
        if status not in ("optimal", "infeasible"):
            provenance = replace(provenance, certified_by="")
        return Certificate(
            status=status,
            stop_reason=reason,
            answer=self.best,
            lower=0.0 if message else self._lower(),
            times=self.times,
            provenance=replace(provenance, attempts=self.attempts),
            message=message,
            margin=self.asked.query.margin,
            gave_up=gave_up,
            refused=tuple(self.refused),
        )

    def _posed(self, part: Part) -> Posed:
        """The problem of a part, without those choices in it that have been refused."""
        posed = self.asked.posed.within(part)
        problem = posed.problem
        for refused in self.refused:
            choice = refused[: problem.n_axes]  # later axes came with its own problem
            if problem.keeps_rows(choice):
                problem = problem.without(choice)
        return replace(posed, problem=problem)

    def _push(self, lower: float, part: Part) -> None:
        self.count += 1
        heapq.heappush(self.open, (lower, self.count, part))

    def _take(self, held: Certificate) -> None:
        self.last = held
        self.times += held.times
        self.attempts = in_turn([self.attempts, held.provenance.attempts])
        self.refused += held.refused
        if held.answer is not None and held.answer.distance < self._distance():
            self.best = held.answer

    def _told(self, others: float, own: float) -> Callable[[float, float], None]:
        """Bounds of one part as bounds of all; its choices are not verified yet."""
        best, tell = self._distance(), self.request.on_bounds

        def told(upper: float, lower: float) -> None:
            tell(best, min(max(own, lower), others, best))

        return told

    def _distance(self) -> float:
        return math.inf if self.best is None else self.best.distance

    def _cutoff(self) -> float:
        return min(self.request.cutoff, self._distance())

    def _lower(self) -> float:
        open_ = [entry[0] for entry in self.open]
        return min([self.closed, self._distance(), *open_])


@dataclass(eq=False)
class _Guide:
    """Says what becomes of a part once a choice in it has been refused.

    Attributes
    ----------
    most_ties : pause once more of them were refused where the goal holds but for rounding
    cuts : how many were cut off by a row so far
    halves : the parts that it is split into
    """

    relaxation: Relaxation
    part: Part
    posed: Posed
    most_ties: float
    cuts: int = 0
    ties: int = 0
    halves: tuple[Part, Part] | None = None

    def pause(self, choice: IntArray) -> bool:
        problem = self.posed.problem
        self.cuts += 1
        cut = self.relaxation.cut(self.part, problem, choice) is not None
        if cut and self.cuts <= MOST_CUTS:
            return False
        self.halves = self.relaxation.split(self.part, problem, choice)
        if self.halves is not None:
            return True
        self.ties += not cut
        return self.ties > self.most_ties
