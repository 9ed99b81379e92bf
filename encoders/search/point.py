"""Check of a box's cheapest choice: most fail, and an early row usually shows it."""

from encoders.core.compiled import inner


@inner
def point_keeps_rows(t, point, live, best, slack, forbidden, forbidden_start):
    """Return whether the cheapest choice satisfies every row and lies in no forbidden box."""
    level_limit = t.level_limit
    level_start = t.level_start
    level_weight = t.level_weight
    weight = t.weight
    left = slack.copy()
    for tree in range(best.shape[1]):
        leaf = best[left.size, tree]
        # Where leaves have been ruled out a choice may lie in none of a tree's.
        if leaf < 0 or not live[leaf]:
            return False
        for r in range(left.size):
            left[r] -= weight[r, best[r, tree]] - weight[r, leaf]
            if left[r] < 0:
                return False
    for q in range(level_limit.size):
        load = -level_limit[q]
        for a in range(point.size):
            load += level_weight[q, level_start[a] + point[a]]
        if load > 0:
            return False
    for b in range(forbidden_start.size - 1):
        inside = True
        for i in range(forbidden_start[b], forbidden_start[b + 1]):
            v = point[forbidden[i, 0]]
            if v < forbidden[i, 1] or v > forbidden[i, 2]:
                inside = False
                break
        if inside:
            return False
    return True
