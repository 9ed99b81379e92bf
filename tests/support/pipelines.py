"""Where a pipeline's inputs cross the thresholds of its model, by halving between raw values.

Nothing here uses the project's way of reading pipelines.
"""

import warnings

import numpy as np

from tests.support.brute import thresholds


def change_points(model, X, name, more=()):
    """Both sides of every place, within the column's range, where the answer to a split changes.

    ``more`` are numbers that every input is compared with, besides the model's thresholds.
    """
    steps, last = model[:-1], model[-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        width = steps.transform(X.iloc[[0]]).shape[1]
        found, dtype = thresholds(last, width)
        found = [cuts | set(more) for cuts in found]

        def signature(values):
            rows = X.iloc[[0] * len(values)].reset_index(drop=True)
            rows[name] = np.asarray(values, dtype=float)
            inputs = steps.transform(rows)
            inputs = inputs.toarray() if hasattr(inputs, "toarray") else np.asarray(inputs, float)
            # What a sparse matrix does not hold, 0, XGBoost takes for missing.
            parts = [inputs < 0, inputs <= 0]
            inputs = inputs.astype(dtype)
            parts += [inputs[:, [j]] < np.array(sorted(t)) for j, t in enumerate(found) if t]
            parts += [inputs[:, [j]] <= np.array(sorted(t)) for j, t in enumerate(found) if t]
            return [part.tobytes() for part in np.hstack(parts)]

        grid = sorted({float(value) for value in X[name].dropna()})
        points = {grid[0], grid[-1]}
        marks = signature(grid)
        waiting = [
            (a, b, p, q)
            for a, b, p, q in zip(grid, grid[1:], marks, marks[1:], strict=False)
            if p != q
        ]
        while waiting:
            middle = [a + (b - a) / 2 for a, b, _, _ in waiting]
            halves = []
            for (a, b, p, q), m, s in zip(waiting, middle, signature(middle), strict=True):
                if m in (a, b):
                    points |= {a, b}
                    continue
                halves += [(a, m, p, s)] if p != s else []
                halves += [(m, b, s, q)] if s != q else []
            waiting = halves
    return sorted(points)
