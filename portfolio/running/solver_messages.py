"""What a solver process is sent."""

import time
from dataclasses import dataclass

from encoders.arrays import IntArray
from encoders.backends.interface import Backend, Request, SolveSettings
from encoders.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class SolverTask:
    """What it is asked; a request without its channel, which can't be sent.

    Attributes
    ----------
    backend : that solves
    problem : to solve
    settings : how
    deadline : on the clock of ``time.monotonic``, which all processes of a machine share; the
        time limit of the settings counts for nothing
    keep : whether to keep the model for queries that differ in costs only
    """

    backend: Backend
    problem: Problem
    settings: SolveSettings
    deadline: float
    keep: bool

    @staticmethod
    def of(backend: Backend, problem: Problem, request: Request, keep: bool) -> "SolverTask":
        """What a request asks of a process on this machine."""
        deadline = time.monotonic() + request.time_limit_s
        return SolverTask(backend, problem, request.settings, deadline, keep)


@dataclass(frozen=True, eq=False)
class Rival:
    """The best choice that others have found by now, int64 (n_axes,).

    Attributes
    ----------
    choice : int64 (n_axes,)
    """

    choice: IntArray
