"""Limits on the number of requests of each API key, counted in the memory of the process."""

import time
from collections import Counter
from math import ceil

from portfolio.service.problems import Problem

MINUTE_S, DAY_S = 60, 86_400


class Quota:
    """A limit on the number of requests of each API key in a calendar minute or a UTC day."""

    def __init__(self, most: int, window_s: int, unit: str) -> None:
        self._most, self._window_s, self._unit = most, window_s, unit
        self._window = 0  # number of the current minute or day
        self._counts: Counter[str] = Counter()

    def check(self, owner: str | None) -> None:
        """Raise Problem if the key has no request left."""
        now_s = time.time()
        window = int(now_s // self._window_s)
        if window != self._window:
            self._window, self._counts = window, Counter()
        if self._most and self._counts[owner or ""] >= self._most:
            wait_s = ceil((window + 1) * self._window_s - now_s)
            words = f"the limit of {self._most} {self._unit} is used up. Retry in {wait_s} seconds."
            raise Problem(429, words, {"Retry-After": str(wait_s)})

    def count(self, owner: str | None) -> None:
        """Count a request."""
        if self._most:
            self._counts[owner or ""] += 1
