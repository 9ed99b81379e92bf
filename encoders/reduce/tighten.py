"""What no choice better than the incumbent can use: levels and leaves proved irrelevant.

Every rule keeps each choice that satisfies all rows and costs less than ``upper``:

cost
    A level or leaf whose cheapest completion costs at least ``upper``.
support
    A level or leaf with which some tree has no leaf left.
margin
    A level or leaf with which the best leaves of all trees together miss a row's minimum; only
    leaves count that fit it *and* cost less than ``upper`` together with it.
"""

import numba
import numpy as np

from encoders.reduce.moves import OPTIONS

NOTHING_LEFT = -1


@numba.njit(**OPTIONS)
def range_cost(t, a, lo, hi):
    """Cheapest level of an axis within lo..hi (inf if empty)."""
    first = t.level_start[a]
    if lo > hi:
        return np.inf
    if t.unimodal[a]:
        return t.cost[first + min(max(t.best[a], lo), hi)]
    cheapest = np.inf
    for v in range(lo, hi + 1):
        cheapest = min(cheapest, t.cost[first + v])
    return cheapest


@numba.njit(**OPTIONS)
def leaf_costs(t, alive, out):
    """Cost of each leaf's box beyond ``base`` ("sum"), or of its dearest axis ("max")."""
    for leaf in range(alive.size):
        if not alive[leaf]:
            continue
        extra = 0.0
        for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
            c = range_cost(t, t.axis[k], t.lo[k], t.hi[k])
            extra = max(extra, c) if t.is_max else extra + c
        out[leaf] = extra


@numba.njit(**OPTIONS)
def tighten(t, upper, keep, alive, budget):
    """Mark what can go in ``keep`` (levels) and ``alive`` (leaves).

    Parameters
    ----------
    upper : only choices that cost less matter
    budget : how many leaf-against-leaf comparisons may be spent

    Returns
    -------
    How many levels and leaves were dropped; NOTHING_LEFT if no choice is left at all.
    """
    n_axes, n_leaves, _n_trees = t.best.size, alive.size, t.tree_start.size - 1
    extra = np.zeros(n_leaves)
    leaf_costs(t, alive, extra)
    dropped = 0
    if t.base >= upper:
        return NOTHING_LEFT
    for a in range(n_axes):
        for v in range(t.level_start[a], t.level_start[a + 1]):
            cost = max(t.base, t.cost[v]) if t.is_max else t.base + t.cost[v]
            if keep[v] and cost >= upper:
                keep[v] = False
                dropped += 1
    for leaf in range(n_leaves):
        cost = max(t.base, extra[leaf]) if t.is_max else t.base + extra[leaf]
        if alive[leaf] and cost >= upper:
            alive[leaf] = False
            dropped += 1
    box_lo = np.zeros(n_axes, dtype=np.int64)
    box_hi = np.zeros(n_axes, dtype=np.int64)
    box_cost = np.zeros(n_axes)
    for a in range(n_axes):
        box_hi[a] = t.level_start[a + 1] - t.level_start[a] - 1
    n_alive = alive.sum()
    if budget < n_alive:
        return dropped if _fits(t, upper, alive, extra, box_lo, box_hi, box_cost, 0.0) else -1
    if not _fits(t, upper, alive, extra, box_lo, box_hi, box_cost, 0.0):
        return NOTHING_LEFT
    budget -= n_alive
    # Levels first: there are fewer, and every one that goes may take leaves along.
    for a in range(n_axes):
        size = t.level_start[a + 1] - t.level_start[a]
        if size < 2:
            continue
        for v in range(size):
            if budget < n_alive:
                return dropped
            if not keep[t.level_start[a] + v]:
                continue
            budget -= n_alive
            cost = t.cost[t.level_start[a] + v]
            box_lo[a], box_hi[a], box_cost[a] = v, v, cost
            if not _fits(t, upper, alive, extra, box_lo, box_hi, box_cost, cost):
                keep[t.level_start[a] + v] = False
                dropped += 1
        box_lo[a], box_hi[a], box_cost[a] = 0, size - 1, 0.0
    for leaf in range(n_leaves):
        if budget < n_alive:
            return dropped
        if not alive[leaf]:
            continue
        budget -= n_alive
        for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
            a = t.axis[k]
            box_lo[a], box_hi[a] = t.lo[k], t.hi[k]
            box_cost[a] = range_cost(t, a, t.lo[k], t.hi[k])
        if not _fits(t, upper, alive, extra, box_lo, box_hi, box_cost, extra[leaf]):
            alive[leaf] = False
            dropped += 1
        for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
            a = t.axis[k]
            box_lo[a], box_hi[a], box_cost[a] = 0, t.level_start[a + 1] - t.level_start[a] - 1, 0.0
    return dropped


@numba.njit(**OPTIONS)
def _fits(t, upper, alive, extra, box_lo, box_hi, box_cost, box_extra):
    """Whether the best leaves that fit a box, each affordable with it, keep every row."""
    n_rows = t.need.size
    total = np.zeros(n_rows, dtype=np.int64)
    best = np.zeros(n_rows, dtype=np.int64)
    for tree in range(t.tree_start.size - 1):
        supported = False
        best[:] = 0
        for leaf in range(t.tree_start[tree], t.tree_start[tree + 1]):
            if not alive[leaf]:
                continue
            useful = not supported
            for r in range(n_rows):
                useful = useful or t.weight[r, leaf] > best[r]
            if not useful:
                continue
            cost, fits = box_extra, True
            for k in range(t.leaf_start[leaf], t.leaf_start[leaf + 1]):
                a = t.axis[k]
                lo, hi = max(box_lo[a], t.lo[k]), min(box_hi[a], t.hi[k])
                if lo > hi:
                    fits = False
                    break
                c = range_cost(t, a, lo, hi)
                cost = max(cost, c) if t.is_max else cost + c - box_cost[a]
            if not fits:
                continue
            whole = max(t.base, cost) if t.is_max else t.base + cost
            if whole >= upper:
                continue
            supported = True
            for r in range(n_rows):
                best[r] = max(best[r], t.weight[r, leaf])
        if not supported:
            return False
        for r in range(n_rows):
            total[r] += best[r]
    for r in range(n_rows):
        if total[r] < t.need[r]:
            return False
    return True
