"""Training rows as starting points: distinct cells, classified once per model."""

from dataclasses import dataclass

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, evenly, frozen
from encoders.query.features import FeatureSpace
from encoders.trees.cells import Cells, codes
from encoders.trees.ensemble import Ensemble

LARGEST_CLASS = 2000  # rows kept of a class; more take longer at each query
MOST_ROWS = 100_000  # classified; of 500,000 in 50 columns they took 16 s and 1 GB
# Classified at once; more of them only while some class has too few. With all of a table of 45,000
# reading a forest of 570,000 leaves took a fifth longer.
SOME_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Reference:
    """Distinct training rows of each class that the model predicts.

    Attributes
    ----------
    rows : per class, int64 (n_rows, n_columns), the cell of each value. In a one-hot column it is 0
        or 1 (2 in the last if all are 0). In a column split into sets it is the class of the cell.
    sums : per class, float64 (n_rows, n_sums), scores of the trees.
    """

    rows: tuple[IntArray, ...]
    sums: tuple[FloatArray, ...]


def make_reference(
    ensemble: Ensemble, cells: Cells, space: FeatureSpace, training: FloatArray
) -> Reference:
    """Classify training rows by the trees and keep distinct ones, evenly spread if too many."""
    training = training[evenly(len(training), MOST_ROWS)]
    n_parts = -(-len(training) // SOME_ROWS)
    found: list[tuple[IntArray, FloatArray]] = []
    count = np.zeros(ensemble.n_classes, dtype=np.int64)
    for first in range(n_parts):
        part = training[first::n_parts]
        code, index = np.unique(cells_of(ensemble, cells, space, part), axis=0, return_index=True)
        found.append((code, ensemble.scores(part[index])))
        count += np.bincount(_winner(ensemble, found[-1][1]), minlength=count.size)
        if count.min() >= LARGEST_CLASS:
            break
    code, scores = (np.concatenate(each) for each in zip(*found, strict=True))
    if len(found) > 1:
        code, index = np.unique(code, axis=0, return_index=True)
        scores = scores[index]
    winner = _winner(ensemble, scores)
    rows, sums = [], []
    for label in range(ensemble.n_classes):
        own = np.flatnonzero(winner == label)
        own = own[evenly(len(own), LARGEST_CLASS)]
        rows.append(frozen(np.asfortranarray(code[own])))  # questions go column by column
        sums.append(frozen(scores[own]))
    return Reference(tuple(rows), tuple(sums))


def _winner(ensemble: Ensemble, scores: FloatArray) -> IntArray:
    best: IntArray = ensemble.outputs(scores).argmax(axis=1)
    return best


def cells_of(ensemble: Ensemble, cells: Cells, space: FeatureSpace, rows: FloatArray) -> IntArray:
    """Rows in the cells of :class:`Reference`, int64 (n_rows, n_columns)."""
    code = codes(cells.boundary, rows, ensemble.dtype)
    for feature in space.features:
        if feature.one_hot:
            columns = list(feature.columns)
            code[:, columns] = rows[:, columns].astype(np.int64)
            code[~rows[:, columns].any(axis=1), columns[-1]] = 2
    for group in cells.groups:
        code[:, group.column] = group.class_of[code[:, group.column]]
    return code
