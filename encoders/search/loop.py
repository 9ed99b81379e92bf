"""The compiled loop of the branch and bound: best first, depth first when memory runs short.

Searches, fronts of rising demands, lists of choices and proofs all run it.
"""

import numpy as np

from encoders.core.compiled import kernel
from encoders.search.dive import dive
from encoders.search.expansion import expand
from encoders.search.narrow import is_narrow, is_worth_pricing
from encoders.search.node import SOLVED, SPLIT, workspace
from encoders.search.open_nodes import (
    FREE,
    LOOKED,
    NODES,
    STACK,
    park,
    pop,
    push,
    push_side,
    take,
)
from encoders.search.outside import leave_out
from encoders.search.trace import write_begin, write_end


@kernel
def run_slice(
    t, prices, repricing, pool, found, upper, forbidden, n_nodes, reserve, n_dive, demands, trace
):
    """Expand up to ``n_nodes`` nodes, and at most ``n_dive`` more; with None no dive is compiled.

    Return at once when a choice cheaper than ``upper`` is found (in ``found``): its cost, else
    inf. The search is over when heap and stack are empty. The rest of the choice's box is not open
    any more, see :func:`.open_nodes.push_others`; with a trace the whole box is opened again.

    The search is depth first where fewer than ``reserve`` slots are free.
    """
    node, counts = workspace(t, found), pool.counts
    end, key, near = counts[NODES] + n_nodes, 0.0, False
    while counts[NODES] < end:
        if not near:
            slot = pop(pool)
            if slot < 0:
                break
            key = pool.key[slot]
            take(pool, slot, node)
            if demands is None:
                node.live[:] = True
            else:
                leave_out(demands.outside, t.level_start, node.lo, node.hi, node.live)
        near = False
        counts[NODES] += 1
        counts[LOOKED] += node.live.size
        if key >= upper and trace is None:
            continue
        if trace is not None:
            write_begin(trace, node.lo, node.hi)
        kind, key = expand(t, prices, node, key, upper, forbidden, demands, trace)
        if trace is not None:
            write_end(trace, kind, node.split)
        if kind == SOLVED:
            if trace is None:
                park(pool, node)
            else:
                push(pool, node.lo, node.hi, node.span, key, True)
            return key
        if kind != SPLIT:
            continue
        deep = counts[FREE] < reserve or counts[STACK] > 0
        if n_dive is not None and n_dive > 0 and not deep:
            priced = is_worth_pricing(repricing, counts, node.live)
            if priced or is_narrow(node.live):
                cost = dive(
                    t, prices, repricing, pool, node, key, upper, forbidden, n_dive, priced, demands
                )
                if cost < np.inf:
                    return cost
                continue
        if deep and counts[STACK] == 0:
            pool.floor[0] = key
        a, v, low = node.split[0], node.split[1], node.split[2] == 1
        push_side(pool, node, key, not low, deep)
        # The near side is next where no open node is cheaper, so that its leaves need not be
        # found again. A proof tests all leaves in each node, as the checker does.
        if trace is None and counts[NODES] < end and (deep or key <= pool.key[pool.heap[0]]):
            near = True
            if low:
                node.hi[a] = v
            else:
                node.lo[a] = v + 1
        else:
            push_side(pool, node, key, low, deep)
    return np.inf
