"""Interface of the mixed-integer engines: request and result."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from encoders.backends.milp.linear_model import LinearModel
from encoders.core.arrays import FloatArray

End = Literal["optimal", "infeasible", "time_limit", "memory_limit", "interrupted", "error"]


@dataclass(frozen=True, eq=False)
class EngineRequest:
    """Limits of an engine, and callbacks that it calls from its own threads.

    Attributes
    ----------
    time_limit_s : time limit in seconds.
    threads, seed : number of threads and random seed of the solver.
    cutoff : largest objective of interest, in units of the model's objective.
    gap : gap at which the engine stops, in the same units.
    stop : event that ends the solve.
    on_solution : callback for every better solution, float64 (n_columns,).
    on_bound : callback for lower bounds on the objective.
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
    """Result of a run of an engine."""

    end: End  # "optimal" or "infeasible", proved within the engine's tolerances, or another end
    x: FloatArray | None  # float64 (n_columns,), the solution if "optimal", else None
    bound: float  # lower bound on the objective
    seconds: float  # duration of the run
    raw: str  # status in the engine's own words


class Engine(Protocol):
    """Solve a linear model to optimality, anytime.

    Raises UnavailableBackendError where a licence does not allow it.
    """

    def __call__(self, model: LinearModel, request: EngineRequest) -> Finish:
        """Solve; ends soon after the request's stop is set."""
        ...
