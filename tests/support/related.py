"""An oracle for relations: every combination of cells, and a linear program within each.

Cells come from the model's own arrays of thresholds, relations are evaluated as they are defined,
and shares no code with ours.
"""

import itertools

import numpy as np
from scipy.optimize import linprog

from portfolio import Becomes, Changes, Falls, Rises, Stays, Within

TINY = 1e-12  # by which a number is beyond an open end


def holds(condition, row, before):
    """Whether a condition holds for two mappings of values by name."""
    now, was = row[condition.feature], before[condition.feature]
    match condition:
        case Changes():
            return now != was
        case Stays():
            return now == was
        case Rises():
            return now > was if condition.by == 0 else now >= was + condition.by - TINY / 2
        case Falls():
            return now < was if condition.by == 0 else now <= was - condition.by + TINY / 2
        case Within():
            return condition.lower <= now <= condition.upper
        case Becomes():
            return now in condition.values
    raise AssertionError(condition)


def intervals(thresholds, lower, upper, marks):
    """Closed intervals within which neither the model nor a condition changes its mind."""
    cuts = sorted({*np.float64(np.float32(np.array(sorted(thresholds)))).tolist()})
    ends = [lower]
    for cut in cuts:
        if lower <= cut < upper:
            ends += [cut, cut + TINY]
    ends.append(upper)
    found = []
    for lo, hi in zip(ends[::2], ends[1::2], strict=True):
        inside = sorted(m for m in marks if lo <= m <= hi)
        at = lo
        for mark in inside:
            if at < mark - TINY:
                found.append((at, mark - TINY))
            found.append((mark, mark))
            at = mark + TINY
        if at <= hi:
            found.append((at, hi))
    return found


def optimum(spec, before, wanted, allowed, sums=(), joint=None, norm=1):
    """The cheapest admissible cost; inf if there is none.

    ``spec`` maps each feature to (unit or None, list of intervals or of values); ``allowed`` judges
    a mapping of values, ``wanted`` a list of them at once; ``sums`` are (factors by name, bound);
    ``joint`` gives a cost on top.
    """
    names, best = list(spec), np.inf
    cells = [
        (spans, middle)
        for combination in itertools.product(*(spec[name][1] for name in names))
        for spans in [dict(zip(names, combination, strict=True))]
        for middle in [_middle(spans)]
        if allowed(middle)
    ]
    good = wanted([middle for _, middle in cells]) if cells else []
    for spans, middle in itertools.compress(cells, good):
        cost = within(spec, spans, before, sums, norm)
        if joint is not None and cost < np.inf:
            extra = joint(middle)
            cost = max(cost, extra) if norm == "inf" else cost + extra
        best = min(best, cost)
    return best


def _middle(spans):
    return {n: (s[0] + s[1]) / 2 if isinstance(s, tuple) else s for n, s in spans.items()}


def within(spec, spans, before, sums, norm):
    """A linear program over numbers and their distances; points are constants."""
    free = [n for n, span in spans.items() if isinstance(span, tuple)]
    base = [
        _price(spec[n][0], span, before[n], norm)
        for n, span in spans.items()
        if not isinstance(span, tuple)
    ]
    if norm == 0:
        moved = [n for n in free if not spans[n][0] <= before[n] <= spans[n][1]]
        others = [n for n in free if n not in moved]
        for count in range(len(others) + 1):
            for also in itertools.combinations(others, count):
                fixed = {n: before[n] for n in others if n not in also}
                if feasible(spans, {**fixed}, before, sums):
                    return sum(base) + len(moved) + count
        return np.inf
    k = len(free)
    # Variables: numbers, then their distances, or the largest of them.
    cost = np.r_[np.zeros(k), np.ones(k) if norm == 1 else [1.0]]
    rows, most = [], []
    for i, name in enumerate(free):
        at = k + i if norm == 1 else k
        for sign in (1, -1):
            row = np.zeros(cost.size)
            row[i], row[at] = sign / spec[name][0], -1
            rows.append(row)
            most.append(sign * before[name] / spec[name][0])
    for factors, bound in sums:
        row = np.zeros(cost.size)
        for i, name in enumerate(free):
            row[i] = factors.get(name, 0.0)
        rows.append(row)
        most.append(bound - sum(f * spans[n] for n, f in factors.items() if n not in free))
    if not k:
        kept = all(m >= -1e-12 for m in most)
        return (sum(base) if norm == 1 else max(base, default=0.0)) if kept else np.inf
    limits = [spans[n] for n in free] + [(0, None)] * (cost.size - k)
    found = linprog(cost, A_ub=np.array(rows), b_ub=np.array(most), bounds=limits)
    if found.status != 0:
        return np.inf
    return found.fun + sum(base) if norm == 1 else max([found.fun, *base])


def feasible(spans, fixed, before, sums):
    free = [n for n, s in spans.items() if isinstance(s, tuple) and n not in fixed]
    most = [
        bound
        - sum(
            f * fixed.get(n, spans[n] if n not in free else 0)
            for n, f in factors.items()
            if n not in free
        )
        for factors, bound in sums
    ]
    if not free:
        return all(m >= -1e-12 for m in most)
    rows = [[factors.get(n, 0.0) for n in free] for factors, _ in sums]
    if not rows:
        return True
    found = linprog(np.zeros(len(free)), A_ub=rows, b_ub=most, bounds=[spans[n] for n in free])
    return found.status == 0


def _price(unit, value, was, norm):
    if norm == 0 or unit is None:
        return float(value != was)
    return abs(value - was) / unit
