"""A box is looked into depth first, and the boxes in it get prices of their own.

Steps for the prices of a box begin with the multipliers of the box that it was split off. As one
side is done before the other begins, those of one box at each depth are all that is remembered.
"""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.compiled import inner
from encoders.presolve.bounds.box_prices import box_prices
from encoders.presolve.bounds.multipliers import Multipliers
from encoders.presolve.bounds.prices import Prices
from encoders.search.dive import open_rest, stack_both, stack_of
from encoders.search.expansion import expand
from encoders.search.narrow import narrowed
from encoders.search.node import SOLVED, SPLIT, cheapest_point
from encoders.search.open_nodes import NODES, PRICED, SHUT
from encoders.search.scan import priced_out

# Boxes within each other that have prices of their own; those deeper in go by the last ones. Few
# dives are deeper.
DEEPEST = 64
REMEMBERED = 64 * 2**20 // 8  # numbers that these prices may be, 64 MiB for each thread
# Literals of all boxes that are priced in one dive, .3 s: with more a stop is heard later, with
# fewer multipliers are forgotten more often.
PRICEABLE = 1_500_000
# Share of the leaves that fitted at the last pricing: with no more left, prices are computed again.
# With all of them searches on SP take the same time, and those with isolation trees 1.1 times as
# long; with .8 those on SP take 1.5 times as long.
AGAIN = 0.9


class Remembered(NamedTuple):
    """Prices of one node at each depth, and the multipliers from which they are computed.

    Attributes
    ----------
    leaf, level : float64 (n_depths, n_leaves) and (n_depths, n_levels), prices.
    constant : float64 (n_depths,), constant of the prices.
    price, worth : float64 (n_depths, n_rows) and (n_depths, n_leaf_rows), multipliers.
    toll : float64 (n_depths, n_level_rows), multipliers of the level rows.
    fitting : int64 (n_depths,), leaves that fitted the node.
    """

    leaf: FloatArray
    level: FloatArray
    constant: FloatArray
    price: FloatArray
    worth: FloatArray
    toll: FloatArray
    fitting: IntArray


@inner
def priced_dive(
    t, prices, coupling, root, lo, hi, bound, pool, found, upper, forbidden, forbidden_start, live,
    best, up, down, split, n_nodes,
):  # fmt: skip
    """Explore a node depth first, with prices of child nodes; push unexplored children to the pool.

    Return the cost of a choice that is cheaper than ``upper``, inf if none was found.
    """
    known = _remembered(t, prices, root)
    # For each waiting node, one byte per leaf says whether the leaf fits.
    n_nodes = min(n_nodes, max(DEEPEST, 8 * REMEMBERED // t.tree_of.size))
    boxes, keys, fitting = stack_of(n_nodes, lo, hi, bound, live)
    depth = np.zeros(keys.size, dtype=np.int64)
    n_open, cost, looked = 1, np.inf, 0
    for _ in range(n_nodes):
        if n_open == 0 or looked > PRICEABLE:
            break
        n_open -= 1
        pool.counts[NODES] += 1
        at = depth[n_open]
        lo[:], hi[:], live[:] = boxes[n_open, 0], boxes[n_open, 1], fitting[n_open]
        own = Prices(keys[n_open], known.constant[at], known.leaf[at], known.level[at])
        kind, bound = expand(
            t, own, lo, hi, keys[n_open], upper, forbidden, forbidden_start, found, live, best, up,
            down, split,
        )  # fmt: skip
        if kind == SOLVED:
            cost = bound
            break
        if kind != SPLIT:
            continue
        if at + 1 < known.constant.size and live.sum() <= AGAIN * known.fitting[at]:
            higher, more = _price(t, coupling, lo, hi, live, found, upper, known, at)
            looked += more
            pool.counts[PRICED] += 1
            if higher >= priced_out(upper):
                pool.counts[SHUT] += 1
                continue
            if higher > -np.inf:
                bound, at = max(bound, higher), at + 1
        n_open = stack_both(boxes, keys, fitting, n_open, lo, hi, bound, live, split)
        depth[n_open - 2 : n_open] = at
    open_rest(pool, boxes, keys, n_open, cost, lo, hi)
    return cost


@inner
def _remembered(t, prices, root):
    """Room for the prices of a box at each depth; the first are those of the whole problem."""
    n_leaves, n_levels, n_rows = t.tree_of.size, t.cost.size, root.price.size
    n = max(1, min(DEEPEST, REMEMBERED // (n_leaves + n_levels + n_rows)))
    # All of it is written before it is read: to fill it with zeros would take as long as a dive.
    known = Remembered(
        np.empty((n, n_leaves)), np.empty((n, n_levels)), np.empty(n), np.empty((n, n_rows)),
        np.empty((n, root.worth.size)), np.empty((n, root.toll.size)), np.empty(n, np.int64),
    )  # fmt: skip
    known.leaf[0], known.level[0], known.constant[0] = prices.leaf, prices.level, prices.constant
    known.price[0], known.worth[0], known.toll[0] = root.price, root.worth, root.toll
    known.fitting[0] = n_leaves
    return known


@inner
def _price(t, coupling, lo, hi, live, point, upper, known, at):
    """Price a node inside one at a depth; its prices are stored at the next depth.

    Return its lower bound, -inf if it has no such prices, and the number of literals scanned.
    """
    low, high = lo.copy(), hi.copy()
    tables, leaf, _ = narrowed(t, live, low, high)
    if (low > high).any():
        return np.inf, 0
    if cheapest_point(tables, low.copy(), high.copy(), point) >= upper:
        return np.inf, 0
    if leaf.size == 0:
        return -np.inf, 0
    start = Multipliers(known.price[at], known.worth[at], known.toll[at])
    kept = Multipliers(known.price[at + 1], known.worth[at + 1], known.toll[at + 1])
    its = box_prices(t, coupling, tables, leaf, low, high, point, upper, start, kept)
    own = known.leaf[at + 1]
    own[:] = 0.0
    for i in range(leaf.size):
        own[leaf[i]] = its.leaf[i]
    known.level[at + 1] = its.level
    known.constant[at + 1], known.fitting[at + 1] = its.constant, live.sum()
    return its.bound, tables.axis.size
