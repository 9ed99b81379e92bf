"""Several goals of a very large model: each has a share of the time, open ones another."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from encoders.backends.attempt import in_turn
from encoders.query.goal import Goal
from portfolio.solving.certify import Certificate
from portfolio.solving.join import Answer, join

# Of the time, for first turns: looks take seconds, and proofs for what one of them has found take
# less once all others have been looked at, too.
FIRST_TURNS = 0.5

# What is known of a goal, given when to stop and the best answer of all by now.
Ask = Callable[[Goal, float, Answer | None], Answer]


def in_turns(ask: Ask, goals: Sequence[Goal], deadline: float, over: Callable[[], bool]) -> Answer:
    """The cheapest answer to any of the goals, of which none takes all the time."""
    found: dict[Goal, Answer] = {}
    began = time.perf_counter()
    until, waiting = began + FIRST_TURNS * (deadline - began), list(goals)
    while waiting:
        # Where least is proved the joint bound can rise.
        waiting.sort(key=lambda goal: found[goal].certificate.lower if goal in found else 0.0)
        for at, goal in enumerate(waiting):
            now = time.perf_counter()
            if goal in found and over():
                break
            share = max(now, until) - now
            own = ask(goal, now + share / (len(waiting) - at), joint(found.values()))
            found[goal] = again(found[goal], own) if goal in found else own
        until = deadline
        waiting = [] if over() else [goal for goal in goals if is_open(found[goal], found)]
    together = joint(found.values())
    assert together is not None
    return together


def is_open(own: Answer, found: dict[Goal, Answer]) -> bool:
    """Whether more time may find a goal a cheaper answer than the best one of all."""
    best = joint(found.values())
    assert best is not None
    certificate, cheapest = own.certificate, best.certificate.answer
    if certificate.stop_reason != "time_limit" or certificate.message:
        return False
    return cheapest is None or certificate.lower < cheapest.distance


def joint(found: Iterable[Answer]) -> Answer | None:
    """What is known of some goals together; None without any."""
    together: Answer | None = None
    for own in found:
        together = own if together is None else join(together, own)
    return together


def again(before: Answer, now: Answer) -> Answer:
    """What is known of a goal that was asked about twice, at last for less than a cutoff."""
    held, own = before.certificate, after(before.certificate, now.certificate)
    goal, status = now.goal, own.status
    if held.answer is not None and (
        own.answer is None or held.answer.distance < own.answer.distance
    ):
        lower = min(own.lower, held.answer.distance)
        proved = own.status in ("optimal", "infeasible") and lower >= held.answer.distance
        status, goal = "optimal" if proved else "feasible", before.goal
        own = replace(own, status=status, answer=held.answer, lower=lower)
    return Answer(own, goal, before.pose_s + now.pose_s)


def after(before: Certificate, now: Certificate) -> Certificate:
    """What is proved now, with what it took to get there."""
    attempts = in_turn([before.provenance.attempts, now.provenance.attempts])
    # What was refused within a radius is a bound, unless nothing that is said now can be relied on.
    lower = now.lower if now.message else max(before.lower, now.lower)
    return replace(
        now,
        lower=lower if now.answer is None else min(lower, now.answer.distance),
        times=before.times + now.times,
        provenance=replace(now.provenance, attempts=attempts),
    )
