"""Expansion of a node: its box is bounded, shrunk, and solved or split.

Search, dives, fronts and proofs share this code. Callers choose two policies, which are compiled
only where they are used: ``demands`` (None for a single limit) and ``trace`` (None without proof).
"""

from encoders.core.compiled import inner
from encoders.search.demands import narrow_span, target_highest, update_span
from encoders.search.drops import choose_split, fill_drops, shrink
from encoders.search.node import (
    PROPAGATIONS,
    PRUNED,
    SOLVED,
    SPLIT,
    cheapest_point,
    fill_slack,
    is_forbidden,
    overloaded,
    point_keeps_rows,
)
from encoders.search.scan import scan_leaves
from encoders.search.trace import write_cuts


@inner
def expand(t, prices, node, key, upper, forbidden, demands, trace):
    """Bound a box, shrink it, and solve or split it: (kind, lower bound).

    With demands, each has its own limit instead of ``upper``. A choice is stored for all demands
    that it meets, and a node is pruned once no demand is left.
    """
    bound, cost, raised = key, 0.0, 0.0
    lo, hi = node.lo, node.hi
    for _ in range(PROPAGATIONS):
        cost = cheapest_point(t, lo, hi, node.point)
        if trace is not None:
            write_cuts(trace, lo, hi)
        if demands is not None:
            upper, prices, raised = narrow_span(t, demands, prices, node, cost, bound)
        if cost >= upper or overloaded(t, lo, hi) or is_forbidden(forbidden, lo, hi):
            return PRUNED, bound
        lower = scan_leaves(t, prices, node, cost, upper)
        if lower >= upper:
            return PRUNED, bound
        if trace is not None:
            write_cuts(trace, lo, hi)
        if not fill_slack(t, node):
            return PRUNED, bound
        bound = max(bound, cost, lower - raised)
        keeps = point_keeps_rows(t, node, forbidden)
        if demands is None:
            if keeps:
                return SOLVED, cost
        elif not update_span(t, demands, node, keeps, cost, bound):
            return PRUNED, bound
        fill_drops(t, node)
        changed = shrink(t, node, cost, upper)
        if trace is not None:
            write_cuts(trace, lo, hi)
        if changed < 0:
            return PRUNED, bound
        if changed == 0:
            break
    if demands is not None:
        target_highest(demands, node)
    # Leaves and prices may have shrunk the box until a forbidden one contains it.
    if is_forbidden(forbidden, lo, hi) or not choose_split(t, node, cost, upper):
        return PRUNED, bound
    return SPLIT, bound
