"""Depth-first exploration of one node, with smaller tables or with local prices.

Where few leaves fit, nodes are expanded with tables of these leaves only. Where the search does not
end soon, nodes inside get prices of their own instead: steps for them begin with the multipliers of
the parent. As one side is done before the other begins, those of one node at each depth suffice.
"""

from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray
from encoders.core.compiled import inner
from encoders.presolve.bounds.box_prices import box_prices
from encoders.presolve.bounds.coupling import Coupling, uncoupled
from encoders.presolve.bounds.multipliers import Multipliers, unpriced
from encoders.presolve.bounds.prices import Prices
from encoders.search.demands import demands_within
from encoders.search.expansion import expand
from encoders.search.narrow import DIVE, narrowed
from encoders.search.node import SOLVED, SPLIT, Node, cheapest_point
from encoders.search.open_nodes import LOOKED, NODES, PRICED, SHUT, park, push
from encoders.search.price_split import split_by_prices
from encoders.search.scan import priced_out

# Nested nodes that have prices of their own; deeper ones use the last ones. Few dives are deeper.
DEEPEST = 64
REMEMBERED = 64 * 2**20 // 8  # numbers that these prices may be, 64 MiB for each thread
# Literals of all boxes that are priced in one dive, .3 s: with more a stop is heard later, with
# fewer multipliers are forgotten more often.
PRICEABLE = 1_500_000
# Share of the leaves that fitted at the last pricing: with no more left, prices are computed again.
# With all of them searches on SP take the same time, and those with isolation trees 1.1 times as
# long; with .8 those on SP take 1.5 times as long.
AGAIN = 0.9


class Repricing(NamedTuple):
    """Coupling and multipliers for the prices of single nodes; without rows there are none."""

    coupling: Coupling
    root: Multipliers


def no_repricing() -> Repricing:
    """Return a repricing without rows, of the types that the search is compiled for."""
    return Repricing(uncoupled(), unpriced())


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


class Stack(NamedTuple):
    """Nodes of a dive that wait, the last one on top.

    Attributes
    ----------
    boxes : int64 (n, 2, n_axes), first and last levels.
    spans : int64 (n, 2), first and last demand of interest.
    keys : float64 (n,), lower bounds.
    fitting : bool (n, n_leaves), live leaves.
    depth : int64 (n,), where their prices are remembered.
    """

    boxes: IntArray
    spans: IntArray
    keys: FloatArray
    fitting: BoolArray
    depth: IntArray


