"""Bounds over time, joined over all target classes, for the trace and the user's callback."""

import math
import threading
import time
from collections.abc import Callable

OnProgress = Callable[[float, float, float], None]
OnAnswer = Callable[[int, int], None]  # (rows answered, rows in total)


class Progress:
    """Collector of bounds from solver threads; thread safe.

    An exception of the user's callback must not end inside a solver thread. It is stored, the
    solve is stopped, and :meth:`reraise` raises it in the caller's thread.
    """

    def __init__(
        self,
        began: float,
        targets: list[int],
        on_progress: OnProgress | None,
        stop: threading.Event,
    ) -> None:
        self._began = began
        self._lower = dict.fromkeys(targets, 0.0)
        self._upper = math.inf
        self._on_progress = on_progress
        self._stop = stop
        self._lock = threading.Lock()
        self._error: Exception | None = None
        self.trace: list[tuple[float, float, float]] = []

    def report(self, target: int, upper: float, lower: float) -> None:
        """Add bounds of one target class, and report them if they improve the whole."""
        with self._lock:
            self._upper = min(self._upper, upper)
            self._lower[target] = max(self._lower[target], lower)
            joined = min(self._upper, *self._lower.values())
            if self.trace and self.trace[-1][1:] == (self._upper, joined):
                return
            point = (time.perf_counter() - self._began, self._upper, joined)
            self.trace.append(point)
            if self._on_progress is None or self._error is not None:
                return
            try:
                self._on_progress(*point)
            except Exception as error:
                self._error = error
                self._stop.set()

    def reraise(self) -> None:
        """Raise the exception of the user's callback, if there was one."""
        if self._error is not None:
            raise self._error
