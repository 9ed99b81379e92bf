"""Expansion of a node: its box is bounded, shrunk, and solved or split."""

import numpy as np

from encoders.core.compiled import inlined, inner
from encoders.search.node import PRUNED, SOLVED, SPLIT, cheapest_point, fill_drops, overloaded
from encoders.search.point import point_keeps_rows
from encoders.search.scan import scan_leaves

PROPAGATIONS = 20  # rounds at most in which a box is shrunk; with fewer more boxes are split
# Weights, without unit, in the choice of a split, see _far_gain. They came with commit 99eb1d7:
# deciding categories first and halving flat costs took up to 100 times fewer nodes.
CATEGORY, FLAT, LITTLE = 100.0, 0.2, 0.01


@inner
def workspace(t):
    """Return work arrays of an expansion: ``live``, ``best``, ``up``, ``down``."""
    live = np.zeros(t.tree_of.size, dtype=np.bool_)
    best = np.zeros((t.need.size + 1, t.tree_start.size - 1), dtype=np.int64)
    up = np.zeros((t.need.size, t.cost.size), dtype=np.int64)
    down = np.zeros((t.need.size, t.cost.size), dtype=np.int64)
    return live, best, up, down


@inner
def expand(
    t, prices, lo, hi, key, upper, forbidden, forbidden_start, point, live, best, up, down, split,
):  # fmt: skip
    """Bound a box, shrink it, and solve or split it: (kind, lower bound)."""
    bound = key
    slack = np.zeros(t.need.size, dtype=np.int64)
    for _ in range(PROPAGATIONS):
        cost = cheapest_point(t, lo, hi, point)
        if cost >= upper or overloaded(t, lo, hi):
            return PRUNED, bound
        lower = scan_leaves(t, prices, lo, hi, point, cost, upper, live, best)
        if lower >= upper:
            return PRUNED, bound
        bound = max(bound, lower)
        if not fill_slack(t, best, slack):
            return PRUNED, bound
        if point_keeps_rows(t, point, live, best, slack, forbidden, forbidden_start):
            return SOLVED, cost
        for r in range(t.need.size):
            fill_drops(t, r, lo, hi, point, live, best, up[r], down[r])
        changed = shrink(t, lo, hi, point, cost, upper, slack, up, down)
        if changed < 0:
            return PRUNED, bound
        if changed == 0:
            break
    if not choose_split(t, lo, hi, point, cost, upper, slack, up, down, split):
        return PRUNED, bound
    return SPLIT, bound


@inner
def fill_slack(t, best, slack):
    """Fill the surplus of the best leaves of all trees over each row's need; False if negative."""
    need, weight = t.need, t.weight
    for r in range(need.size):
        slack[r] = -need[r]
        for tree in range(best.shape[1]):
            slack[r] += weight[r, best[r, tree]]
        if slack[r] < 0:
            return False
    return True


@inlined
def step_cost(cost_of, is_max, grouped, first, frm, to, cost):
    """Bound on the whole cost once an axis has moved from its cheapest level this far."""
    moved = cost
    if is_max:
        moved = max(cost, cost_of[first + to])
    elif not grouped:
        moved = cost + cost_of[first + to] - cost_of[first + frm]
    return moved


@inner
def shrink(t, lo, hi, point, cost, upper, slack, up, down):
    """Cut off levels that cost too much or can't keep a row; -1 if the box is empty."""
    changed = 0
    cost_of, is_max, level_start, unimodal = t.cost, t.is_max, t.level_start, t.unimodal
    group_of, n_rows = t.group_of, t.need.size
    for a in range(lo.size):
        if lo[a] == hi[a]:
            continue
        first, grouped = level_start[a], group_of[a] >= 0
        while (
            unimodal[a]
            and hi[a] > point[a]
            and step_cost(cost_of, is_max, grouped, first, point[a], hi[a], cost) >= upper
        ):
            hi[a] -= 1
            changed += 1
        while (
            unimodal[a]
            and lo[a] < point[a]
            and step_cost(cost_of, is_max, grouped, first, point[a], lo[a], cost) >= upper
        ):
            lo[a] += 1
            changed += 1
        for r in range(n_rows):
            # The row needs this axis to go beyond v, upwards or downwards.
            must_up = point[a] - 1
            while must_up + 1 <= hi[a] and up[r, first + must_up + 1] > slack[r]:
                must_up += 1
            must_down = point[a] + 1
            while must_down - 1 >= lo[a] and down[r, first + must_down - 1] > slack[r]:
                must_down -= 1
            if must_up >= point[a] and must_up + 1 > lo[a]:
                lo[a] = must_up + 1
                changed += 1
            if must_down <= point[a] and must_down - 1 < hi[a]:
                hi[a] = must_down - 1
                changed += 1
            if lo[a] > hi[a]:
                return -1
    return changed


@inlined
def _far_gain(is_max, grouped, dearer, share, beyond, room):
    """Return the value of a split: the extra cost of its far side as a share of ``room``.

    Categories come first, because no bound includes their cost before they are fixed. Where both
    sides cost the same the middle is best, or levels would be cut off one by one.
    """
    if grouped:
        return CATEGORY * (max(dearer, 0.0) / room + LITTLE)
    gain = (max(beyond, 0.0) if is_max else dearer) / room
    if gain == 0.0:
        gain = FLAT * share * (1.0 - share)
    return gain + LITTLE


@inner
def choose_split(t, lo, hi, point, cost, upper, slack, up, down, split):
    """Fill ``split`` with (axis, level, near side is low); return whether a split exists.

    The near side contains ``point``. The chosen split has the largest product of the row weight
    lost on the near side, relative to the slack, and the cost gained on the far side.
    """
    score, room = -1.0, upper - cost
    cost_of, is_max, level_start, group_of = t.cost, t.is_max, t.level_start, t.group_of
    for r in range(t.need.size):
        for a in range(lo.size):
            if lo[a] == hi[a]:
                continue
            first, grouped = level_start[a], group_of[a] >= 0
            for v in range(point[a], hi[a]):
                if up[r, first + v] == 0:
                    break
                far = cost_of[first + v + 1] - cost_of[first + point[a]]
                share = (v + 1 - lo[a]) / (hi[a] + 1 - lo[a])
                gain = _far_gain(is_max, grouped, far, share, cost_of[first + v + 1] - cost, room)
                now = (up[r, first + v] / (slack[r] + 1.0) + LITTLE) * gain
                if now > score:
                    score = now
                    split[0], split[1], split[2] = a, v, 1
            for v in range(point[a], lo[a], -1):
                if down[r, first + v] == 0:
                    break
                far = cost_of[first + v - 1] - cost_of[first + point[a]]
                share = (v - lo[a]) / (hi[a] + 1 - lo[a])
                gain = _far_gain(is_max, grouped, far, share, cost_of[first + v - 1] - cost, room)
                now = (down[r, first + v] / (slack[r] + 1.0) + LITTLE) * gain
                if now > score:
                    score = now
                    split[0], split[1], split[2] = a, v - 1, 0
    if score >= 0:
        return True
    # All rows hold at the point, but a level row or a forbidden box does not: split anywhere.
    for a in range(lo.size):
        if lo[a] < hi[a]:
            v = min(point[a], hi[a] - 1)
            split[0], split[1], split[2] = a, v, 1 if point[a] <= v else 0
            return True
    return False
