"""Losses of rows if an axis stays on one side of a level: levels to cut off, and the split.

Both directions are written out: helpers that take arrays would count references in the hot loops.
"""

import numpy as np

from encoders.core.compiled import ONE, inlined, inner

# Weights, without unit, in the choice of a split, see _far_gain. They came with commit 99eb1d7:
# deciding categories first and halving flat costs took up to 100 times fewer nodes.
CATEGORY, FLAT, LITTLE = 100.0, 0.2, 0.01


@inner
def fill_drops(t, node):
    """Fill the drop of each row's bound if an axis stays on the point's side of a level.

    ``up[r, level]``: if the axis stays at or below this level (levels from the point on);
    ``down[r, level]``: if it stays at or above it. Only trees whose best leaf lies beyond count.
    """
    axis, low, high, leaf_start, level_start = t.axis, t.lo, t.hi, t.leaf_start, t.level_start
    order, tree_start, weight = t.order, t.tree_start, t.weight
    lo, hi, point, live, best = node.lo, node.hi, node.point, node.live, node.best
    up, down = node.up, node.down
    for r in range(t.need.size):
        for b in range(lo.size):
            for v in range(level_start[b] + lo[b], level_start[b] + hi[b] + 1):
                up[r, v] = 0
                down[r, v] = 0
        for tree in range(tree_start.size - 1):
            top = np.uint64(best[r, tree])
            w = weight[r, top]
            if w == 0:
                continue
            begin, end = np.uint64(tree_start[tree]), np.uint64(tree_start[tree + 1])
            for k in range(np.uint64(leaf_start[top]), np.uint64(leaf_start[top + ONE])):
                a = np.uint64(axis[k])
                first = level_start[a]
                if low[k] > point[a]:
                    # Going down from the best leaf's side, the next best that needs less.
                    edge, weight_inside = low[k], 0
                    held = edge
                    for i in range(begin, end):
                        leaf = np.uint64(order[r, i])
                        if not live[leaf]:
                            continue
                        reach = _edge_on(leaf_start, axis, low, leaf, a, 0)
                        if reach < held:
                            weight_inside = weight[r, leaf]
                            stop = max(reach, point[a])
                            # Between its reach and the last one's this leaf is the best left. Only
                            # the ends are marked here, and summed afterwards.
                            up[r, first + stop] += w - weight_inside
                            up[r, first + held] -= w - weight_inside
                            held = stop
                            if held <= point[a]:
                                break
                    if point[a] < held:
                        up[r, first + point[a]] += w
                        up[r, first + held] -= w
                elif high[k] < point[a]:
                    held, last = high[k], level_start[a + ONE] - first - 1
                    for i in range(begin, end):
                        leaf = np.uint64(order[r, i])
                        if not live[leaf]:
                            continue
                        reach = _edge_on(leaf_start, axis, high, leaf, a, last)
                        if reach > held:
                            weight_inside = weight[r, leaf]
                            stop = min(reach, point[a])
                            down[r, first + stop] += w - weight_inside
                            down[r, first + held] -= w - weight_inside
                            held = stop
                            if held >= point[a]:
                                break
                    if held < point[a]:
                        down[r, first + point[a]] += w
                        down[r, first + held] -= w
        for b in range(lo.size):
            first, total = level_start[b], 0
            for v in range(first + lo[b], first + hi[b] + 1):
                total += up[r, v]
                up[r, v] = total
            total = 0
            for v in range(first + hi[b], first + lo[b] - 1, -1):
                total += down[r, v]
                down[r, v] = total


@inlined
def _edge_on(leaf_start, leaf_axis, edge, leaf, a, outermost):
    """Return where a leaf ends on an axis, from its lower or upper ends."""
    reach = outermost
    for k in range(np.uint64(leaf_start[leaf]), np.uint64(leaf_start[leaf + ONE])):
        if leaf_axis[k] == a:
            reach = edge[k]
    return reach


@inlined
def _step_cost(cost_of, is_max, grouped, first, frm, to, cost):
    """Return a bound on the whole cost once an axis moved this far from its cheapest level."""
    there, here = cost_of[first + to], cost_of[first + frm]  # read before branches, see box_cost.py
    moved = cost if grouped else cost + there - here
    return max(cost, there) if is_max else moved


@inner
def shrink(t, node, cost, upper):
    """Cut off levels that cost too much or can't keep a row; -1 if the box is empty."""
    lo, hi, point, slack, up, down = node.lo, node.hi, node.point, node.slack, node.up, node.down
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
            and _step_cost(cost_of, is_max, grouped, first, point[a], hi[a], cost) >= upper
        ):
            hi[a] -= 1
            changed += 1
        while (
            unimodal[a]
            and lo[a] < point[a]
            and _step_cost(cost_of, is_max, grouped, first, point[a], lo[a], cost) >= upper
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
def choose_split(t, node, cost, upper):
    """Fill ``split`` with (axis, level, near side is low); return whether a split exists.

    The near side contains ``point``. The chosen split has the largest product of the row weight
    lost on the near side, relative to the slack, and the cost gained on the far side.
    """
    lo, hi, point, slack, up, down = node.lo, node.hi, node.point, node.slack, node.up, node.down
    split, score, room = node.split, -1.0, upper - cost
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
