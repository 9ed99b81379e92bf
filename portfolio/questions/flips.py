"""Search for rows with any other prediction that keep the values of some features."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from encoders.backends.interface import Request
from encoders.core.arrays import BoolArray
from encoders.formulation.pose import pose
from encoders.formulation.starting_points import cells_of
from encoders.query.admissible import resolve
from encoders.query.cost import make_cost
from encoders.query.query import Query
from portfolio.engine.ask import Asker
from portfolio.model.explained_model import one_by_one
from portfolio.model.row import Row
from portfolio.questions.decision import Other
from portfolio.questions.every_row import may_lack
from portfolio.questions.side import Flip, Found, Side


@dataclass(frozen=True, eq=False)
class Flips:
    """Finder of rows with another prediction."""

    sides: tuple[Side, ...]  # one side per goal of another prediction
    request: Request  # request of the search
    deadline: float  # value of ``time.perf_counter()`` at which to stop

    @property
    def over(self) -> bool:
        """True if the time is over or the user interrupted."""
        return time.perf_counter() >= self.deadline or self.request.stop.is_set()

    def walk(self, free: BoolArray) -> Flip | None:
        """Try :meth:`find` by local search, which is far faster; None proves nothing."""
        if self.over:
            return None
        return next(filter(None, (side.walk(free) for side in self.sides)), None)

    def find(self, free: BoolArray) -> Found:
        """Find a row with another prediction that differs in free features only."""
        flip = self.walk(free)
        if flip is not None:
            return Found(flip, True)
        proved = True
        for side in self.sides:
            found = side.find(free, self.request, self.deadline)
            if found.flip is not None:
                return found
            proved &= found.proved
        return Found(None, proved)

    def confirm(self, known: Sequence[Flip]) -> str:
        """Verify flips by the model; return the reason for doubt, "" if all are confirmed."""
        for side in self.sides:
            side.confirm([flip for flip in known if flip.side is side])
        return next((side.doubt for side in self.sides if side.doubt), "")

    def doubt(self, free: BoolArray) -> str:
        """Return the reason to doubt a proof that free features flip nothing, or ""."""
        for side in self.sides:
            if not side.keeps_invariants or side.refuted(free):
                return side.doubt
        return ""


def pose_flips(
    asker: Asker,
    row: Row,
    others: tuple[Other, ...],
    request: Request,
    deadline: float,
) -> Flips:
    """Encode the search for each other prediction of a row."""
    return Flips(tuple(_sides(asker, row, others)), request, deadline)


def _sides(asker: Asker, row: Row, others: tuple[Other, ...]) -> Iterator[Side]:
    space = asker.model.space
    admissible, _ = resolve(space, space.values(row.values), may_lack(space, row))
    cost = make_cost(space, 0, "none", None)
    alone = one_by_one(asker.model) if any(other.at is not None for other in others) else ()
    for other in others:
        model = asker.model if other.at is None else alone[other.at]
        goal, view = other.goal, model.views[other.goal.target]
        query = Query(row.values, goal, cost, admissible, (), 0.0)
        posed = pose(view.ensemble, view.cells, space, query)
        cells = cells_of(view.ensemble, view.cells, space, row.values[None, :])
        query_levels = posed.closest(cells, 1)[0]
        oracle = model.oracle(goal.target)
        yield Side(posed, query, space, oracle, view, query_levels, replace(asker, model=model))
