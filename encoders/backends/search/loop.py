"""The compiled loop of the branch and bound: best first, depth first when memory runs short."""

import numpy as np

from encoders.backends.search.narrow import PRICED_DIVE, is_narrow, is_worth_pricing, narrowed
from encoders.backends.search.node import (
    PRUNED,
    SOLVED,
    SPLIT,
    cheapest_point,
    fill_drops,
    overloaded,
)
from encoders.backends.search.open_nodes import (
    FREE,
    NODES,
    PRICED,
    SHUT,
    STACK,
    pop,
    push,
    push_box,
)
from encoders.backends.search.point import point_keeps_rows
from encoders.backends.search.scan import priced_out, scan_leaves
from encoders.bounds.box_prices import box_prices
from encoders.bounds.prices import Prices
from encoders.compiled import inlined, inner, kernel

PROPAGATIONS = 20  # rounds at most in which a box is shrunk; with fewer more boxes are split
# Weights, without unit, in the choice of a split, see _far_gain. They came with commit 99eb1d7:
# deciding categories first and halving flat costs took up to 100 times fewer nodes.
CATEGORY, FLAT, LITTLE = 100.0, 0.2, 0.01


@kernel
def run_slice(
    t, prices, coupling, pool, found, upper, forbidden, forbidden_start, n_nodes, reserve, dive
):
    """Expand up to ``n_nodes`` nodes, and at most ``dive`` more.

    Returns at once when a choice cheaper than ``upper`` is found (in ``found``): its cost, else
    inf. The search is over when heap and stack are empty. What else the choice's box holds is not
    open any more, see :func:`.open_nodes.push_others`.

    Parameters
    ----------
    t, upper : see :mod:`encoders.compiled`
    prices : of :func:`encoders.bounds.lagrange.bound_by_prices`, zeros for none
    coupling : of the tables, where boxes may have prices of their own, else :func:`.uncoupled`
    pool : the open nodes, changed in place
    found : int64 (n_axes,), filled
    forbidden : int64 (n_literals, 3), axis, lo and hi of the literals of all forbidden boxes
    forbidden_start : int64 (n_boxes + 1,)
    n_nodes : at most so many
    reserve : with fewer free slots than this the search goes depth first
    dive : so many nodes at most of one box go by tables of its own, see :mod:`.narrow`
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
        kind, bound = _expand(
            t, prices, lo, hi, key, upper, forbidden, forbidden_start, found, False, live, best, up,
            down, split,
        )  # fmt: skip
        if kind == SOLVED:
            return bound
        if kind == SPLIT:
            a, v, near_is_low = split[0], split[1], split[2]
            deep = pool.counts[FREE] < reserve + dive or pool.counts[STACK] > 0
            priced = coupling.axis.size > 0 and is_worth_pricing(pool.counts, live)
            if dive and not deep and (priced or is_narrow(live)):
                cost = _dive(
                    t, prices, coupling, lo, hi, bound, pool, found, upper, forbidden,
                    forbidden_start, live, up, down, split, dive, priced,
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


@inner
def workspace(t):
    """What an expansion fills: ``live``, ``best``, ``up``, ``down``.

    Parameters
    ----------
    t : see :mod:`encoders.compiled`
    """
    live = np.zeros(t.tree_of.size, dtype=np.bool_)
    best = np.zeros((t.need.size + 1, t.tree_start.size - 1), dtype=np.int64)
    up = np.zeros((t.need.size, t.cost.size), dtype=np.int64)
    down = np.zeros((t.need.size, t.cost.size), dtype=np.int64)
    return live, best, up, down


@inner
def _dive(
    t, prices, coupling, lo, hi, bound, pool, found, upper, forbidden, forbidden_start, live, up,
    down, split, n_nodes, priced,
):  # fmt: skip
    """Look into a box depth first by tables of its own; what is left of it is opened in the end.

    Returns the cost of a choice that is cheaper than ``upper``, inf if none was found.
    """
    own, own_prices, live, best, leaf = _own(t, prices, live, lo, hi)
    if priced:
        n_nodes = min(n_nodes, PRICED_DIVE)
        pool.counts[PRICED] += 1
        if (lo > hi).any() or cheapest_point(own, lo.copy(), hi.copy(), found) >= upper:
            return np.inf
        its = box_prices(t, coupling, own, leaf, lo, hi, found, upper)
        if its.bound >= priced_out(upper):
            pool.counts[SHUT] += 1
            return np.inf
        if its.bound > bound:
            own_prices, bound = its, its.bound
    boxes, keys, fitting = stack_of(n_nodes, lo, hi, bound, live)
    n_open, cost = 1, np.inf
    for _ in range(n_nodes):
        if n_open == 0:
            break
        n_open -= 1
        pool.counts[NODES] += 1
        lo[:], hi[:], live[:] = boxes[n_open, 0], boxes[n_open, 1], fitting[n_open]
        kind, bound = _expand(
            own, own_prices, lo, hi, keys[n_open], upper, forbidden, forbidden_start, found, True,
            live, best, up, down, split,
        )  # fmt: skip
        if kind == SOLVED:
            cost = bound
            break
        if kind == SPLIT:
            n_open = stack_both(boxes, keys, fitting, n_open, lo, hi, bound, live, split)
    for i in range(n_open):
        push_box(pool, boxes[i, 0], boxes[i, 1], keys[i])
    if cost < np.inf:
        last = pool.free[pool.counts[FREE] - 1]
        pool.lo[last] = lo
        pool.hi[last] = hi
    return cost


@inner
def _own(t, prices, live, lo, hi):
    """A box's own tables and prices, what expansions fill, its leaves; the box is shrunk."""
    own, leaf, out = narrowed(t, live, lo, hi)
    price, constant = prices.leaf, prices.constant
    for certain in out:
        constant += price[certain]
    own_price = np.empty(leaf.size)
    for i in range(leaf.size):
        own_price[i] = price[leaf[i]]
    own_prices = Prices(prices.bound, constant, own_price, prices.level)
    best = np.zeros((t.need.size + 1, own.tree_start.size - 1), dtype=np.int64)
    return own, own_prices, np.ones(leaf.size, dtype=np.bool_), best, leaf


