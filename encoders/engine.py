"""What a mixed-integer engine is asked, and what it answers."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from encoders.arrays import FloatArray, IntArray
from encoders.linear import LinearModel

End = Literal["optimal", "infeasible", "time_limit", "memory_limit", "interrupted", "error"]


@dataclass(frozen=True)
class Limits:
    """When to stop; ``cutoff`` and ``gap`` are in units of the model's objective."""

    time_limit_s: float
    threads: int
    seed: int
    cutoff: float
    gap: float
    stop: threading.Event


@dataclass(frozen=True, eq=False)
class Finish:
    """How a run ended: solution (if "optimal"), bound on the objective, seconds, raw status."""

    end: End
    x: FloatArray | None
    bound: float
    seconds: float
    raw: str


class Run(Protocol):
    """Solve a linear model to optimality, anytime.

    Raises UnavailableBackendError where a licence does not allow it.

    ``on_solution`` gets every better solution found, ``on_bound`` bounds on the objective; both
    are called from the engine's threads.
    """

    def __call__(
        self,
        model: LinearModel,
        limits: Limits,
        start: tuple[IntArray, FloatArray] | None,
        on_solution: Callable[[FloatArray], None],
        on_bound: Callable[[float], None],
    ) -> Finish: ...
