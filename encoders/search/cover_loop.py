"""The compiled loop that proves a bound once more, and writes down each step."""

import numpy as np

from encoders.core.compiled import inlined, inner, kernel
from encoders.search.expansion import PROPAGATIONS, choose_split, fill_slack, shrink
from encoders.search.node import SOLVED, cheapest_point, fill_drops, overloaded
from encoders.search.point import point_keeps_rows
from encoders.search.scan import scan_leaves

# Steps of a proof, defined in docs/reference/proof-steps.md: (kind, axis, level, side) of a box of
# levels. The side of SPLIT is the one that waits, the side of CUT the one that is cut off. The
# level of REFUSED is the number of the row.
SPLIT, CUT, CLOSE, REFUSED = 0, 1, 2, 3
LOW, HIGH = 0, 1
OPEN, STEPS, BOXES = 0, 1, 2  # counters
ENDED, FULL, FOUND = 0, 1, 2  # how a slice ends


@kernel
def cover_slice(t, prices, boxes, counts, steps, found, upper, forbidden, forbidden_start, n_nodes):
    """Take up to ``n_nodes`` boxes from the stack, depth first, the low side first.

    Ends early where the room for steps runs short, or at a choice that keeps every row and costs
    less than ``upper``: its box is put back.
    """
    n_axes, n_leaves, n_rows = t.best.size, t.tree_of.size, t.need.size
    lo = np.zeros(n_axes, dtype=np.int64)
    hi = np.zeros(n_axes, dtype=np.int64)
    live = np.zeros(n_leaves, dtype=np.bool_)
    best = np.zeros((n_rows + 1, t.tree_start.size - 1), dtype=np.int64)
    up = np.zeros((n_rows, t.cost.size), dtype=np.int64)
    down = np.zeros((n_rows, t.cost.size), dtype=np.int64)
    split = np.zeros(3, dtype=np.int64)
    for _ in range(n_nodes):
        if counts[OPEN] == 0:
            return ENDED
        if steps.shape[0] - counts[STEPS] < steps_of_a_node(t):
            return FULL
        counts[OPEN] -= 1
        counts[BOXES] += 1
        lo[:] = boxes[counts[OPEN], 0]
        hi[:] = boxes[counts[OPEN], 1]
        live[:] = True
        kind = _expand(
            t, prices, lo, hi, upper, forbidden, forbidden_start, found, live, best, up,
            down, split, counts, steps,
        )  # fmt: skip
        if kind == SOLVED:
            _put(boxes, counts, lo, hi)
            return FOUND
        if kind == SPLIT_IT:
            a, v = split[0], split[1]
            _write(steps, counts, SPLIT, a, v, HIGH)
            last = hi[a]
            lo[a], first = v + 1, lo[a]
            _put(boxes, counts, lo, hi)
            lo[a], hi[a] = first, v
            _put(boxes, counts, lo, hi)
            hi[a] = last
    return FULL


DONE, SPLIT_IT = 0, 2  # results of expanding a box, in addition to SOLVED


@inlined
def steps_of_a_node(t):
    """Most steps that one box takes: each cut takes a level away."""
    return t.cost.size + 2 * PROPAGATIONS + 4


@inlined
def _write(steps, counts, what, a, v, side):
    at = counts[STEPS]
    steps[at, 0], steps[at, 1], steps[at, 2], steps[at, 3] = what, a, v, side
    counts[STEPS] = at + 1


@inlined
def _put(boxes, counts, lo, hi):
    boxes[counts[OPEN], 0] = lo
    boxes[counts[OPEN], 1] = hi
    counts[OPEN] += 1


@inner
def _expand(
    t, prices, lo, hi, upper, forbidden, forbidden_start, point, live, best, up, down,
    split, counts, steps,
):  # fmt: skip
    """Expand a box as the search does, and write each cut and its reason."""
    slack = np.zeros(t.need.size, dtype=np.int64)
    low, high = np.zeros_like(lo), np.zeros_like(hi)
    for _ in range(PROPAGATIONS):
        low[:], high[:] = lo, hi
        cost = cheapest_point(t, lo, hi, point)
        _tell_cuts(low, high, lo, hi, steps, counts)
        if cost >= upper:
            _write(steps, counts, CLOSE, 0, 0, 0)
            return DONE
        if overloaded(t, lo, hi):
            _write(steps, counts, CLOSE, 0, 0, 0)
            return DONE
        refused = _refused(lo, hi, forbidden, forbidden_start)
        if refused >= 0:
            _write(steps, counts, REFUSED, 0, refused, 0)
            return DONE
        low[:], high[:] = lo, hi
        if scan_leaves(t, prices, lo, hi, point, cost, upper, live, best) >= upper:
            _write(steps, counts, CLOSE, 0, 0, 0)
            return DONE
        _tell_cuts(low, high, lo, hi, steps, counts)
        if not fill_slack(t, best, slack):
            _write(steps, counts, CLOSE, 0, 0, 0)
            return DONE
        if point_keeps_rows(t, point, live, best, slack, forbidden, forbidden_start):
            return SOLVED
        for r in range(t.need.size):
            fill_drops(t, r, lo, hi, point, live, best, up[r], down[r])
        low[:], high[:] = lo, hi
        changed = shrink(t, lo, hi, point, cost, upper, slack, up, down)
        _tell_cuts(low, high, lo, hi, steps, counts)
        if changed < 0:
            _write(steps, counts, CLOSE, 0, 0, 0)
            return DONE
        if changed == 0:
            break
    # Since this was asked above, leaves may have shrunk the box into one.
    refused = _refused(lo, hi, forbidden, forbidden_start)
    if refused >= 0:
        _write(steps, counts, REFUSED, 0, refused, 0)
        return DONE
    if not choose_split(t, lo, hi, point, cost, upper, slack, up, down, split):
        _write(steps, counts, CLOSE, 0, 0, 0)
        return DONE
    return SPLIT_IT


@inner
def _refused(lo, hi, forbidden, forbidden_start):
    """Return the index of a forbidden box that contains the whole node, -1 if there is none."""
    for b in range(forbidden_start.size - 1):
        inside = True
        for i in range(forbidden_start[b], forbidden_start[b + 1]):
            a = forbidden[i, 0]
            if lo[a] < forbidden[i, 1] or hi[a] > forbidden[i, 2]:
                inside = False
                break
        if inside:
            return b
    return -1


@inner
def _tell_cuts(low, high, lo, hi, steps, counts):
    """Write down by how much each axis shrank; where both sides meet, the rest is for the end."""
    for a in range(lo.size):
        if hi[a] < high[a]:
            v = max(hi[a], low[a])
            if v < high[a]:
                _write(steps, counts, CUT, a, v, HIGH)
        if lo[a] > low[a]:
            last = min(high[a], max(hi[a], low[a]))
            v = min(lo[a] - 1, last)
            if v < last:
                _write(steps, counts, CUT, a, v, LOW)
