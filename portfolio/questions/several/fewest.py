"""Fewest changes that reach the target, whatever they cost; faster than limits on changes."""

import math
from dataclasses import dataclass, replace

from encoders.query.constraints import AllowMissing
from encoders.query.goal import ClassGoal
from encoders.query.relations import JointCost
from portfolio.question import OWN
from portfolio.questions.series import Series
from portfolio.result import Result
from portfolio.solving.verify import priced

ROOM = 1e-6  # relative tolerance, so that rounding does not exclude the known answer


@dataclass(frozen=True, eq=False)
class Fewest:
    """Result of a query for the number of changes alone.

    Attributes
    ----------
    count : int, proved minimum for the number of changes.
    changes : int, number of changes of the answer found.
    cost : float, cost of that answer in the norm of the series.
    result : Result of the query.
    """

    count: int
    changes: int
    cost: float
    result: Result

    @property
    def out_of_reach(self) -> Result:
        """The result that fewer changes do not suffice (proved)."""
        return replace(
            self.result,
            status="infeasible",
            stop_reason="proved",
            distance=math.inf,
            lower_bound=math.inf,
            verified=False,
            trace=(),
            changed=(),
            row=None,
            scoring=None,
            rounder=None,
        )

    def cutoff(self, count: int) -> float:
        """Return a limit on the cost of the cheapest answer with at most this many changes."""
        return self.cost * (1 + ROOM) if count >= self.changes else math.inf


def find_fewest(series: Series) -> Fewest | None:
    """Return the fewest changes; None if the norm 0 does not count them or none is found.

    Missing values and pairs have separate costs, and costs of the user may list values.
    """
    question = series.question
    model = series.asker.model
    apart = any(isinstance(each, AllowMissing | JointCost) for each in question.constraints)
    if (
        apart
        or question.measure == OWN
        or any(feature.missing or feature.codes for feature in model.space.features)
    ):
        return None
    answer = series.ask_plainly(replace(question, norm=0, weights=None))
    if answer.row is None:
        return None
    query = question.query(model, series.row, ClassGoal(0))
    paid = priced(answer.row.values, query, model.space)
    count = math.ceil(answer.lower_bound - ROOM)
    cost = math.inf if paid is None else paid.distance
    return Fewest(count, len(answer.changed), cost, answer)
