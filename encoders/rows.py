"""The margin rows, equation (4) of the paper, in exact integers with bounded rounding."""

import math

import numpy as np

from encoders.arrays import FloatArray, IntArray, frozen
from encoders.ensemble import Ensemble
from encoders.problem import LeafRow

LARGEST_SUM = 2.0**60
ROUNDING_SHARE = 0.1
LENGTH_SCALE = 2.0**32


def margin_rows(
    score: FloatArray, tree_start: IntArray, ensemble: Ensemble, target: int, margin: float
) -> tuple[tuple[LeafRow, ...], bool]:
    """One row per rival class: target's score - rival's score >= margin.

    Score differences are multiplied by ``scale`` and rounded, so a sum over T trees is off by at
    most T / 2. The row's minimum is lowered by that much: no choice with the full margin is
    lost, and since the rounding is at most a tenth of the margin every choice kept still wins.

    Parameters
    ----------
    score : float64 (n_leaves, n_classes)
    margin : in the user's score unit

    Returns
    -------
    rows, and whether the rounding is covered by the margin
    """
    n_trees = tree_start.size - 1
    needed = margin * ensemble.margin_unit
    scale = _scale(score, n_trees, needed, ensemble)
    exact = True
    rows = []
    for rival in range(ensemble.n_classes):
        if rival == target:
            continue
        difference = (score[:, target] - score[:, rival]) * scale
        weight = np.rint(difference).astype(np.int64)
        slack = 0.0 if ensemble.votes else _rounding(difference, tree_start)
        exact &= slack <= 2 * ROUNDING_SHARE * needed * scale
        base = np.minimum.reduceat(weight, tree_start[:-1])
        bias = float(ensemble.bias[target] - ensemble.bias[rival])
        minimum = math.ceil((needed - bias) * scale - slack) - int(base.sum())
        weight = weight - np.repeat(base, np.diff(tree_start))
        rows.append(LeafRow(frozen(weight), minimum))
    return tuple(rows), exact


def length_row(length: FloatArray, tree_start: IntArray, least: float) -> LeafRow | None:
    """Plausibility, ``H(x) >= H_min`` of appendix C; None if no lengths can add up to it.

    Lengths are rounded and the minimum is lowered by what that can change: no plausible choice is
    lost, and the isolation forest itself has the last word on the others.

    Parameters
    ----------
    length : float64 (n_leaves,)
    """
    if not np.isfinite(least):
        return None
    weight = np.rint(length * LENGTH_SCALE).astype(np.int64)
    base = np.minimum.reduceat(weight, tree_start[:-1])
    slack = tree_start.size / 2 + 1
    minimum = math.floor(least * LENGTH_SCALE - slack) - int(base.sum())
    return LeafRow(frozen(weight - np.repeat(base, np.diff(tree_start))), minimum)


def _rounding(difference: FloatArray, tree_start: IntArray) -> float:
    """Largest error of a sum over the trees: half a unit each, and float64's own share."""
    largest = np.maximum.reduceat(np.abs(difference), tree_start[:-1])
    return (tree_start.size - 1) / 2 + 1 + float(largest.sum()) * 2.0**-51


def _scale(score: FloatArray, n_trees: int, needed: float, ensemble: Ensemble) -> float:
    """A power of two that keeps rounding a small share of the margin, if int64 allows it."""
    if ensemble.votes:
        return 1.0
    spread = float((score.max(axis=1) - score.min(axis=1)).max(initial=0.0))
    bias = float(np.ptp(ensemble.bias)) + needed
    wanted = max(1e9, (n_trees / 2 + 1) / (ROUNDING_SHARE * needed))
    largest = LARGEST_SUM / max(n_trees * spread + bias, 1e-300)
    return float(2.0 ** min(math.ceil(math.log2(wanted)), math.floor(math.log2(largest))))
