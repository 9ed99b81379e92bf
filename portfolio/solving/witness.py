"""Rows that refute a claim of infeasibility."""

from dataclasses import dataclass, replace

import numpy as np

from encoders.arrays import FloatArray
from encoders.backends.search.many_choices import admitted
from encoders.posing.pose import Posed
from encoders.problem.problem import Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from portfolio.model.explained_model import ClassView
from portfolio.model.oracle import Oracle
from portfolio.solving.onward import with_onward
from portfolio.solving.repairs import Repairs
from portfolio.solving.verify import Verified, priced, verify

MOST = 500  # training rows that are tested, the cheapest first; fewer refute less
REPAIRED = 10  # training rows that are moved until they satisfy the relations
PREDICTED = 64  # moved rows that the model predicts in one call


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Training rows that reach the goal, moved to admissible values.

    Attributes
    ----------
    posed : levels and their meaning.
    query : the query.
    space : the model's features.
    oracle : the model itself.
    view : trees of the target class, with the training rows.
    """

    posed: Posed
    query: Query
    space: FeatureSpace
    oracle: Oracle
    view: ClassView

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
