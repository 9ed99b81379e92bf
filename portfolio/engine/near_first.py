"""Limited-distance subproblems of large models, whose proofs hold for all rows."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from encoders.backends.interface import Request
from encoders.backends.stopping import why
from encoders.core.arrays import FloatArray
from encoders.core.errors import OutOfTimeError, look
from encoders.formulation.goal_rows import is_linear
from encoders.formulation.nearby import Nearby, nearby
from encoders.formulation.pose import Posed
from encoders.presolve.incumbent import find_incumbent
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import Problem
from portfolio.engine.certificate import Certificate
from portfolio.engine.task import QueryTask, Solve
from portfolio.engine.verify import Verified, verify
from portfolio.model.explained_model import ClassView

# Leaves of a model from which on not all are encoded at once. With fewer, encoding all of them is
# faster than limited-distance searches.
MANY_LEAVES = 10_000
# Relative distance of the cutoff above the cost of a known choice, so that this choice is below the
# cutoff.
ABOVE = 1e-8
# Leaves of a model from which on not even those within the cost of a known choice are encoded at
# once. Default forests of tens of thousands of rows have fewer, encoded in a tenth of a second.
VERY_MANY_LEAVES = 1_000_000
# Leaves within the cost of a known choice from which on smaller radii are solved first. With fewer,
# all of them take less than a second.
MANY_WITHIN = 20_000
MANY_LOOKED_AT = 200_000  # limit for the last search; with more it takes several seconds
WIDER = 1.5  # factor between radii after the model has rejected all choices
STARTS = 4  # nearest training rows from which a search starts

Certify = Callable[[Posed, Request], Certificate]
Confirm = Callable[[FloatArray, float], Verified | None]


@dataclass(eq=False)
class NearFirst:
    """Query about a large model; :meth:`answer` is called once.

    Attributes
    ----------
    near : query that can be encoded within any radius.
    view : trees of the target class, with training rows.
    request : request with the cutoff of the whole query.
    certify : function that certifies an encoded part within a request.
    confirm : function that verifies a row of given cost with the model itself.
    choices : costs and rows of choices that the trees assign to the target.
    joint : certificate so far, None before anything is proved.
    proved : cost up to which nothing exists.
    far : whether the radius limits the cost of a row, and not only that of each level.
    reported_lower : lower bound that was reported on the way.
    """

    near: Nearby
    view: ClassView
    request: Request
    certify: Certify
    confirm: Confirm
    choices: list[tuple[float, FloatArray]] = field(default_factory=list)
    joint: Certificate | None = None
    proved: float = -1.0
    far: bool = False
    reported_lower: float = 0.0

    def answer(self) -> Certificate:
        """Return the certificate of the whole query, with an unproved answer if time runs out."""
        on_bounds, cutoff = self.request.on_bounds, self.request.cutoff

        def record(upper: float, lower: float) -> None:
            self.reported_lower = max(self.reported_lower, min(lower, cutoff, upper))
            on_bounds(upper, lower)

        self.request = replace(self.request, on_bounds=record)
        try:
            self._join(self._answer())
        except OutOfTimeError:
            self._join(cut_off(self.request, self.near.query.margin))
        certificate = self.joint
        assert certificate is not None
        if certificate.proved:
            return certificate
        if not certificate.message and math.isfinite(self.reported_lower):
            # Time may have run out in the search that reported it.
            certificate = certificate.raised(self.reported_lower)
        limit = min(certificate.distance, self.request.cutoff)
        for cost, row in sorted(self.choices, key=lambda pair: pair[0]):
            if cost >= limit:
                break
            verified = self.confirm(row, cost)
            if verified is not None:
                return certificate.including(verified)
        return certificate

    def _answer(self) -> Certificate:
        """Return the certificate of the whole query.

        A search within a radius finds some choice. All cheaper choices lie within the radius of its
        cost, so a proof within that radius holds for all rows. If the model rejects all choices
        there, nothing lies within it, and the next search goes further.
        """
        first, cutoff = self._choose(), self.request.cutoff
        radius = first or self.near.wider(self.proved)
        while radius is not None and radius < cutoff:
            look(self.near.over)
            near = self.near
            cost = first or self._search(
                near.within(radius) if self.far else near.around(radius, cutoff)
            )
            first = None
            if cost is not None and cost <= self.proved:  # a choice that the model rejects
                cost = radius
            if cost is not None:
                if cost >= cutoff:
                    break
                certificate = self._within(cost, radius)
                if certificate is not None:
                    return certificate
            radius = self._next(max(radius, self.proved))
        look(self.near.over)
        # Costs beyond the cutoff are of no interest.
        within = self.near.within(cutoff) if cutoff < math.inf else None
        return self.certify(within or self.near.whole(), self.request)

    def _within(self, cost: float, radius: float) -> Certificate | None:
        """Certify all that costs at most the cost of a choice; return None if nothing does.

        If this is a large problem, cheaper choices are searched for first, and smaller radii are
        certified first.
        """
        reach = cost
        if self.near.cells.node.size > VERY_MANY_LEAVES:
            cost = reach = self._nearer(cost, radius)
            while reach > 2 * max(radius, self.proved) and self.near.count(reach) > MANY_WITHIN:
                reach /= 2
        while True:
            look(self.near.over)
            certificate = self._certify_within(reach, cost)
            if certificate.status != "infeasible" or certificate.gave_up:
                return certificate
            self._join(certificate)
            self.proved = reach
            if reach >= cost:
                return None
            self.request.on_bounds(cost, reach)
            reach = min(2 * reach, cost)

    def _nearer(self, cost: float, radius: float) -> float:
        """Return the cost of a cheaper choice, searched for while the problem is large."""
        while self.near.count(cost) > MANY_WITHIN:
            wider = self.near.wider(radius)
            if wider is None or wider >= cost:
                break
            radius, around = wider, self.near.around(wider, cost)
            cost = min(cost, self._search(around) or cost)
            if around is not None and around.problem.n_leaves > MANY_WITHIN:
                break
        if MANY_WITHIN < self.near.count(cost) <= MANY_LOOKED_AT:
            cost = min(cost, self._search(self.near.within(cost)) or cost)
        return cost

    def _certify_within(self, reach: float, cost: float) -> Certificate:
        """Certify all that costs at most ``reach``, where a choice of ``cost`` is known.

        Answers beyond it are kept in ``seen``.
        """
        cutoff = math.nextafter(reach * (1 + ABOVE), math.inf)

        def report(upper: float, lower: float) -> None:
            # A bound at the cutoff is not the cost of a known choice.
            self.request.on_bounds(upper if upper < cutoff else cost, lower)

        within = self.near.within(cutoff)
        if within is None:
            return Certificate(None, reach, "proved", margin=self.near.query.margin)
        request = replace(self.request, cutoff=cutoff)
        if reach < cost:
            request = replace(request, on_bounds=report)
        certificate = self.certify(within, request)
        if certificate.answer is None or certificate.answer.distance <= cutoff:
            return certificate
        self.choices.append((certificate.answer.distance, certificate.answer.row))
        return replace(certificate, answer=None)

    def _next(self, radius: float) -> float | None:
        """Return the next radius; a slightly larger one if answers are expected near."""
        wider = self.near.wider(radius)
        self.far = wider is None
        if wider is None:
            return self.near.further(radius)
        return wider if self.proved <= 0 else min(wider, WIDER * radius)

    def _choose(self) -> float | None:
        """Return the cost of a choice that is found without encoding, None without one."""
        choice = self.near.choice
        return None if choice is None else self._keep(*choice)

    def _search(self, posed: Posed | None) -> float | None:
        """Return the cost of some choice that the trees assign to the target, None without one.

        The choice is added to ``seen``.
        """
        if posed is None or not _attainable(posed.problem):
            return None
        starts = posed.closest(self.view.near(self.near.query.goal), STARTS)
        over = self.near.over
        choice = find_incumbent(posed.problem, tabulate(posed.problem, over), starts, over)
        if choice is None:
            return None
        return self._keep(posed.problem.distance(choice), posed.decode(choice))

    def _keep(self, cost: float, row: FloatArray) -> float:
        """Record a choice that the trees assign to the target, and return its cost."""
        self.choices.append((cost, row))
        self.request.on_bounds(cost, max(self.proved, 0.0))
        return cost

    def _join(self, certificate: Certificate) -> None:
        self.joint = certificate if self.joint is None else self.joint.then(certificate)


def _attainable(problem: Problem) -> bool:
    """Return whether the best leaves of all trees together satisfy each leaf row."""
    return all(row.largest(problem.tree_start) >= row.minimum for row in problem.leaf_rows)


def cut_off(request: Request, margin: float) -> Certificate:
    """Return the certificate of an unsolved query whose time ran out."""
    return Certificate(None, 0.0, why(request), margin=margin)


def near_first(task: QueryTask, rest: Solve) -> NearFirst | None:
    """Return the search of a large model within radii; None if all of it is encoded at once."""
    near = _nearby(task) if task.strategy.in_parts else None
    if near is None:
        return None
    confirm = partial(verify, query=task.query, space=task.model.space, oracle=task.oracle)

    def certify(posed: Posed, request: Request) -> Certificate:
        return rest(replace(task, posed=posed, request=request))

    return NearFirst(near, task.view, task.request, certify, confirm)


def _nearby(task: QueryTask) -> Nearby | None:
    """Return the query within radii if the model is large; None if all of it is encoded at once."""
    view, query = task.view, task.query
    if view.cells.node.size < MANY_LEAVES or query.related is not None:
        return None
    if not is_linear(view.ensemble, query.goal):  # each search would repeat the relaxation
        return None
    if view in task.near and not task.region:
        return replace(task.near[view], query=query, over=task.over)
    near = nearby(
        view.ensemble, view.cells, task.model.space, query, task.region, view.additive, task.over
    )
    if not task.region:
        task.near[view] = near
    return near
