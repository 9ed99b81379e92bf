"""Random questions about a row, with the tests' own reading of each constraint."""

import numpy as np

from portfolio import Allowed, Decrease, Fixed, Increase, MaxChanges, Range


def random_constraints(rng, specs, x):
    """Constraints, and the test's own reading of them as a mask over rows."""
    constraints, masks = [], []
    for spec in specs:
        column = spec.columns[0]
        own = x[column]
        kind = rng.choice(["none", "none", "none", "fixed", "up", "down", "range", "allowed"])
        if kind == "fixed":
            constraints.append(Fixed(spec.name))
            masks.append(lambda r, c=list(spec.columns): (r[:, c] == x[c]).all(axis=1))
        elif spec.kind == "categorical" and kind == "allowed":
            constraints.append(Allowed(spec.name, ["c0", "c2"]))
            masks.append(lambda r, c=spec.columns: (r[:, c[0]] == 1) | (r[:, c[2]] == 1))
        elif spec.kind == "categorical":
            continue
        elif kind == "up":
            constraints.append(Increase(spec.name))
            masks.append(lambda r, c=column, v=own: r[:, c] >= v)
        elif kind == "down":
            constraints.append(Decrease(spec.name))
            masks.append(lambda r, c=column, v=own: r[:, c] <= v)
        elif kind == "range":
            low, high = np.sort(rng.choice([spec.lower, own, spec.upper], 2, replace=False))
            constraints.append(Range(spec.name, low, high))
            masks.append(lambda r, c=column, a=low, b=high: (r[:, c] >= a) & (r[:, c] <= b))
        elif kind == "allowed" and spec.kind == "ordinal":
            constraints.append(Allowed(spec.name, [1, 2, own]))
            masks.append(lambda r, c=column, v=own: np.isin(r[:, c], [1, 2, v]))
    if rng.random() < 0.3:
        limit = int(rng.integers(1, 3))
        constraints.append(MaxChanges(limit))
        masks.append(lambda r: _changes(r, x, specs) <= limit)
    return constraints, masks


def _changes(rows, x, specs):
    """How many features differ; from one row, or from a row each."""
    every = [list(spec.columns) for spec in specs]
    return sum((rows[:, c] != x[..., c]).any(axis=1).astype(int) for c in every)


def rules_for_many(rng, specs):
    """Constraints for any row, and the test's own reading: (rows after, rows before) -> bool.

    Limits are numbers that float32 holds.
    """
    rules, masks = [], []
    for spec in specs:
        c = list(spec.columns)
        kind = rng.choice(["", "", "", "fixed", "up", "down", "range", "allowed"])
        if kind == "fixed":
            rules.append(Fixed(spec.name))
            masks.append(lambda r, x, c=c: (r[:, c] == x[:, c]).all(axis=1))
        elif kind == "allowed" and spec.kind == "categorical":
            rules.append(Allowed(spec.name, ["c0", "c2"]))
            masks.append(lambda r, x, c=c: (r[:, c[0]] == 1) | (r[:, c[2]] == 1))
        elif kind == "allowed" and spec.kind == "ordinal":
            rules.append(Allowed(spec.name, [1, 3, 4]))
            masks.append(lambda r, x, c=c: np.isin(r[:, c[0]], [1, 3, 4]))
        elif kind == "up" and spec.kind != "categorical":
            rules.append(Increase(spec.name))
            masks.append(lambda r, x, c=c: r[:, c[0]] >= x[:, c[0]])
        elif kind == "down" and spec.kind != "categorical":
            rules.append(Decrease(spec.name))
            masks.append(lambda r, x, c=c: r[:, c[0]] <= x[:, c[0]])
        elif kind == "range" and spec.kind == "numeric":
            ends = np.sort(rng.uniform(spec.lower, spec.upper, 2))
            low, high = ends.astype(np.float32).astype(float).tolist()
            rules.append(Range(spec.name, low, high))
            masks.append(lambda r, x, c=c, a=low, b=high: (r[:, c[0]] >= a) & (r[:, c[0]] <= b))
    if rng.random() < 0.3:
        most = int(rng.integers(1, 3))
        rules.append(MaxChanges(most))
        masks.append(lambda r, x: _changes(r, x, specs) <= most)
    return rules, masks


def scaled(k, feature, before, after):
    """Costs of a module, so that workers find them."""
    return k * abs(after - before)
