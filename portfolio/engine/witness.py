"""Rows that refute a claim of infeasibility."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.formulation.pose import Posed
from encoders.problem.problem import Problem
from encoders.query.admissible import Admissible
from encoders.query.conditions import Test
from encoders.query.cost import table_values
from encoders.query.features import Feature, FeatureSpace
from encoders.query.grid import Grid
from encoders.query.query import Query
from encoders.search.many_choices import admitted
from portfolio.engine.onward import with_onward
from portfolio.engine.verify import Verified, priced, verify
from portfolio.model.explained_model import ClassView
from portfolio.model.oracle import Oracle

MOST_STEPS = 300  # rows checked in total, some milliseconds

DEEPEST = 6  # maximal number of moved features

MOST = 500  # training rows that are tested, the cheapest first; fewer refute less

REPAIRED = 10  # training rows that are moved until they satisfy the relations

PREDICTED = 64  # moved rows that the model predicts in one call


@dataclass(eq=False)
class Repairs:
    """Search for rows in which every relation holds."""

    query: Query  # query with relations
    space: FeatureSpace  # the model's features
    steps: int = MOST_STEPS  # number of rows that may still be checked

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


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Training rows that reach the goal, moved to admissible values."""

    posed: Posed  # levels and their meaning
    query: Query
    space: FeatureSpace  # the model's features
    oracle: Oracle  # the model itself
    view: ClassView  # trees of the target class, with the training rows

    def find(self, problem: Problem, cutoff: float) -> Verified | None:
        """Return a verified row of the problem that costs less than ``cutoff``, or None."""
        rows = self.posed.closest(self.view.near(self.query.goal), MOST)
        choices = self.posed.completed(problem, rows)
        cost = [problem.distance(levels) for levels in choices]
        cheap = next((i for i, each in enumerate(cost) if each >= cutoff), len(cost))
        for at in np.flatnonzero(admitted(problem, choices[:cheap])):
            row = self.posed.decode(choices[at])
            verified = verify(row, cost[at], self.query, self.space, self.oracle)
            if verified is not None:
                return verified
        return None

    def find_repaired(self, cutoff: float) -> Verified | None:
        """Return a verified row that the problem may not even contain, or None.

        Training rows are moved to values that each relation admits, and checked without the
        problem: a mistake of the encoding cannot hide them.
        """
        if self.query.related is None:
            return None
        goal, rows = self.query.goal, self.posed.closest(self.view.near(self.query.goal), REPAIRED)
        starts = [*(self.posed.decode(levels) for levels in rows), self.query.row]
        candidates = []
        for row in Repairs(self.query, self.space).rows(starts):
            verified = self._priced(row)
            if verified is not None and verified.distance < cutoff:
                candidates.append(verified)
            if len(candidates) == PREDICTED:
                break
        if not candidates:
            return None
        matrix = np.stack([verified.row for verified in candidates])
        accepted = self.oracle.accepted(matrix, goal, self.query.margin)
        good = [
            verified
            for verified, is_accepted in zip(candidates, accepted, strict=True)
            if is_accepted
        ]
        best = min(good, key=lambda verified: verified.distance, default=None)
        if best is None:
            return None
        ensemble = self.oracle.ensemble
        changed = with_onward(
            best.changed, best.row, self.query, self.space, ensemble, rounded=True
        )
        return replace(best, changed=changed)

    def _priced(self, row: FloatArray) -> Verified | None:
        try:
            return priced(row, self.query, self.space)
        except Exception:  # the user's cost function may reject such a value
            return None
