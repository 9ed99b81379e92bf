"""Selection of backends, with their order and time limits, or of a map of the model."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from encoders.problem.descriptors import shape_of
from encoders.problem.problem import Problem
from selector.candidates import BackendTurn, all_able, backend_of, named
from selector.descriptors import Case
from selector.diagram import Diagram, Leaf
from selector.portfolios import Portfolio

if TYPE_CHECKING:
    from encoders.search.maps.region_map import Guess

Round = tuple[BackendTurn, ...]


@dataclass(frozen=True)
class Plan:
    """A schedule for one problem.

    Attributes
    ----------
    rounds : rounds that run in order until a backend proves; the backends of a round race. The last
        round has the time limit of the query.
    why : readable reason of the choice.
    leaf : leaf of the diagram that was reached.
    """

    rounds: tuple[Round, ...]
    why: str
    leaf: Leaf


@dataclass(frozen=True)
class Selector:
    """A chooser of backends, which follows a diagram and skips backends that cannot be used.

    It is immutable and has no cache, so threads can share one.

    Attributes
    ----------
    diagram : decision diagram.
    by_default : whether the user named no diagram, so that portfolios may replace it.
    portfolio : backends to choose from, None for all.
    """

    diagram: Diagram
    by_default: bool = True
    portfolio: Portfolio | None = None

    def within(self, portfolio: Portfolio | None) -> "Selector":
        """Return a selector within a portfolio, with the diagram that was learned for it."""
        if portfolio is None:
            return self
        diagram = portfolio.diagram() if self.by_default else None
        return replace(self, diagram=diagram or self.diagram, portfolio=portfolio)

    def plan(
        self, case: Case, problem: Problem, incumbent: float, threads: int, keep: bool = False
    ) -> Plan:
        """Return the plan for a problem; with one thread only the first backend of a race runs."""
        usable = self._usable(problem, keep)
        decision = self.diagram.decide(case.values(shape_of(problem, incumbent)))
        if self.portfolio is not None:
            leaf = self.portfolio.restricted(decision.leaf, list(usable))
            decision = replace(decision, leaf=leaf)
        turns = [
            tuple(replace(turn, seconds=seconds) for turn in _turns(problem, names, usable))
            for names, seconds in decision.leaf.schedule
        ]
        rounds = [several if threads > 1 else several[:1] for several in turns if several]
        if not rounds:
            fallback = next(iter(usable.values()))
            why = f"{decision}; none of them can be used here, so {fallback.backend.title}"
            return Plan(((fallback,),), why, decision.leaf)
        rounds[-1] = tuple(replace(turn, seconds=math.inf) for turn in rounds[-1])
        fewer = any(len(several) > 1 for several in turns) and threads == 1
        why = f"{decision}; with one thread only the first of them runs" if fewer else str(decision)
        return Plan(tuple(_without_restarts(rounds)), why, decision.leaf)

    def _usable(self, problem: Problem, keep: bool) -> dict[str, BackendTurn]:
        """Return the backends that can solve a problem by name, the candidates of a portfolio."""
        if self.portfolio is None:
            turns = {name: BackendTurn(backend) for name, backend in all_able(problem).items()}
        else:
            turns = self.portfolio.usable(problem)
        sessions = {name: turn for name, turn in turns.items() if turn.backend.capability.sessions}
        return sessions if keep else turns


def _turns(
    problem: Problem, names: Sequence[str], usable: Mapping[str, BackendTurn]
) -> Iterator[BackendTurn]:
    """Yield the backends of a turn that can be used, perhaps with an engine or a formulation."""
    for name in names:
        if name in usable:
            yield usable[name]
        elif name != backend_of(name) in usable:
            yield named(problem, name)


def _without_restarts(rounds: Sequence[Round]) -> list[Round]:
    """Merge a round with the next one if all its backends run there too; the others join them."""
    joined = [rounds[0]]
    for later in rounds[1:]:
        running, wait = joined[-1], joined[-1][0].seconds
        begun = {turn.backend.name for turn in running}
        fresh = [turn for turn in later if turn.backend.name not in begun]
        if len(fresh) + len(running) > len(later):
            joined.append(later)
            continue
        longer = [replace(turn, seconds=later[0].seconds) for turn in running]
        joined[-1] = (*longer, *(replace(turn, after=wait) for turn in fresh))
    return joined


# Measured on CP, BC and SE with forests and boosted models of 20 to 100 trees: a map saves 3 to
# 15 ms a row. At most a fifth of the 3 ms may be spent on making it. Scanning 1e8 leaves takes 4 to
# 8 s.
LOOKS_A_ROW = 10_000
LEAST_ROWS = 2_000  # fewer rows are solved before the map's code is loaded
MOST_MB = 64.0  # each worker process holds a copy
# Number of sampled paths for the estimate; a count, not a time limit, so that it is reproducible.
WAYS = 300


def may_be_worth_a_map(rows: int) -> bool:
    """Return whether a batch has enough rows to estimate the cost of a map."""
    return rows >= LEAST_ROWS


def most_looks(rows: int) -> float:
    """Return how many leaves a map may scan so that it saves a batch more than it costs."""
    return float(LOOKS_A_ROW * rows)


def worth_a_map(rows: int, expected: "Guess") -> bool:
    """Return whether a map is expected to save a batch more than it costs."""
    return expected.looks <= most_looks(rows) and expected.megabytes <= MOST_MB
