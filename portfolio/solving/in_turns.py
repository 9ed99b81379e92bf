"""Time slicing of several goals of a very large model."""

import math
import time
from collections.abc import Callable, Mapping, Sequence

from encoders.query.goal import Goal
from portfolio.solving.certificate import Certificate, join_all

# Share of the time for first turns. Searches take seconds, and a proof for the answer of one goal
# is faster after all others have been searched.
FIRST_TURNS = 0.5

# Returns the answer to a goal, given a clock time to stop at and the best answer so far.
Ask = Callable[[Goal, float, Certificate | None], Certificate]


def in_turns(
    ask: Ask, goals: Sequence[Goal], deadline: float, over: Callable[[], bool]
) -> Certificate:
    """Return the cheapest answer to any of the goals; each gets a share of the time."""
    solved: dict[Goal, Certificate] = {}
    began = time.perf_counter()
    until, waiting = began + FIRST_TURNS * (deadline - began), list(goals)
    while waiting:
        # The goal with the weakest bound limits the joint bound.
        waiting.sort(key=lambda goal: solved[goal].lower if goal in solved else 0.0)
        for at, goal in enumerate(waiting):
            now = time.perf_counter()
            if goal in solved and over():
                break
            share = max(now, until) - now
            best = join_all(solved.values()) if solved else None
            certificate = ask(goal, now + share / (len(waiting) - at), best)
            solved[goal] = solved[goal].then(certificate) if goal in solved else certificate
        until = deadline
        waiting = [] if over() else [goal for goal in goals if is_open(solved[goal], solved)]
    return join_all(solved.values())


def is_open(certificate: Certificate, solved: Mapping[Goal, Certificate]) -> bool:
    """Return whether more time may find a cheaper answer to a goal than the best one of all."""
    if certificate.stop_reason != "time_limit" or certificate.message:
        return False
    cheapest = min(each.distance for each in solved.values())
    return cheapest == math.inf or certificate.lower < cheapest