@inner
def dive(t, prices, repricing, pool, node, bound, upper, forbidden, n_nodes, priced, demands):
    """Explore a node depth first, and push unexplored nodes to the pool.

    Return the cost of a choice that is cheaper than ``upper``, inf if none was found.
    """
    own, inside, needs = t, node, demands
    if priced:
        known = _remembered(t, prices, repricing, DEEPEST)
        # For each waiting node, one byte per leaf says whether the leaf fits.
        n_nodes = min(n_nodes, max(DEEPEST, 8 * REMEMBERED // t.tree_of.size))
    else:
        own, leaf, out = narrowed(t, node.live, node.lo, node.hi)
        known = _remembered(own, _prices_within(prices, leaf, out), repricing, 1)
        inside = _node_within(own, node)
        n_nodes = min(n_nodes, DIVE)
        if demands is not None:
            needs = demands_within(t, demands, prices, out)
    stack = _stack_of(n_nodes + 2, inside, bound)
    n_open, cost, looked, live = 1, np.inf, 0, inside.live
    for _ in range(n_nodes):
        if n_open == 0 or looked > PRICEABLE:
            break
        n_open -= 1
        pool.counts[NODES] += 1
        pool.counts[LOOKED] += live.size
        at, key = stack.depth[n_open], stack.keys[n_open]
        node.lo[:], node.hi[:] = stack.boxes[n_open, 0], stack.boxes[n_open, 1]
        node.span[:], live[:] = stack.spans[n_open], stack.fitting[n_open]
        local = Prices(key, known.constant[at], known.leaf[at], known.level[at])
        kind, bound = expand(own, local, inside, key, upper, forbidden, needs, None)
        if kind == SOLVED:
            cost = bound
            break
        if kind != SPLIT:
            continue
        if at + 1 < known.constant.size and live.sum() <= AGAIN * known.fitting[at]:
            higher, more = _price(t, repricing, node, upper, known, at)
            looked += more
            pool.counts[PRICED] += 1
            if higher >= priced_out(upper):
                pool.counts[SHUT] += 1
                continue
            if higher > -np.inf:
                bound, at = max(bound, higher), at + 1
                fresh = Prices(higher, known.constant[at], known.leaf[at], known.level[at])
                kind = split_by_prices(t, fresh, node, priced_out(upper))
        if kind == SPLIT:
            n_open = _stack_both(stack, n_open, inside, bound, at)
        elif kind == SOLVED:  # it is expanded once more
            _put(stack, n_open, inside, bound, at)
            n_open += 1
    for i in range(n_open):
        push(pool, stack.boxes[i, 0], stack.boxes[i, 1], stack.spans[i], stack.keys[i], False)
    if cost < np.inf:
        park(pool, node)
    return cost


@inner
def _prices_within(prices, leaf, out):
    """Return the prices of some leaves while those in ``out`` are active."""
    constant = prices.constant
    for certain in out:
        constant += prices.leaf[certain]
    own = np.empty(leaf.size)
    for i in range(leaf.size):
        own[i] = prices.leaf[leaf[i]]
    return Prices(prices.bound, constant, own, prices.level)


@inner
def _node_within(own, node):
    """Return the same node with work arrays for smaller tables."""
    live = np.ones(own.tree_of.size, dtype=np.bool_)
    best = np.zeros((own.need.size + 1, own.tree_start.size - 1), dtype=np.int64)
    return Node(
        node.lo, node.hi, node.point, node.span, node.split, live, best, node.slack, node.up,
        node.down,
    )  # fmt: skip


@inner
def _stack_of(n, node, bound):
    """Return a stack with one node and room for ``n``."""
    stack = Stack(
        np.empty((n, 2, node.lo.size), np.int64), np.empty((n, 2), np.int64), np.empty(n),
        np.empty((n, node.live.size), np.bool_), np.zeros(n, np.int64),
    )  # fmt: skip
    _put(stack, 0, node, bound, 0)
    return stack


@inner
def _put(stack, i, node, bound, at):
    stack.boxes[i, 0], stack.boxes[i, 1], stack.spans[i] = node.lo, node.hi, node.span
    stack.keys[i], stack.fitting[i], stack.depth[i] = bound, node.live, at


@inner
def _stack_both(stack, n_open, node, bound, at):
    """Put both sides of a split on a stack, the near one on top; how many it then holds."""
    a, v, near_is_low = node.split[0], node.split[1], node.split[2]
    _put(stack, n_open, node, bound, at)
    _put(stack, n_open + 1, node, bound, at)
    stack.boxes[n_open + near_is_low, 1, a] = v
    stack.boxes[n_open + 1 - near_is_low, 0, a] = v + 1
    return n_open + 2


@inner
def _remembered(t, prices, repricing, deepest):
    """Return room for the prices of a node at each depth; the first are given."""
    n_leaves, n_levels, n_rows, n_needs, n_limits = t.tree_of.size, t.cost.size, 0, 0, 0
    if repricing is not None:
        root = repricing.root
        n_rows, n_needs, n_limits = root.price.size, root.worth.size, root.toll.size
    n = max(1, min(deepest, REMEMBERED // (n_leaves + n_levels + n_rows)))
    # All of it is written before it is read: to fill it with zeros would take as long as a dive.
    known = Remembered(
        np.empty((n, n_leaves)), np.empty((n, n_levels)), np.empty(n), np.empty((n, n_rows)),
        np.empty((n, n_needs)), np.empty((n, n_limits)), np.empty(n, np.int64),
    )  # fmt: skip
    known.leaf[0], known.level[0], known.constant[0] = prices.leaf, prices.level, prices.constant
    known.fitting[0] = n_leaves
    if repricing is not None:
        known.price[0], known.worth[0], known.toll[0] = root.price, root.worth, root.toll
    return known


@inner
def _price(t, repricing, node, upper, known, at):
    """Price a node inside one at a depth; its prices are stored at the next depth.

    Return its lower bound, -inf if it has no such prices, and the number of literals scanned.
    """
    if repricing is None:
        return -np.inf, 0
    low, high, point = node.lo.copy(), node.hi.copy(), node.point
    tables, leaf, out = narrowed(t, node.live, low, high)
    if (low > high).any():
        return np.inf, 0
    if cheapest_point(tables, low.copy(), high.copy(), point) >= upper:
        return np.inf, 0
    if leaf.size == 0:
        return -np.inf, 0
    start = Multipliers(known.price[at], known.worth[at], known.toll[at])
    kept = Multipliers(known.price[at + 1], known.worth[at + 1], known.toll[at + 1])
    its = box_prices(t, repricing.coupling, tables, leaf, out, low, high, point, upper, start, kept)
    own = known.leaf[at + 1]
    own[:] = 0.0
    for i in range(leaf.size):
        own[leaf[i]] = its.leaf[i]
    known.level[at + 1] = its.level
    known.constant[at + 1], known.fitting[at + 1] = its.constant, node.live.sum()
    return its.bound, tables.axis.size
