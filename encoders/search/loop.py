"""The compiled loop of the branch and bound: best first, depth first when memory runs short."""

import numpy as np

from encoders.core.compiled import kernel
from encoders.search.dive import dive
from encoders.search.expansion import expand, workspace
from encoders.search.narrow import DIVE, is_narrow, is_worth_pricing
from encoders.search.node import SOLVED, SPLIT
from encoders.search.open_nodes import FREE, NODES, STACK, pop, push
from encoders.search.priced_dive import priced_dive


@kernel
def run_slice(
    t, prices, coupling, root, pool, found, upper, forbidden, forbidden_start, n_nodes, reserve,
    n_dive,
):  # fmt: skip
    """Expand up to ``n_nodes`` nodes, and at most ``n_dive`` more.

    Returns at once when a choice cheaper than ``upper`` is found (in ``found``): its cost, else
    inf. The search is over when heap and stack are empty. What else the choice's box holds is not
    open any more, see :func:`.open_nodes.push_others`.
    """
    live, best, up, down = workspace(t)
    lo = np.zeros(t.best.size, dtype=np.int64)
    hi = np.zeros(t.best.size, dtype=np.int64)
    split = np.zeros(3, dtype=np.int64)
    end = pool.counts[NODES] + n_nodes
    while pool.counts[NODES] < end:
        node = pop(pool)
        if node < 0:
            return np.inf
        pool.counts[NODES] += 1
        lo[:] = pool.lo[node]
        hi[:] = pool.hi[node]
        key = pool.key[node]
        pool.free[pool.counts[FREE]] = node
        pool.counts[FREE] += 1
        if key >= upper:
            continue
        live[:] = True
        kind, bound = expand(
            t, prices, lo, hi, key, upper, forbidden, forbidden_start, found, live, best, up, down,
            split,
        )  # fmt: skip
        if kind == SOLVED:
            return bound
        if kind == SPLIT:
            a, v, near_is_low = split[0], split[1], split[2]
            deep = pool.counts[FREE] < reserve + n_dive or pool.counts[STACK] > 0
            if n_dive and not deep and coupling.axis.size and is_worth_pricing(pool.counts, live):
                cost = priced_dive(
                    t, prices, coupling, root, lo, hi, bound, pool, found, upper, forbidden,
                    forbidden_start, live, best, up, down, split, n_dive,
                )  # fmt: skip
                if cost < np.inf:
                    return cost
                continue
            if n_dive and not deep and is_narrow(live):
                cost = dive(
                    t, prices, lo, hi, bound, pool, found, upper, forbidden, forbidden_start, live,
                    up, down, split, min(n_dive, DIVE),
                )  # fmt: skip
                if cost < np.inf:
                    return cost
                continue
            if deep and pool.counts[STACK] == 0:
                pool.floor[0] = bound
            # The near side is pushed last, so that depth first goes there first.
            for side in (1 - near_is_low, near_is_low):
                push(pool, lo, hi, bound, a, v, side == 1, deep)
    return np.inf
