"""What a mixed-integer engine is asked, and what it answers."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from encoders.arrays import FloatArray
from encoders.backends.milp.linear_model import LinearModel

End = Literal["optimal", "infeasible", "time_limit", "memory_limit", "interrupted", "error"]


@dataclass(frozen=True, eq=False)
class EngineRequest:
    """How to solve a linear model, and whom to tell.

    Attributes
    ----------
    time_limit_s : seconds
    threads, seed : of the solver
    cutoff, gap : in units of the model's objective; solutions above the cutoff are of no
        interest, and it stops at a gap of at most ``gap``
    stop : ends the solve
    on_solution : gets every better solution found, float64 (n_columns,)
    on_bound : gets lower bounds on the objective

    Both are called from the engine's threads.
    """

    time_limit_s: float
    threads: int
    seed: int
    cutoff: float
    gap: float
    stop: threading.Event
    on_solution: Callable[[FloatArray], None]
    on_bound: Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Finish:
    """How a run ended.

    Attributes
    ----------
    end : "optimal" or "infeasible" are proofs within the engine's tolerances
    x : float64 (n_columns,), the solution if "optimal", else None
    bound : lower bound on the objective
    seconds : that it took
    raw : the engine's own words
    """

    end: End
    x: FloatArray | None
    bound: float
    seconds: float
    raw: str


class Engine(Protocol):
    """Solve a linear model to optimality, anytime.

    Raises UnavailableBackendError where a licence does not allow it.
    """

    def __call__(self, model: LinearModel, request: EngineRequest) -> Finish:
        """Solve; ends soon after the request's stop is set."""
        ...
