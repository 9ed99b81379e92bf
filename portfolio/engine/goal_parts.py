"""Goals that are not linear rows, solved part by part, the part of least bound first.

The rows of a part admit more than the goal. A choice that they admit and the model rejects is cut
off, or splits the part in two. Answers are cutoffs for other parts. Once no part remains that could
contain a cheaper one, the answer is proved.

Rows are closer to the goal if answers must cost less. So trials with a low cost limit come first.
If a trial finds nothing, the next one has a higher limit, and the bound is that of the last trial.
"""

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from encoders.backends.attempt import Attempt, Provenance, SolveReported, in_turn
from encoders.backends.interface import Request, StopReason
from encoders.core.arrays import IntArray
from encoders.formulation.pose import Posed
from encoders.formulation.relaxation import Relaxation
from encoders.formulation.requirements import Part
from encoders.presolve.usable import usable
from portfolio.engine.certificate import Certificate, Times
from portfolio.engine.certify import Appeal, broken_invariant, certify, uncertified
from portfolio.engine.findings import OVERLOOKED, PosedQuery
from portfolio.engine.verify import Verified

MOST_CUTS = 3  # rows that cut off rejected choices of a part, before it is split

# Maximal rounds of narrowing, and the share of remaining leaves above which no round follows. Each
# round recomputes rows, which then takes longer than it saves.
NARROWINGS, AGAIN = 4, 0.8

# The first trial's cost limit as a share of the largest cost, and the factor between trials. With
# smaller shares more trials find nothing; with larger ones trials have many more leaves.
FIRST, WIDER = 1 / 32, 1.5


@dataclass(frozen=True, eq=False)
class GoalPart:
    """Range of each lead, and the leaves that matter there."""

    posed: Posed  # problem with those leaves; its rows are of the part, or of one that contains it
    part: Part  # part of the goal

    @property
    def relaxation(self) -> Relaxation:
        """Relaxation that gives the part's rows."""
        assert self.posed.relaxation is not None
        return self.posed.relaxation

    def narrowed(self, cutoff: float) -> "GoalPart | None":
        """Return what costs less than a cutoff, with new rows; None if nothing does.

        The fewer leaves matter, the closer together leads are, and the closer rows are to the goal.
        The closer rows are, the fewer leaves matter.
        """
        posed, part = self.posed, self.part
        for _ in range(NARROWINGS):
            alive = usable(posed.problem, cutoff)
            if alive is None:
                return None
            few = alive.sum() <= AGAIN * alive.size
            posed = posed.only(alive)
            assert posed.relaxation is not None
            within = part.among(posed.relaxation.whole)
            if within is None:
                return None
            part = within
            posed = posed.within(part)
            if not few:
                break
        return GoalPart(posed, part)

    def anew(self) -> "GoalPart":
        """Return the part with new rows, and all of its leaves."""
        return replace(self, posed=self.posed.within(self.part))

    def without(self, refused: tuple[IntArray, ...]) -> "GoalPart":
        """Return the part after some choices have been cut off."""
        problem = self.posed.problem
        for levels in refused:
            choice = levels[: problem.n_axes]  # later axes belong to the part's own problem
            if problem.keeps_rows(choice):
                problem = problem.without(choice)
        return replace(self, posed=replace(self.posed, problem=problem))


@dataclass(eq=False)
class Guide:
    """Decision on a part after a choice in it has been rejected."""

    at: GoalPart  # the part
    most_ties: float  # number of ties after which the part is left; ties hold but for rounding
    cuts: int = 0  # number of choices that were cut off so far
    ties: int = 0  # number of ties among them
    halves: tuple[Part, Part] | None = None  # parts that it is split into, or None

    def pause(self, choice: IntArray) -> bool:
        """Return whether to leave the part, because it is split or has too many ties."""
        problem, relaxation, part = self.at.posed.problem, self.at.relaxation, self.at.part
        self.cuts += 1
        cut = relaxation.cut(part, problem, choice) is not None
        if cut and self.cuts <= MOST_CUTS:
            return False
        self.halves = relaxation.split(part, problem, choice)
        if self.halves is not None:
            return True
        self.ties += not cut
        return self.ties > self.most_ties


