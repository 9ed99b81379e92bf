"""Tasks that stages solve: a query, with the model, the strategy and the limits."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Self

from encoders.backends.attempt import RunBackend, SolveReported
from encoders.backends.interface import Request
from encoders.formulation.nearby import Nearby
from encoders.formulation.pose import Posed
from encoders.formulation.wide_columns import Region
from encoders.query.goal import Goal
from encoders.query.query import Query
from portfolio.engine.certificate import Certificate
from portfolio.engine.progress import Progress
from portfolio.engine.strategies import Strategy
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.model.oracle import Oracle


@dataclass(eq=False)
class TurnMemo:
    """Encoding and solver of a goal's last turn, with which its next one begins; for one thread."""

    posed: Posed | None = None
    solve: SolveReported | None = None
    cutoff: float = -inf  # every choice that costs less is encoded

    def keep(self, posed: Posed, solve: SolveReported, cutoff: float) -> None:
        """Keep what the turn that has just begun uses."""
        self.posed, self.solve, self.cutoff = posed, solve, cutoff


@dataclass(frozen=True, eq=False)
class QueryTask:
    """Query to solve, for one or several goals, in a region, within limits.

    Attributes
    ----------
    model : the parsed model.
    strategy : strategy that solves encoded queries.
    run : runner of backends.
    request : limits of the search, with the cutoff of the query.
    deadline : clock time at which the search ends, as :func:`time.perf_counter` returns it.
    query : the query; once goals are split, with its goal.
    goals : goals, any of which an answer may reach.
    progress : collector of bounds.
    region : classes of high-cardinality columns to which answers are limited.
    most_refused : number of cells that the model may reject before the search gives up.
    clear : function that certifies the cheapest row with a clear lead, or None.
    posed : the encoded query, None before it is encoded.
    solve : solver of the encoded query, None for that of the strategy.
    near : limited-distance subproblems of the same query, by view.
    memo : encoding and solver of an earlier turn of the same goal, None if there is one turn only.
    """

    model: ExplainedModel
    strategy: Strategy
    run: RunBackend
    request: Request
    deadline: float
    query: Query
    goals: tuple[Goal, ...]
    progress: Progress
    region: Region = field(default_factory=dict)
    most_refused: float = inf
    clear: Callable[[Request], Certificate] | None = None
    posed: Posed | None = None
    solve: SolveReported | None = None
    near: dict[ClassView, Nearby] = field(default_factory=dict)
    memo: TurnMemo | None = None

    @property
    def view(self) -> ClassView:
        """The model as seen for the goal."""
        return self.model.views[self.query.goal.target]

    @property
    def oracle(self) -> Oracle:
        """Oracle that decides by the model itself whether a row is an answer."""
        return replace(self.model.oracle(self.query.goal.target), margin=self.query.margin)

    def over(self) -> bool:
        """Return whether the search is to end."""
        return self.request.stop.is_set() or time.perf_counter() >= self.deadline

    def leading(self, margin: float) -> Self:
        """Return the task for rows whose score has a lead, without an encoded query."""
        query = replace(self.query, margin=margin)
        return replace(
            self, query=query, most_refused=inf, clear=None, posed=None, solve=None, memo=None
        )


# Solver of a task by some stages.
Solve = Callable[[QueryTask], Certificate]
# A stage solves a task, with the help of a solver by the later stages.
Stage = Callable[[QueryTask, Solve], Certificate]
