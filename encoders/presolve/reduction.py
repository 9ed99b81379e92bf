"""Incumbent, then tighten and compress to a fixpoint."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from encoders.core.arrays import IntArray
from encoders.core.errors import OutOfTimeError, Over, look, never
from encoders.presolve.bounds.lagrange import FEW_STEPS, ROUNDING, bound_by_prices, drop_by_prices
from encoders.presolve.bounds.prices import Prices
from encoders.presolve.compress import Lift, compress, identity
from encoders.presolve.incumbent import find_incumbent
from encoders.presolve.tighten import EFFORTS, NOTHING_LEFT, tighten
from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.flat_problem import Tables, tabulate
from encoders.problem.problem import OnBounds, Problem

# Leaves looked at over all rounds, about 2 ms. With more, reduction may take longer than the search
# that it saves; with less, more is left to the solver.
BUDGET = 20_000
# Literals of a problem, beyond which what costs too much for the cutoff is dropped before an
# incumbent is looked for: with six million of them that alone took 17 s.
MANY_LITERALS = 1_000_000
# Literals that remain, up to which walks from training rows take longer than they save. Without
# these walks queries with forests of 100 trees take 3 to 15 % less time on six tables.
FEW_LITERALS = 3_000
# Share of levels and leaves: a round that drops no more is followed by more expensive rules. A
# smaller share repeats the cheap rules more often.
WORTHWHILE = 0.02
# Share of the leaves that were priced last: with no more left, prices are computed again, which
# takes a millisecond or two. A larger share finds them more often.
AGAIN = 0.8
Refuses = Callable[[IntArray], bool] | None
Starts = Callable[[], IntArray]  # returns choices from which walks start, (n, n_axes)


@dataclass(frozen=True, eq=False)
class Reduction:
    """Problem that remains after presolve.

    Attributes
    ----------
    problem : equivalent problem; None if no choice costs less than ``upper``, which is a proof. For
        each choice of the original below ``upper`` it has one that costs at most as much.
    lift : map to choices of the original problem.
    incumbent : best known choice of the original, or None.
    upper : its cost, or the cutoff if that is lower.
    prices : prices of the remaining problem, None if none were computed for nearly the same one.
    lower : lower bound on the cost of the choices that cost less than ``upper``.
    """

    problem: Problem | None
    lift: Lift
    incumbent: IntArray | None
    upper: float
    prices: Prices | None = None
    lower: float = 0.0


def reduce(
    problem: Problem,
    starts: IntArray | Starts | None,
    cutoff: float = np.inf,
    on_bounds: OnBounds = lambda upper, lower: None,
    over: Over = never,
    refuses: Refuses = None,
) -> Reduction:
    """Shrink a problem to the choices that beat the best one known.

    Walks from ``starts`` are made only if walks from the cheapest choice do not suffice for a
    proof; with None no walks are made at all. Pure and thread safe.
    """
    held = _Held(problem, identity(problem), None, cutoff)
    try:
        return _reduced(problem, held, starts, on_bounds, over, refuses)
    except OutOfTimeError:
        return held.left()


@dataclass(eq=False)
class _Held:
    """State of a reduction.

    Attributes
    ----------
    small, lift : the remaining problem, and the map to choices of the original
    incumbent, upper, lower : the attributes of :class:`Reduction`
    """

    small: Problem
    lift: Lift
    incumbent: IntArray | None
    upper: float
    lower: float = 0.0

    def left(self, prices: Prices | None = None) -> Reduction:
        lower = min(self.lower, self.upper)
        return Reduction(self.small, self.lift, self.incumbent, self.upper, prices, lower)

    def nothing_left(self) -> Reduction:
        return Reduction(None, self.lift, self.incumbent, self.upper, lower=self.upper)

    def take(self, problem: Problem, found: IntArray, on_bounds: OnBounds) -> None:
        """Record a choice of the original problem as incumbent, and report the bounds."""
        self.incumbent, self.upper = found, min(self.upper, problem.distance(found))
        on_bounds(self.upper, min(self.lower, self.upper))


def reduce_more(
    base: Reduction,
    cutoff: float,
    on_bounds: OnBounds = lambda upper, lower: None,
    over: Over = never,
    refuses: Refuses = None,
) -> Reduction:
    """Continue a reduction for a cutoff of at most ``base.upper``.

    The incumbent of ``base`` costs no less than that, so it is dropped. No walks look for another.
    """
    if base.problem is None or cutoff == base.upper:
        return replace(base, incumbent=None, upper=cutoff, lower=min(base.lower, cutoff))
    more = reduce(base.problem, None, cutoff, on_bounds, over, refuses)
    incumbent = None if more.incumbent is None else base.lift.up(more.incumbent)
    lower = min(max(base.lower, more.lower), more.upper)
    return replace(more, lift=base.lift.then(more.lift), incumbent=incumbent, lower=lower)


def _begun(
    problem: Problem,
    tables: Tables,
    held: _Held,
    starts: IntArray | Starts,
    on_bounds: OnBounds,
    over: Over,
    refuses: Refuses,
) -> bool:
    """Find and record an incumbent; return whether walks from ``starts`` may find a better one.

    Choices that are rejected before are excluded from the problem.
    """
    incumbent = None
    if refuses is None:
        incumbent = find_incumbent(problem, tables, _none(problem), over, polished=1)
    quick = incumbent is not None
    if not quick:
        incumbent = find_incumbent(problem, tables, _listed(starts), over)
    while incumbent is not None and refuses is not None and refuses(incumbent):
        look(over)
        held.small = problem = problem.without(incumbent)
        incumbent = find_incumbent(problem, tables, _listed(starts), over)
    if incumbent is not None:
        held.take(problem, incumbent, on_bounds)
    return quick


def _none(problem: Problem) -> IntArray:
    return np.empty((0, problem.n_axes), dtype=np.int64)


def _listed(starts: IntArray | Starts) -> IntArray:
    return starts() if callable(starts) else starts


def _search_again(
    problem: Problem,
    tables: Tables,
    state: _Held,
    starts: IntArray | Starts,
    on_bounds: OnBounds,
    over: Over,
) -> bool:
    """Search for a better incumbent in what remains; return whether there is one."""
    near = state.lift.nearest(_listed(starts), problem.level_start)
    incumbent = find_incumbent(state.small, tables, near, over)
    better = incumbent is not None and state.small.distance(incumbent) < state.upper
    if incumbent is not None and better:
        state.take(problem, state.lift.up(incumbent), on_bounds)
    return better


def _reduced(
    problem: Problem,
    held: _Held,
    starts: IntArray | Starts | None,
    on_bounds: OnBounds,
    over: Over,
    refuses: Refuses,
) -> Reduction:
    """Reduce a problem until nothing more can be dropped; OutOfTimeError if that takes too long."""
    tables = tabulate(problem, over)
    again = starts is not None
    if starts is not None and (problem.axis.size <= MANY_LITERALS or held.upper == np.inf):
        again = _begun(problem, tables, held, starts, on_bounds, over, refuses)
        problem = held.small
    looked, effort, priced = 0, 0, np.inf
    prices: Prices | None = None
    while True:
        look(over)
        small = held.small
        keep = np.ones(small.cost.size, dtype=np.bool_)
        alive = np.ones(small.n_leaves, dtype=np.bool_)
        limit = ceiling_below(held.upper, unit_of(small))
        # Prices are computed again once there is much less to price.
        priceable = problem.aggregate == "sum" and held.upper < np.inf
        if effort >= 1 and small.n_leaves <= AGAIN * priced and priceable:
            priced, prices = small.n_leaves, bound_by_prices(tables, limit, FEW_STEPS, over)
            held.lower = max(held.lower, prices.bound - ROUNDING * limit)
            drop_by_prices(tables, prices, limit, keep, alive)
        dropped, more = tighten(tables, limit, keep, alive, effort, BUDGET - looked)
        looked += more
        if dropped == NOTHING_LEFT:
            return held.nothing_left()
        before = small.cost.size + small.n_leaves
        # What has been rebuilt once, and lost nothing since, would be rebuilt as it is.
        if small is problem or not (keep.all() and alive.all()):
            smaller = compress(small, keep, alive, over)
            if smaller is None:
                return held.nothing_left()
            if prices is not None:
                places = smaller.lift.places(small.level_start)
                prices = prices.within(smaller.leaf, smaller.certain, places)
            small, held.lift = smaller.problem, held.lift.then(smaller.lift)
            held.small = small
            tables = tabulate(small, over)
        if small.n_leaves == 0 and small.admits(tables.best):
            # Only the cost is left to decide, and the optimum may not improve the incumbent.
            if small.distance(tables.best) < held.upper:
                held.incumbent = held.lift.up(tables.best)
                held.upper = problem.distance(held.incumbent)
            return held.nothing_left()
        if starts is not None and again and small.axis.size <= MANY_LITERALS:
            again, looked, effort = False, 0, 0
            worth = held.incumbent is None or small.axis.size > FEW_LITERALS
            if worth and _search_again(problem, tables, held, starts, on_bounds, over):
                continue
        # Cheap rules again as long as they find something; more expensive ones once they do not.
        if before - small.cost.size - small.n_leaves <= WORTHWHILE * before:
            effort += 1
        if effort not in EFFORTS or looked > BUDGET:
            return held.left(prices)
