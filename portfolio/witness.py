"""A training row that refutes a claim that there is no counterfactual."""

from dataclasses import dataclass

from encoders.features import FeatureSpace
from encoders.pose import Posed, Query
from encoders.problem import Problem
from encoders.reference import Reference
from portfolio.judge import Judge
from portfolio.verify import Verified, verify

MOST = 500  # training rows looked at, the cheapest first


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Training rows of the target class, moved to admissible values."""

    posed: Posed
    query: Query
    space: FeatureSpace
    judge: Judge
    reference: Reference

    def find(self, problem: Problem, cutoff: float) -> Verified | None:
        """One that keeps every constraint, costs less than ``cutoff``, and that the model
        itself confirms; None if there is none.

        Parameters
        ----------
        problem : the posed one, with what has been cut off since
        """
        rows = self.posed.closest(self.reference.rows[self.query.target], MOST)
        for levels in rows:
            cost = problem.distance(levels)
            if cost >= cutoff:
                return None
            if problem.admits(levels):
                row = self.posed.decode(levels)
                found = verify(row, cost, self.query, self.space, self.judge)
                if found is not None:
                    return found
        return None
