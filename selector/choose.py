"""Selection of the backends that solve a problem, with their order and time limits."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from encoders.problem.descriptors import shape_of
from encoders.problem.problem import Problem
from selector.candidates import AUTO, BackendTurn, all_able
from selector.case import Case
from selector.diagram import Diagram, Leaf

__all__ = ["AUTO", "BackendTurn", "Plan", "Selector"]

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
    """

    diagram: Diagram

    def plan(
        self, case: Case, problem: Problem, incumbent: float, threads: int, keep: bool = False
    ) -> Plan:
        """Return the plan for a problem; with one thread only the first backend of a race runs."""
        able = {
            name: backend
            for name, backend in all_able(problem).items()
            if not keep or backend.capability.sessions
        }
        decision = self.diagram.decide(case.values(shape_of(problem, incumbent)))
        turns = [
            tuple(BackendTurn(able[name], seconds=seconds) for name in names if name in able)
            for names, seconds in decision.leaf.schedule
        ]
        rounds = [racers if threads > 1 else racers[:1] for racers in turns if racers]
        if not rounds:
            fallback = BackendTurn(next(iter(able.values())))
            why = f"{decision}; none of them can be used here, so {_shown(fallback)}"
            return Plan(((fallback,),), why, decision.leaf)
        rounds[-1] = tuple(replace(turn, seconds=math.inf) for turn in rounds[-1])
        fewer = any(len(racers) > 1 for racers in turns) and threads == 1
        why = f"{decision}; with one thread only the first of them runs" if fewer else str(decision)
        return Plan(tuple(_without_restarts(rounds)), why, decision.leaf)


def _shown(turn: BackendTurn) -> str:
    return turn.backend.title


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
