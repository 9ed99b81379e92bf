"""Turns of several goals: rounds of ever longer searches, of several hard goals at once."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from encoders.backends.stopping import why
from encoders.query.goal import Goal
from portfolio.engine.certificate import Certificate, join_all
from portfolio.engine.task import QueryTask
from portfolio.workers.interrupt import run_together

# Seconds of each goal's first turn, without presolve, and the factor between rounds. After short
# turns the best answer limits the cost for all goals; without it, long searches are often in vain.
FIRST_TURN_S, LONGER = 0.2, 4.0
# Seconds of a turn from which on the remaining goals are searched at the same time. Shorter ones
# spend most of their time in Python, which runs one thread at a time.
HARD_S = 0.2
MOST = 4  # goals at the same time, each of which keeps its encoding and presolve in memory


@dataclass(frozen=True)
class GoalTurn:
    """Limits of one search for an answer to a goal."""

    deadline: float  # clock time at which it ends
    seconds: float  # for solving after presolve
    threads: int
    cutoff: float  # largest cost that is still wanted


# Returns the answer to a goal within the limits of a turn.
Ask = Callable[[Goal, GoalTurn], Certificate]


class GoalTurns:
    """Search for the cheapest answer to any of several goals.

    A turn searches from the start, with the best answer of all goals as cutoff. It takes no more
    than an equal share of the remaining time, so that each goal has a lower bound in the end.
    """

    def __init__(self, ask: Ask, goals: Sequence[Goal], task: QueryTask) -> None:
        self._ask, self._goals, self._task = ask, goals, task
        self._threads = task.request.threads
        self._solved: dict[Goal, Certificate] = {}
        self._lock = threading.Lock()
        self._hard = self._failed = False

    def run(self) -> Certificate:
        """Return what is proved about the cheapest answer."""
        waiting, turn_s = list(self._goals), FIRST_TURN_S
        while waiting:
            self._run_round(deque(waiting), turn_s)
            waiting = [] if self._task.over() else [g for g in self._goals if self._is_open(g)]
            turn_s = LONGER * turn_s if len(waiting) > 1 else math.inf
            # The goal of the best answer comes first: a better one would limit the others further.
            # Goals with strong bounds are soon proved, and leave their time to the others.
            waiting.sort(key=lambda goal: (self._solved[goal].distance, -self._solved[goal].lower))
        joint = join_all(self._solved.values())
        complete = len(self._solved) == len(self._goals)
        return joint if complete else joint.cut(why(self._task.request))

    def _run_round(self, waiting: deque[Goal], turn_s: float) -> None:
        """Give each goal a turn: one after another until one is hard, then several at once."""
        while waiting and not (self._hard and self._threads > 1):
            self._take_turn(waiting, turn_s, 1)
        lanes = min(self._threads, len(waiting), MOST)
        if lanes:
            run_together(partial(self._take_turns, waiting, turn_s, lanes), lanes)

    def _take_turns(self, waiting: deque[Goal], turn_s: float, lanes: int) -> None:
        """Give goals a turn until none waits, or another thread has failed."""
        try:
            while waiting and not self._failed:
                self._take_turn(waiting, turn_s, lanes)
        except BaseException:
            self._failed = True
            raise

    def _take_turn(self, waiting: deque[Goal], turn_s: float, lanes: int) -> None:
        """Give the next goal a turn, unless time is over."""
        with self._lock:
            if not waiting or (self._solved and self._task.over()):
                waiting.clear()
                return
            now = time.perf_counter()
            left_s = max(self._task.deadline - now, 0.0)
            share_s = min(left_s, left_s * lanes / len(waiting))
            cutoff = min((each.distance for each in self._solved.values()), default=math.inf)
            goal = waiting.popleft()
            # Once one goal is hard, each gets a lower bound before any is searched for longer.
            seconds = turn_s if goal in self._solved or not self._hard else 0.0
        turn = GoalTurn(now + share_s, seconds, self._threads // lanes, cutoff)
        certificate = self._ask(goal, turn)
        with self._lock:
            earlier = self._solved.get(goal)
            self._solved[goal] = certificate if earlier is None else earlier.then(certificate)
            self._hard = self._hard or time.perf_counter() - now > HARD_S

    def _is_open(self, goal: Goal) -> bool:
        """Return whether more time may find a cheaper answer to a goal than the best one of all."""
        certificate = self._solved[goal]
        if certificate.stop_reason != "time_limit" or certificate.message:
            return False
        cheapest = min(each.distance for each in self._solved.values())
        return cheapest == math.inf or certificate.lower < cheapest