def certify_goal_parts(
    task: PosedQuery,
    solve: SolveReported,
    request: Request,
    appeal: Appeal = lambda out: None,
    most_refused: float = math.inf,
    narrow: bool = True,
) -> Certificate:
    """Find the cheapest choice that the native model confirms, in any part of the goal."""
    deadline = time.perf_counter() + request.time_limit_s
    search = _Search(task, request, most_refused, narrow)
    search.begin()
    while search.goes_on(deadline):
        search.solve_next(solve, appeal, deadline)
    return search.certificate()


@dataclass(eq=False)
class _Search:
    """Results of the parts solved so far, and the remaining parts.

    Attributes
    ----------
    task : the encoded query and its verifiers.
    request : request of the whole search.
    most_refused : number of ties after which the search gives up.
    narrow : whether parts are narrowed to the current cost limit.
    trial : current limit on the cost of answers.
    open : heap of (least cost, number, part).
    closed : lower bound on the cost of answers in parts that are finished.
    best : best verified answer, or None.
    refused : choices that the native model rejected, in any part.
    ties : number of them that were rejected where the goal holds but for rounding.
    count : number of parts so far.
    times : seconds of all parts.
    attempts : attempts of backends in all parts.
    last : certificate of the last part.
    stopped : reason why the search ended early, or None.
    within_gap : whether a part ended within the allowed gap.
    """

    task: PosedQuery
    request: Request
    most_refused: float
    narrow: bool
    trial: float = math.inf
    open: list[tuple[float, int, GoalPart]] = field(default_factory=list)
    closed: float = math.inf
    best: Verified | None = None
    refused: tuple[IntArray, ...] = ()
    ties: int = 0
    count: int = 0
    times: Times = field(default_factory=Times)
    attempts: tuple[Attempt, ...] = ()
    last: Certificate | None = None
    stopped: StopReason | None = None
    within_gap: bool = False

    def begin(self) -> None:
        """Open the whole goal; a training row that reaches it is the first answer."""
        if self.task.witnesses is not None:
            self.best = self.task.witnesses.find(self.task.posed.problem, self.request.cutoff)
        if self.narrow:
            self.trial = FIRST * self._most()
        self._open_all(0.0)

    def goes_on(self, deadline: float) -> bool:
        """Return whether a part that may contain a cheaper answer is left, and time."""
        if self.stopped is not None:
            return False
        if not self.open or self.open[0][0] >= self._limit():
            if self._cutoff() <= self.trial:
                return False
            self._widen()
        if time.perf_counter() >= deadline:
            self.stopped = "time_limit"
        return self.stopped is None

    def solve_next(self, solve: SolveReported, appeal: Appeal, deadline: float) -> None:
        """Solve the part of least bound, and close it or split it."""
        lower, _, whole = heapq.heappop(self.open)
        at = whole.narrowed(self._limit()) if self.narrow else whole.anew()
        if at is None:
            self.closed = min(self.closed, self._limit())
            self.request.on_bounds(self._distance(), self._lower())
            return
        guide = Guide(at, self.most_refused - self.ties)
        others = min([entry[0] for entry in self.open], default=math.inf)
        certificate = certify(
            replace(self.task, posed=at.posed, witnesses=None, whole=False),
            solve,
            replace(
                self.request,
                time_limit_s=deadline - time.perf_counter(),
                cutoff=self._limit(),
                on_bounds=self._bounds_of_part(min(others, self.closed), lower),
            ),
            appeal,
            pause=guide.pause,
        )
        lower = max(lower, min(certificate.lower, self._limit()))
        self._take(certificate)
        self.ties += guide.ties
        if guide.halves is not None:
            remaining = at.without(certificate.refused)
            for half in guide.halves:
                self._push(lower, replace(remaining, part=half))
        elif certificate.status in ("optimal", "infeasible") or certificate.stop_reason == "gap":
            self.closed = min(self.closed, lower)
            self.within_gap |= certificate.stop_reason == "gap"
        else:
            self._push(lower, at)
            self.stopped = certificate.stop_reason
        if certificate.message:
            self.stopped = certificate.stop_reason
        self.request.on_bounds(self._distance(), self._lower())

    def certificate(self) -> Certificate:
        """Return the joint certificate of all parts."""
        last, query, lower = self.last, self.task.query, self._lower()
        gave_up = self.ties > self.most_refused
        gap = self.within_gap and lower < self._distance()
        reason: StopReason = self.stopped or ("gap" if gap else "proved")
        if reason == "proved" and gave_up:
            reason = "time_limit"
        provenance = Provenance("reduce") if last is None else last.provenance
        certificate = Certificate(
            answer=self.best,
            lower=lower,
            stop_reason=reason,
            times=self.times,
            provenance=replace(provenance, attempts=self.attempts),
            margin=query.margin,
            gave_up=gave_up,
            refused=tuple(self.refused),
        ).doubted("" if last is None else last.message)
        if certificate.proved:
            certificate = certificate.doubted(broken_invariant(self.task.posed.problem))
        witnesses = self.task.witnesses
        if certificate.status == "infeasible" and witnesses is not None:
            row = witnesses.find_repaired(self.request.cutoff)
            if row is not None:
                certificate = replace(certificate, answer=row).doubted(OVERLOOKED)
        return certificate if certificate.proved else uncertified(certificate)

    def _open_all(self, lower: float) -> None:
        """Open the whole goal with a lower bound."""
        posed = self.task.posed
        assert posed.relaxation is not None
        whole = GoalPart(posed, posed.relaxation.whole)
        self.open, self.closed, self.within_gap = [], math.inf, False
        self._push(lower, whole.without(self.refused))

    def _widen(self) -> None:
        """Raise the cost limit of the trial, as no answer costs less."""
        lower = min(self._lower(), self.trial)
        self.trial = WIDER * self.trial
        if self.trial >= self._most():
            self.trial = math.inf
        self._open_all(lower)

    def _most(self) -> float:
        """Return an upper bound on the cost of answers."""
        if self._cutoff() < math.inf:
            return self._cutoff()
        problem = self.task.posed.problem
        dearest = np.maximum.reduceat(problem.cost, problem.level_start[:-1])
        return float(dearest.sum() if problem.aggregate == "sum" else dearest.max())

    def _push(self, lower: float, part: GoalPart) -> None:
        self.count += 1
        heapq.heappush(self.open, (lower, self.count, part))

    def _take(self, certificate: Certificate) -> None:
        self.last = certificate
        self.times += certificate.times
        self.attempts = in_turn([self.attempts, certificate.provenance.attempts])
        self.refused += certificate.refused
        if certificate.answer is not None and certificate.answer.distance < self._distance():
            self.best = certificate.answer

    def _bounds_of_part(self, others: float, least: float) -> Callable[[float, float], None]:
        """Return a callback that reports the bounds of one part as bounds of all.

        Choices of a part are not verified yet, so its upper bound is not reported.
        """
        best, on_bounds = self._distance(), self.request.on_bounds

        def report(upper: float, lower: float) -> None:
            on_bounds(best, min(max(least, lower), others, best))

        return report

    def _distance(self) -> float:
        return math.inf if self.best is None else self.best.distance

    def _cutoff(self) -> float:
        return min(self.request.cutoff, self._distance())

    def _limit(self) -> float:
        return min(self._cutoff(), self.trial)

    def _lower(self) -> float:
        open_ = [entry[0] for entry in self.open]
        return min([self.closed, self._distance(), *open_])
