"""Large models are asked about what is near first; a proof about that is one about all rows."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from encoders.arrays import FloatArray
from encoders.backends.attempt import Provenance, in_turn
from encoders.backends.interface import Request
from encoders.backends.stopping import why
from encoders.posing.goal_rows import is_linear
from encoders.posing.nearby import Nearby, nearby
from encoders.posing.pose import Posed
from encoders.posing.wide_columns import Region
from encoders.problem.flat_problem import tabulate
from encoders.query.query import Query
from encoders.reduce.incumbent import find_incumbent
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.solving.certify import Certificate, Times
from portfolio.solving.verify import Verified

# Leaves of a model of which not all are posed at once. With fewer, posing all of them takes less
# than the looks at what is near.
MANY_LEAVES = 10_000
# Of the cost of what was seen: by so much it is below the cutoff, so that it is not given up as one
# that costs the same.
ABOVE = 1e-8
WIDER = 1.5  # times a radius in which the model refuses all is the next one at most
STARTS = 4  # nearest training rows that a look begins from

Certify = Callable[[Posed, Request], Certificate]
Confirm = Callable[[FloatArray, float], Verified | None]


@dataclass(frozen=True, eq=False)
class NearFirst:
    """A question about a large model.

    Attributes
    ----------
    near : the question, to be posed within any radius
    view : has training rows
    request : its cutoff is that of the whole question
    deadline : ``time.perf_counter()`` at which to stop
    certify : what is proved of a posed part, given the request with its cutoff
    confirm : a row of the cost told, if the model itself says that it is an answer
    """

    near: Nearby
    view: ClassView
    request: Request
    deadline: float
    certify: Certify
    confirm: Confirm

    def answer(self) -> Certificate:
        """What is proved of the whole question, and where there is no time for that some answer."""
        seen: list[tuple[float, FloatArray]] = []
        held = self._answer(seen)
        if held.status != "unknown":
            return held
        for cost, row in sorted(seen, key=lambda found: found[0]):
            known = self.confirm(row, cost)
            if known is not None and known.distance < self.request.cutoff:
                lower = min(held.lower, known.distance)
                return replace(held, status="feasible", answer=known, lower=lower)
        return held

    def _answer(self, seen: list[tuple[float, FloatArray]]) -> Certificate:
        """What is proved of the whole question.

        A look at what is near finds some choice. All that cost no more are within the radius of
        its cost, so that what is proved within that radius is proved of all. Where the model
        itself refuses them, nothing lies within it, and the next look goes further.
        """
        known: Certificate | None = None
        proved = -1.0  # nothing costs at most this
        radius, cutoff = self.near.wider(proved), self.request.cutoff
        while radius is not None and radius < cutoff and not self._over():
            cost = self._found(radius, seen)
            if cost is not None and cost <= proved:  # what the model itself refuses, once more
                cost = radius
            if cost is not None:
                if cost >= cutoff or self._over():  # posing it takes a while, too
                    break
                own = self._proved(cost)
                known = own if known is None else _after(known, own)
                if own.status != "infeasible" or own.gave_up:
                    return known
                proved = cost
            radius = self._next(max(radius, proved), proved)
        if self._over():  # posing all takes seconds
            unknown = Certificate(
                "unknown", why(self.request), None, 0.0, Times(), Provenance(),
                margin=self.near.query.margin,
            )  # fmt: skip
            return unknown if known is None else _after(known, unknown)
        # Nothing beyond the cutoff is asked for.
        within = self.near.within(cutoff) if cutoff < math.inf else None
        rest = self.certify(within or self.near.whole(), self.request)
        return rest if known is None else _after(known, rest)

    def _proved(self, cost: float) -> Certificate:
        """What is proved of all that costs at most this."""
        cutoff = math.nextafter(cost * (1 + ABOVE), math.inf)
        within = self.near.within(cutoff)
        assert within is not None  # some choice was found there
        return self.certify(within, replace(self.request, cutoff=cutoff))

    def _next(self, radius: float, proved: float) -> float | None:
        """The next radius to look within; not much more where answers are expected near."""
        wider = self.near.wider(radius)
        return wider if wider is None or proved <= 0 else min(wider, WIDER * radius)

    def _found(self, radius: float, seen: list[tuple[float, FloatArray]]) -> float | None:
        """Cost of some choice that the trees decide as wanted; None if none is found near.

        It joins what was seen.
        """
        posed = self.near.around(radius)
        if posed is None:
            return None
        starts = posed.closest(self.view.near(self.near.query.goal), STARTS)
        found = find_incumbent(posed.problem, tabulate(posed.problem), starts, self._over)
        if found is None:
            return None
        cost = posed.problem.distance(found)
        seen.append((cost, posed.decode(found)))
        self.request.on_bounds(cost, 0.0)
        return cost

    def _over(self) -> bool:
        return self.request.stop.is_set() or time.perf_counter() >= self.deadline


def near_first(reading: ExplainedModel, query: Query, region: Region) -> Nearby | None:
    """The question, if it is one about a large model; None if all of it is posed at once.

    Parameters
    ----------
    reading : the model
    query : what is asked
    region : classes that are posed alone
    """
    view = reading.views[query.goal.target]
    if view.cells.node.size < MANY_LEAVES or view.cells.groups or query.related is not None:
        return None
    if not is_linear(view.ensemble, query.goal):  # each look would approach it anew
        return None
    return nearby(view.ensemble, view.cells, reading.space, query, region)


def _after(before: Certificate, now: Certificate) -> Certificate:
    """What is proved now, with what it took to get there."""
    attempts = in_turn([before.provenance.attempts, now.provenance.attempts])
    # What was refused within a radius is a bound, unless nothing that is said now can be relied on.
    lower = now.lower if now.message else max(before.lower, now.lower)
    return replace(
        now,
        lower=lower if now.answer is None else min(lower, now.answer.distance),
        times=before.times + now.times,
        provenance=replace(now.provenance, attempts=attempts),
    )
