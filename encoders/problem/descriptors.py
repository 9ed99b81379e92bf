"""What a problem looks like to someone who has to choose a solver for it."""

from dataclasses import dataclass

import numpy as np

from encoders.problem.problem import Problem


@dataclass(frozen=True)
class Shape:
    """A finite-domain problem, in most cases what reduction left.

    Attributes
    ----------
    options : levels to choose among, beyond one per axis
    leaves : of all trees
    open_trees : trees with more than one leaf left
    axes : features (or columns of a category) left to decide
    axis_max : levels of the axis with most
    rows : margin and path-length rows
    slack : of the tightest row, what the trees' best leaves give beyond what is needed, as a
        share of what they give: 0 is tight, 1 asks for nothing
    incumbent : cost of the best choice known, inf without one
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
    """Describe what a solver would be given; takes well under a millisecond."""
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
    best = int(np.maximum.reduceat(row.weight, problem.tree_start[:-1]).sum())
    return (best - row.minimum) / best if best > 0 else 0.0
