"""The margin rows, equation (7) of the paper, in exact integers with bounded rounding."""

import math

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.problem.problem import LeafRow
from encoders.trees.ensemble import Ensemble

# The values are derived in docs/explanation/rounding.md and docs/reference/tolerances.md.
LARGEST_SUM = 2.0**60  # whole units of all leaves of a row together; int64 holds 8 times as much
ROUNDING_SHARE = 0.1  # of a margin: what rounding may change; less needs larger weights
LEAST_SCALE = 1e9  # whole units per unit of score to aim at, made 2^30; paper's appendix D
SMALLEST_SUM = 1e-290  # of scores: no division overflows where all of them are 0
BEYOND = 4.0  # times the largest sum of scores: a needed lead beyond it is cut to it


def margin_rows(
    score: FloatArray, tree_start: IntArray, ensemble: Ensemble, target: int, margin: float
) -> tuple[tuple[LeafRow, ...], bool]:
    """Return one row per rival class: target's score - rival's score >= what is needed.

    Score differences are multiplied by ``scale`` and rounded, so a sum over T trees is off by at
    most T / 2. The row's minimum is lowered by that much: no choice with the lead needed is lost.
    With a margin the rounding is at most a tenth of it, and every choice kept still wins. Without
    one every choice is kept that the model itself may decide so (``Ensemble.rounding``), and native
    verification decides those near a tie.
    """
    exact = True
    rows = []
    for rival in range(ensemble.n_classes):
        if rival == target:
            continue
        difference = score[:, target] - score[:, rival]
        bias = float(ensemble.bias[target] - ensemble.bias[rival])
        row, covered = _margin_row(difference, bias, tree_start, ensemble, target, rival, margin)
        rows.append(row)
        exact &= covered
    return tuple(rows), exact


def _margin_row(
    difference: FloatArray,
    bias: float,
    tree_start: IntArray,
    ensemble: Ensemble,
    target: int,
    rival: int,
    margin: float,
) -> tuple[LeafRow, bool]:
    n_trees = tree_start.size - 1
    largest = float(np.maximum.reduceat(np.abs(difference), tree_start[:-1]).sum()) + abs(bias)
    needed = margin * ensemble.margin_unit
    if margin == 0:
        needed = ensemble.rounding.least_lead(target, rival)
    # What no lead can reach, or always does, may be any such number.
    needed = float(np.clip(needed, -BEYOND * largest - 1.0, BEYOND * largest + 1.0))
    on_grid = ensemble.rounding.grid if margin == 0 or ensemble.votes else 0.0
    # Solvers add up all leaves of a row before they know that one per tree is active.
    whole = 2.0 * float(np.abs(difference).sum()) + largest + abs(needed)
    scale = _scale(whole, n_trees, needed, on_grid)
    scaled = difference * scale
    weight = np.rint(scaled).astype(np.int64)
    slack = 0.0 if on_grid and scale * on_grid >= 1.0 else _rounding(scaled, tree_start)
    minimum = math.ceil((needed - bias) * scale - slack)
    covered = margin == 0 or slack <= 2 * ROUNDING_SHARE * needed * scale
    return LeafRow.normalised(weight, minimum, tree_start), covered


def bounded_row(
    weight: FloatArray, bias: float, tree_start: IntArray, needed: float, error: float
) -> LeafRow:
    """Return ``sum of weight[l] over active leaves + bias >= needed`` without losing a solution."""
    largest = float(np.maximum.reduceat(np.abs(weight), tree_start[:-1]).sum()) + abs(bias)
    needed = float(np.clip(needed, -BEYOND * largest - 1.0, BEYOND * largest + 1.0))
    whole = 2.0 * float(np.abs(weight).sum()) + largest + abs(needed)
    scale = _scale(whole, tree_start.size - 1, 0.0, 0.0)
    scaled = weight * scale
    slack = _rounding(scaled, tree_start) + (error + (largest + abs(needed)) * 2.0**-51) * scale
    minimum = math.ceil((needed - bias) * scale - slack)
    return LeafRow.normalised(np.rint(scaled).astype(np.int64), minimum, tree_start)


def _rounding(difference: FloatArray, tree_start: IntArray) -> float:
    """Largest error of a sum over the trees: half a unit each, and float64's own share."""
    largest = np.maximum.reduceat(np.abs(difference), tree_start[:-1])
    return (tree_start.size - 1) / 2 + 1 + float(largest.sum()) * 2.0**-51


def _scale(whole: float, n_trees: int, needed: float, grid: float) -> float:
    """Return a power of two that keeps rounding a small share of the margin, if int64 permits."""
    most = LARGEST_SUM / max(whole, SMALLEST_SUM)
    if grid and 1.0 / grid <= most:
        return 1.0 / grid
    wanted = LEAST_SCALE
    if needed > 0:
        share = ROUNDING_SHARE * needed  # 0 or its inverse infinite where float64 holds no less
        wanted = max(wanted, (n_trees / 2 + 1) / share if share else most)
    return float(2.0 ** min(math.ceil(math.log2(min(wanted, most))), math.floor(math.log2(most))))
