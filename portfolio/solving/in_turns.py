"""Time slicing of several goals of a very large model."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from encoders.backends.attempt import in_turn
from encoders.query.goal import Goal
from portfolio.solving.certify import Certificate
from portfolio.solving.join import Answer, join

# Share of the time for first turns. Searches take seconds, and a proof for the answer of one goal
# is faster after all others have been searched.
FIRST_TURNS = 0.5

# Returns the answer to a goal, given a clock time to stop at and the best answer so far.
Ask = Callable[[Goal, float, Answer | None], Answer]


def in_turns(ask: Ask, goals: Sequence[Goal], deadline: float, over: Callable[[], bool]) -> Answer:
    """Return the cheapest answer to any of the goals; each gets a share of the time."""
    answers: dict[Goal, Answer] = {}
    began = time.perf_counter()
    until, waiting = began + FIRST_TURNS * (deadline - began), list(goals)
    while waiting:
        # The goal with the weakest bound limits the joint bound.
        waiting.sort(key=lambda goal: answers[goal].certificate.lower if goal in answers else 0.0)
        for at, goal in enumerate(waiting):
            now = time.perf_counter()
            if goal in answers and over():
                break
            share = max(now, until) - now
            answer = ask(goal, now + share / (len(waiting) - at), joint(answers.values()))
            answers[goal] = again(answers[goal], answer) if goal in answers else answer
        until = deadline
        waiting = [] if over() else [goal for goal in goals if is_open(answers[goal], answers)]
    together = joint(answers.values())
    assert together is not None
    return together


def is_open(answer: Answer, answers: dict[Goal, Answer]) -> bool:
    """Return whether more time may find a cheaper answer to a goal than the best one of all."""
    best = joint(answers.values())
    assert best is not None
    certificate, cheapest = answer.certificate, best.certificate.answer
    if certificate.stop_reason != "time_limit" or certificate.message:
        return False
    return cheapest is None or certificate.lower < cheapest.distance


def joint(answers: Iterable[Answer]) -> Answer | None:
    """Return the joint answer of some goals; None without any."""
    together: Answer | None = None
    for answer in answers:
        together = answer if together is None else join(together, answer)
    return together


def again(before: Answer, now: Answer) -> Answer:
    """Return the joint answer of two attempts at a goal, the second one with a cutoff."""
    earlier, later = before.certificate, after(before.certificate, now.certificate)
    goal, status = now.goal, later.status
    if earlier.answer is not None and (
        later.answer is None or earlier.answer.distance < later.answer.distance
    ):
        lower = min(later.lower, earlier.answer.distance)
        proved = later.status in ("optimal", "infeasible") and lower >= earlier.answer.distance
        status, goal = "optimal" if proved else "feasible", before.goal
        later = replace(later, status=status, answer=earlier.answer, lower=lower)
    return Answer(later, goal, before.pose_s + now.pose_s)


def after(before: Certificate, now: Certificate) -> Certificate:
    """Return the later certificate, with the bounds, times and attempts of both."""
    attempts = in_turn([before.provenance.attempts, now.provenance.attempts])
    # Earlier bounds hold, unless a message says that nothing is proved.
    lower = now.lower if now.message else max(before.lower, now.lower)
    return replace(
        now,
        lower=lower if now.answer is None else min(lower, now.answer.distance),
        times=before.times + now.times,
        provenance=replace(now.provenance, attempts=attempts),
    )
