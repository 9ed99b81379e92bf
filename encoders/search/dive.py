"""Depth-first exploration of a node, with smaller tables where few leaves fit it."""

import numpy as np

from encoders.core.compiled import inner
from encoders.presolve.bounds.prices import Prices
from encoders.search.expansion import expand
from encoders.search.narrow import narrowed
from encoders.search.node import SOLVED, SPLIT
from encoders.search.open_nodes import FREE, NODES, push_box


@inner
def dive(
    t, prices, lo, hi, bound, pool, found, upper, forbidden, forbidden_start, live, up,
    down, split, n_nodes,
):  # fmt: skip
    """Explore a node depth first with tables of its leaves; push unexplored children to the pool.

    Return the cost of a choice that is cheaper than ``upper``, inf if none was found.
    """
    own, own_prices, live, best = _own(t, prices, live, lo, hi)
    boxes, keys, fitting = stack_of(n_nodes, lo, hi, bound, live)
    n_open, cost = 1, np.inf
    for _ in range(n_nodes):
        if n_open == 0:
            break
        n_open -= 1
        pool.counts[NODES] += 1
        lo[:], hi[:], live[:] = boxes[n_open, 0], boxes[n_open, 1], fitting[n_open]
        kind, bound = expand(
            own, own_prices, lo, hi, keys[n_open], upper, forbidden, forbidden_start, found,
            live, best, up, down, split,
        )  # fmt: skip
        if kind == SOLVED:
            cost = bound
            break
        if kind == SPLIT:
            n_open = stack_both(boxes, keys, fitting, n_open, lo, hi, bound, live, split)
    open_rest(pool, boxes, keys, n_open, cost, lo, hi)
    return cost


@inner
def _own(t, prices, live, lo, hi):
    """Return tables, prices and workspace for the live leaves of a box; shrink it in place."""
    own, leaf, out = narrowed(t, live, lo, hi)
    price, constant = prices.leaf, prices.constant
    for certain in out:
        constant += price[certain]
    own_price = np.empty(leaf.size)
    for i in range(leaf.size):
        own_price[i] = price[leaf[i]]
    own_prices = Prices(prices.bound, constant, own_price, prices.level)
    best = np.zeros((t.need.size + 1, own.tree_start.size - 1), dtype=np.int64)
    return own, own_prices, np.ones(leaf.size, dtype=np.bool_), best


@inner
def open_rest(pool, boxes, keys, n_open, cost, lo, hi):
    """Put what is left of a dive among the open nodes."""
    for i in range(n_open):
        push_box(pool, boxes[i, 0], boxes[i, 1], keys[i])
    if cost < np.inf:
        last = pool.free[pool.counts[FREE] - 1]
        pool.lo[last] = lo
        pool.hi[last] = hi


@inner
def stack_of(n_nodes, lo, hi, bound, live):
    """Return a stack (boxes, bounds, live leaves) with one box and room for ``n_nodes`` more."""
    boxes = np.empty((n_nodes + 2, 2, lo.size), dtype=np.int64)
    keys = np.empty(n_nodes + 2)
    fitting = np.empty((n_nodes + 2, live.size), dtype=np.bool_)
    boxes[0, 0], boxes[0, 1], keys[0], fitting[0] = lo, hi, bound, live
    return boxes, keys, fitting


@inner
def stack_both(boxes, keys, fitting, n_open, lo, hi, bound, live, split):
    """Put both sides of a split on a stack, the near one on top; how many it then holds."""
    a, v, near_is_low = split[0], split[1], split[2]
    for side in (1 - near_is_low, near_is_low):
        boxes[n_open, 0], boxes[n_open, 1], keys[n_open] = lo, hi, bound
        fitting[n_open] = live
        if side == 1:
            boxes[n_open, 1, a] = v
        else:
            boxes[n_open, 0, a] = v + 1
        n_open += 1
    return n_open
