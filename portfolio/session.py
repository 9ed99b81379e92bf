"""One backend's model of an ensemble, built once and asked many queries."""

import threading
from collections.abc import Callable
from typing import Any

from encoders.attempt import Run
from portfolio.counterfactual import Result
from portfolio.logbook import Log
from portfolio.progress import OnProgress
from portfolio.ways import Auto, Way, whole
from portfolio.workers import Keeper, Workers

Ask = Callable[[Any, Way, float, OnProgress | None], Result]
Write = Callable[[Log | None, Any, Result], None]


class Session:
    """Answers queries that differ in their row only, with the backend's model kept between them.

    The whole problem is solved, unreduced, so that ``timings.build`` and ``timings.solve`` tell
    what building and solving cost: the first query pays for the model, later ones for new costs.
    Constraints that depend on the row (``Increase``, say) may change the model's structure; it is
    then built again, and the time is told. Get one from :meth:`Explainer.session`.

    Thread safe; queries wait for each other. Close it, or use it in a ``with`` statement, to end
    its worker process.
    """

    def __init__(self, ask: Ask, backend: str, auto: Auto, workers: Workers, log: Write) -> None:
        self._ask, self._log = ask, log
        self._workers = workers
        self._keepers: dict[int, Keeper] = {}
        self._way = whole(backend, auto, self._run_for)
        self._lock = threading.Lock()

    def explain(
        self,
        x: Any,
        time_limit_s: float = 60.0,
        on_progress: OnProgress | None = None,
        log: Log | None = None,
    ) -> Result:
        """The cheapest change of a row; see :meth:`Explainer.explain`."""
        with self._lock:
            result = self._ask(x, self._way, time_limit_s, on_progress)
        self._log(log, x, result)
        return result

    def close(self) -> None:
        """Forget the models and end the worker."""
        with self._lock:
            for keeper in self._keepers.values():
                keeper.close()
            self._keepers = {}

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _run_for(self, target: int) -> Run:
        if target not in self._keepers:
            self._keepers[target] = self._workers.keeper()
        return self._keepers[target].run
