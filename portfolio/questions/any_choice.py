"""Search for any choice that the native model accepts, which need not be the cheapest."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, TypeVar

from encoders.backends.interface import Request
from encoders.backends.registry import find_backend
from encoders.backends.stopping import EitherEvent
from encoders.core.arrays import IntArray
from encoders.presolve.compress import Lift, Smaller
from encoders.problem.problem import Problem

Answer = TypeVar("Answer")
# "none" is a proof. The search is "stopped" by time or user, and "rejected" after too many ties.
End = Literal["found", "none", "stopped", "rejected"]
Solve = Callable[[Problem, Request], tuple[IntArray | None, bool]]


def any_choice(problem: Problem, request: Request) -> tuple[IntArray | None, bool]:
    """Return any choice or None, and whether it is proved that there is none."""
    enough = EitherEvent(request.stop)
    first = replace(request, stop=enough, on_choice=lambda levels: enough.set())
    outcome = find_backend("search").load()(problem, first)
    if outcome.choices:
        return outcome.choices[0], False
    return None, outcome.status == "infeasible"


def find_accepted(
    reduced: Callable[[], Smaller | tuple[Problem, Lift] | None],
    accept: Callable[[IntArray], Answer | None],
    request: Request,
    deadline: float,
    most_rejected: int,
    solve: Solve = any_choice,
) -> tuple[Answer | None, End]:
    """Return the first accepted choice as an answer, and how the search ended.

    ``reduced`` returns the current problem, None if it has no choice. ``accept`` returns the answer
    of a choice of the whole problem; if there is none, it excludes the choice.
    """
    for _ in range(most_rejected):
        left_s = deadline - time.perf_counter()
        if left_s <= 0 or request.stop.is_set():
            return None, "stopped"
        smaller = reduced()
        if smaller is None:
            return None, "none"
        choice, none = solve(smaller[0], replace(request, time_limit_s=left_s))
        if choice is None:
            return None, "none" if none else "stopped"
        answer = accept(smaller[1].up(choice))
        if answer is not None:
            return answer, "found"
    return None, "rejected"