@inner
def stack_of(n_nodes, lo, hi, bound, live):
    """A stack that holds a box, and has room for all that so many nodes open.

    Parameters
    ----------
    n_nodes : at most so many
    lo, hi, bound, live : the box, its lower bound, and the leaves that may fit it
    """
    boxes = np.empty((n_nodes + 2, 2, lo.size), dtype=np.int64)
    keys = np.empty(n_nodes + 2)
    fitting = np.empty((n_nodes + 2, live.size), dtype=np.bool_)
    boxes[0, 0], boxes[0, 1], keys[0], fitting[0] = lo, hi, bound, live
    return boxes, keys, fitting


@inner
def stack_both(boxes, keys, fitting, n_open, lo, hi, bound, live, split):
    """Put both sides of a split on a stack, the near one on top; how many it then holds.

    Parameters
    ----------
    boxes, keys, fitting : int64 (n, 2, n_axes), float64 (n,) and bool (n, n_leaves), changed in
        place
    n_open : how many it holds
    lo, hi, bound, live : that is split, its lower bound, and the leaves that fit it
    split : of :func:`choose_split`
    """
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


@inner
def _expand(
    t, prices, lo, hi, key, upper, forbidden, forbidden_start, point, again, live, best, up, down,
    split,
):  # fmt: skip
    """Bound a box, shrink it, and solve or split it: (kind, lower bound).

    ``again`` says that only leaves which are ``live`` may fit it.
    """
    bound = key
    slack = np.zeros(t.need.size, dtype=np.int64)
    for turn in range(PROPAGATIONS):
        cost = cheapest_point(t, lo, hi, point)
        if cost >= upper or overloaded(t, lo, hi):
            return PRUNED, bound
        lower = scan_leaves(t, prices, lo, hi, point, cost, upper, again or turn > 0, live, best)
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
    """What the best leaves of all trees give beyond each row's need; False if too little.

    Parameters
    ----------
    t, best, slack : see :mod:`encoders.compiled`; the last is filled
    """
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
    """Bound on the whole cost once an axis has moved from its cheapest level this far.

    Parameters
    ----------
    cost_of, is_max : fields of the tables
    grouped : whether the axis is of a one-hot group
    first : its first level among all
    frm, to : levels within it
    cost : of the cheapest choice
    """
    moved = cost
    if is_max:
        moved = max(cost, cost_of[first + to])
    elif not grouped:
        moved = cost + cost_of[first + to] - cost_of[first + frm]
    return moved


@inner
def shrink(t, lo, hi, point, cost, upper, slack, up, down):
    """Cut off what is too dear, and sides on which a row can't be kept; -1 if nothing is left.

    Parameters
    ----------
    t, lo, hi, point, cost, upper, slack, up, down : see :mod:`encoders.compiled`; the box is
        changed in place
    """
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
    """What the far side of a split is worth: by how much it costs more, as a share of ``room``.

    Categories come first: no bound looks at what they cost before they are decided. Where both
    sides cost the same the middle is best, or levels would be taken off one by one.
    """
    if grouped:
        return CATEGORY * (max(dearer, 0.0) / room + LITTLE)
    gain = (max(beyond, 0.0) if is_max else dearer) / room
    if gain == 0.0:
        gain = FLAT * share * (1.0 - share)
    return gain + LITTLE


@inner
def choose_split(t, lo, hi, point, cost, upper, slack, up, down, split):
    """The split whose near side loses most of a row and whose far side costs most.

    Parameters
    ----------
    t, lo, hi, point, cost, upper, slack, up, down : see :mod:`encoders.compiled`
    split : int64 (3,), filled: axis, last level of the low side, whether the point is there
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
