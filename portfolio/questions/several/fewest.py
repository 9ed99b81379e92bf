"""The fewest changes that suffice, whatever they cost; much faster than a limit on changes."""

import math
from dataclasses import dataclass, replace

from encoders.query.constraints import AllowMissing
from encoders.query.goal import ClassGoal
from encoders.query.relations import JointCost
from portfolio.question import OWN
from portfolio.questions.series import Series
from portfolio.result import Result
from portfolio.solving.verify import priced

ROOM = 1e-6  # relative; a limit on the cost that the known answer keeps, however it is added up


@dataclass(frozen=True, eq=False)
class Fewest:
    """What a question about the number of changes alone has shown.

    Attributes
    ----------
    count : fewer changes do not suffice (proved)
    changes : of the answer that was found
    cost : of that answer, by the norm of the series
    result : of the question
    """

    count: int
    changes: int
    cost: float
    result: Result

    @property
    def out_of_reach(self) -> Result:
        """The proof that fewer changes do not suffice, as an answer to that question."""
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

    def dearest(self, count: int) -> float:
        """A limit that the cheapest answer with at most so many changes keeps."""
        return self.cost * (1 + ROOM) if count >= self.changes else math.inf


def find_fewest(series: Series) -> Fewest | None:
    """The fewest changes; None where a norm of 0 does not count them, or they are not found.

    What is missing has prices of its own, and so have pairs; costs of the user's may list values.
    """
    own = series.question
    model = series.asker.model
    apart = any(isinstance(each, AllowMissing | JointCost) for each in own.constraints)
    if (
        apart
        or own.measure == OWN
        or any(feature.missing or feature.codes for feature in model.space.features)
    ):
        return None
    found = series.ask_plainly(replace(own, norm=0, weights=None))
    if found.row is None:
        return None
    query = own.query(model, series.row, ClassGoal(0))
    paid = priced(found.row.values, query, model.space)
    count = math.ceil(found.lower_bound - ROOM)
    cost = math.inf if paid is None else paid.distance
    return Fewest(count, len(found.changed), cost, found)
