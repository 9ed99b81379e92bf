"""Bounds over time, joined over all target classes, for the trace and the user's callback."""

import math
import threading
import time
from collections.abc import Callable

OnProgress = Callable[[float, float, float], None]


class Progress:
    """Collects bounds from solver threads; thread safe.

    An exception of the user's callback must not die inside a solver thread: it is kept, the
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
        """Take new bounds for one target class; passes on what improves the whole."""
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
        """Raise what the user's callback raised, if it did."""
        if self._error is not None:
            raise self._error
