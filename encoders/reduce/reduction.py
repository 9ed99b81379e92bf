"""Incumbent, then tighten and compress to a fixpoint."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from encoders.arrays import IntArray
from encoders.bounds.lagrange import FEW_STEPS, bound_by_prices, drop_by_prices
from encoders.bounds.prices import Prices
from encoders.problem.cost_unit import ceiling_below, unit_of
from encoders.problem.flat_problem import tabulate
from encoders.problem.problem import OnBounds, Problem
from encoders.reduce.compress import Lift, compress, identity
from encoders.reduce.incumbent import find_incumbent
from encoders.reduce.merge_trees import merge_pairs
from encoders.reduce.tighten import EFFORTS, NOTHING_LEFT, tighten

# Leaves looked at over all rounds, about 5 ms. With more, reduction may take longer than the search
# that it saves; with less, more is left to the solver.
BUDGET = 50_000
# Literals of a problem, beyond which what is too dear for the cutoff is dropped before an incumbent
# is looked for: with six million of them that alone took 17 s.
MANY_LITERALS = 1_000_000
# Share of levels and leaves: a round that drops no more is followed by dearer rules. A smaller
# share repeats the cheap rules more often.
WORTHWHILE = 0.02
# Share of the leaves that were priced last: once no more are left, prices are found anew, which
# takes a millisecond or two. A larger share finds them more often.
AGAIN = 0.8


@dataclass(frozen=True, eq=False)
class Reduction:
    """What is left to decide.

    Attributes
    ----------
    problem : choices of the original that satisfy it and cost less than ``upper`` have an
        equivalent here, at most as costly; None if there are none: ``upper`` is proved
    lift : back to the original problem
    incumbent : the best choice of the original known, or None
    upper : its cost, or the cutoff if that is lower
    prices : of what is left, None if none were found for nearly the same
    """

    problem: Problem | None
    lift: Lift
    incumbent: IntArray | None
    upper: float
    prices: Prices | None = None


def reduce(
    problem: Problem,
    starts: IntArray,
    cutoff: float = np.inf,
    on_bounds: OnBounds = lambda upper, lower: None,
    over: Callable[[], bool] = lambda: False,
) -> Reduction:
    """Shrink a problem to the choices that beat the best one known.

    Pure and thread safe.

    Parameters
    ----------
    problem : as posed; stays as it is
    starts : int64 (n_starts, n_axes), choices from which to look for an incumbent
    cutoff : choices that cost at least this are of no interest
    on_bounds : told of the incumbent as soon as there is one
    over : whether there is no time left; what is left to decide is then as large as it is
    """
    tables, upper = tabulate(problem), cutoff
    later = problem.axis.size > MANY_LITERALS and cutoff < np.inf
    incumbent = None if later else find_incumbent(problem, tables, starts, over)
    if incumbent is not None:
        upper = min(cutoff, problem.distance(incumbent))
        on_bounds(upper, 0.0)
    lift, small, looked, effort, priced = identity(problem), problem, 0, 0, np.inf
    prices: Prices | None = None
    while not over():
        keep = np.ones(small.cost.size, dtype=np.bool_)
        alive = np.ones(small.n_leaves, dtype=np.bool_)
        limit = ceiling_below(upper, unit_of(small))
        dropped, more = tighten(tables, limit, keep, alive, effort, BUDGET - looked)
        looked += more
        if dropped == NOTHING_LEFT:
            return Reduction(None, lift, incumbent, upper)
        # Prices are found anew once there is much less to price.
        left = int(alive.sum())
        if effort >= 1 and left <= AGAIN * priced and problem.aggregate == "sum" and upper < np.inf:
            priced, prices = left, bound_by_prices(tables, limit, FEW_STEPS)
            drop_by_prices(tables, prices, limit, keep, alive)
        before = small.cost.size + small.n_leaves
        # What has been rebuilt once, and lost nothing since, would be rebuilt as it is.
        if small is problem or not (keep.all() and alive.all()):
            smaller = compress(small, keep, alive)
            if smaller is None:
                return Reduction(None, lift, incumbent, upper)
            if prices is not None:
                places = smaller.lift.places(small.level_start)
                prices = prices.within(smaller.leaf, smaller.certain, places)
            small, lift = smaller.problem, lift.then(smaller.lift)
            tables = tabulate(small)
        if small.n_leaves == 0 and small.admits(tables.best):
            # All that is left to decide is the cost, and what decides it may be dearer by now.
            if small.distance(tables.best) < upper:
                incumbent = lift.up(tables.best)
                upper = problem.distance(incumbent)
            return Reduction(None, lift, incumbent, upper)
        if later and small.axis.size <= MANY_LITERALS:
            later, looked, effort = False, 0, 0
            found = find_incumbent(small, tables, np.empty((0, small.n_axes), np.int64), over)
            if found is not None:
                incumbent = lift.up(found)
                upper = min(upper, problem.distance(incumbent))
                on_bounds(upper, 0.0)
                continue
        # Cheap rules again as long as they find something; dearer ones once they do not.
        if before - small.cost.size - small.n_leaves <= WORTHWHILE * before:
            effort += 1
        if effort not in EFFORTS or looked > BUDGET:
            merged = merge_pairs(small)
            if merged is small or looked > BUDGET:
                kept = prices if merged is small else None
                return Reduction(merged, lift, incumbent, upper, kept)
            small, tables, effort, prices = merged, tabulate(merged), 1, None
    return Reduction(small, lift, incumbent, upper)
