"""Rows that satisfy the relations of a query, built from features without the encoded problem.

Encoding a query merges values that the trees treat alike. All solvers would share a mistake of that
step, and so would witnesses that are choices of the problem. The rows built here would not.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.admissible import Admissible
from encoders.query.conditions import Test
from encoders.query.cost import table_values
from encoders.query.features import Feature, FeatureSpace
from encoders.query.grid import Grid
from encoders.query.query import Query

MOST_STEPS = 300  # rows checked in total, some milliseconds
DEEPEST = 6  # maximal number of moved features


@dataclass(eq=False)
class Repairs:
    """Search for rows in which every relation holds.

    Attributes
    ----------
    query : query with relations.
    space : the model's features.
    steps : int, number of rows that may still be checked.
    """

    query: Query
    space: FeatureSpace
    steps: int = MOST_STEPS

    def rows(self, starts: Iterable[FloatArray]) -> Iterator[FloatArray]:
        """Yield rows that keep the relations, float64 (n_columns,), near the starting rows."""
        for start in starts:
            yield from self._repaired(start, frozenset())

    def _repaired(self, row: FloatArray, moved: frozenset[int]) -> Iterator[FloatArray]:
        """Move one feature of a violated relation after another, depth first."""
        related = self.query.related
        if related is None or self.steps <= 0:
            return
        self.steps -= 1
        values = self.space.values(row)
        violated = related.violated(values)
        if violated is None:
            if related.holds(values):
                yield row
            return
        for test in violated if len(moved) < DEEPEST else ():
            if test.index not in moved:
                for value in self._alternatives(test):
                    changed = self._with(row, test.index, value)
                    yield from self._repaired(changed, moved | {test.index})

    def _alternatives(self, test: Test) -> Iterator[float]:
        """Yield admissible values that fail a test: the query's own, missing, and others."""
        feature, admissible = self.space.features[test.index], self.query.admissible[test.index]
        current = float(self.space.values(self.query.row)[test.index])
        table = self.query.cost.table(test.index)
        near = (
            _values_near(feature, admissible, test)
            if table is None
            else table_values(feature, table)
        )
        failing = np.array([current, np.nan, *admissible.codes, *near])
        for value in failing[~test.passes(failing)].tolist():
            stays = value == current or (value != value and current != current)
            if value != value:
                fits = admissible.missing is not None
            elif value in feature.codes:
                fits = value in admissible.codes
            else:
                listed = admissible.values is None or value in admissible.values
                fits = listed and admissible.lower <= value <= admissible.upper
            if fits or (stays and admissible.stay):
                yield value

    def _with(self, row: FloatArray, index: int, value: float) -> FloatArray:
        feature, changed = self.space.features[index], row.copy()
        if feature.one_hot:
            changed[list(feature.columns)] = 0.0
            changed[list(feature.columns)] = np.arange(len(feature.columns)) == value
        else:
            changed[feature.column] = value
        return changed


def _values_near(feature: Feature, admissible: Admissible, test: Test) -> list[float]:
    """Return values to try: all listed ones, else numbers at the ends of the test's intervals."""
    if feature.kind == "categorical":
        return [float(index) for index in range(len(feature.labels))]
    if feature.values or admissible.values is not None:
        return [value for value in feature.values or admissible.values or () if value == value]
    ends = np.array([admissible.lower, admissible.upper, *np.ravel(test.intervals)])
    with np.errstate(over="ignore"):
        below = np.concatenate([ends, np.nextafter(ends, -np.inf)])
        above = np.concatenate([ends, np.nextafter(ends, np.inf)])
    if feature.step:
        below, above = Grid(feature.step).at_most(below), Grid(feature.step).at_least(above)
    elif feature.kind == "ordinal":
        below, above = np.floor(below), np.ceil(above)
    candidates: list[float] = np.unique(np.concatenate([below, above])).tolist()
    return [value for value in candidates if np.isfinite(value)]
