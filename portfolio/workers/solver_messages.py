"""Messages to a solver process."""

import time
from dataclasses import dataclass

from encoders.backends.interface import Backend, Request, SolveSettings
from encoders.core.arrays import IntArray
from encoders.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class SolverTask:
    """Request to solve a problem, without the callbacks, which cannot be pickled.

    Attributes
    ----------
    backend : backend to run.
    problem : problem to solve.
    settings : settings of the request.
    deadline : seconds on the clock of ``time.monotonic``, which all processes of a machine share;
        it replaces the time limit of the settings.
    keep : bool, whether to keep the model for queries that differ in costs only.
    """

    backend: Backend
    problem: Problem
    settings: SolveSettings
    deadline: float
    keep: bool

    @staticmethod
    def of(backend: Backend, problem: Problem, request: Request, keep: bool) -> "SolverTask":
        """Return the task of a request for a process on this machine."""
        deadline = time.monotonic() + request.time_limit_s
        return SolverTask(backend, problem, request.settings, deadline, keep)


@dataclass(frozen=True, eq=False)
class Rival:
    """Best choice that other backends have found so far.

    Attributes
    ----------
    choice : int64 array (n_axes,).
    """

    choice: IntArray
