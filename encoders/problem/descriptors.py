"""Descriptors of a problem, from which a selector chooses a solver."""

from dataclasses import dataclass

import numpy as np

from encoders.problem.problem import Problem


@dataclass(frozen=True)
class Shape:
    """Size and tightness of a finite-domain problem, in most cases a reduced one.

    Attributes
    ----------
    options : number of levels beyond one per axis.
    leaves : number of leaves of all trees.
    open_trees : number of trees with more than one leaf.
    axes : number of axes (features, or columns of a category).
    axis_max : number of levels of the largest axis.
    rows : number of leaf rows (margins and path lengths).
    slack : slack of the tightest row, as a share of the sum of the best leaves' weights:
        0 is tight, 1 excludes nothing.
    incumbent : cost of the best known choice, inf without one.
    """

    options: int
    leaves: int
    open_trees: int
    axes: int
    axis_max: int
    rows: int
    slack: float
    incumbent: float


def shape_of(problem: Problem, incumbent: float) -> Shape:
    """Return the descriptors of a problem; this takes well under a millisecond."""
    per_tree = np.diff(problem.tree_start)
    return Shape(
        options=problem.cost.size - problem.n_axes,
        leaves=problem.n_leaves,
        open_trees=int((per_tree > 1).sum()),
        axes=problem.n_axes,
        axis_max=int(problem.size.max(initial=0)),
        rows=len(problem.leaf_rows),
        slack=min((_slack(problem, i) for i in range(len(problem.leaf_rows))), default=1.0),
        incumbent=incumbent,
    )


def _slack(problem: Problem, index: int) -> float:
    row = problem.leaf_rows[index]
    if problem.n_leaves == 0:
        return 1.0
    best = row.largest(problem.tree_start)
    return (best - row.minimum) / best if best > 0 else 0.0
