"""A training row that refutes a claim that there is no counterfactual."""

from dataclasses import dataclass

import numpy as np

from encoders.backends.search.many_choices import admitted
from encoders.posing.pose import Posed
from encoders.problem.problem import Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from portfolio.model.explained_model import ClassView
from portfolio.model.oracle import Oracle
from portfolio.solving.verify import Verified, verify

MOST = 500  # training rows looked at, the cheapest first; fewer refute less


@dataclass(frozen=True, eq=False)
class Witnesses:
    """Training rows that reach the goal, moved to admissible values.

    Attributes
    ----------
    posed : levels and what they mean
    query : what is asked
    space : the model's features
    oracle : the model itself
    view : has the training rows
    """

    posed: Posed
    query: Query
    space: FeatureSpace
    oracle: Oracle
    view: ClassView

    def find(self, problem: Problem, cutoff: float) -> Verified | None:
        """One that keeps every constraint, costs less than ``cutoff``, and that the model
        itself confirms; None if there is none.

        Parameters
        ----------
        problem : the posed one, with what has been cut off since
        cutoff : cost, inf for none
        """
        rows = self.posed.closest(self.view.near(self.query.goal), MOST)
        choices = self.posed.completed(problem, rows)
        cost = [problem.distance(levels) for levels in choices]
        cheap = next((i for i, own in enumerate(cost) if own >= cutoff), len(cost))
        for at in np.flatnonzero(admitted(problem, choices[:cheap])):
            row = self.posed.decode(choices[at])
            found = verify(row, cost[at], self.query, self.space, self.oracle)
            if found is not None:
                return found
        return None
