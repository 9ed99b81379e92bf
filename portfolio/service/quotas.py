"""Limits on the number of requests of each API key."""

import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from math import ceil
from typing import Protocol

from portfolio.service.problems import Problem

MINUTE_S, DAY_S = 60, 86_400
DISCONNECTED = 408  # status of requests that are counted without an answer


class Counts(Protocol):
    """Counts of the requests of API keys in the current minute or day."""

    async def take(self, owner: str, unit: str, period: int, most: int) -> bool:
        """Count a request in a period; return False if there were as many as allowed."""
        ...

    async def give_back(self, owner: str, unit: str, period: int) -> None:
        """Remove a request from the count."""
        ...


class CountsHere:
    """Counts in the memory of this process."""

    def __init__(self) -> None:
        self._periods: dict[str, int] = {}  # number of the current minute or day, by unit
        self._counts: Counter[tuple[str, str]] = Counter()

    async def take(self, owner: str, unit: str, period: int, most: int) -> bool:
        """See :class:`Counts`."""
        if period != self._periods.get(unit):
            self._periods[unit] = period
            self._counts = Counter({key: n for key, n in self._counts.items() if key[1] != unit})
        if self._counts[owner, unit] >= most:
            return False
        self._counts[owner, unit] += 1
        return True

    async def give_back(self, owner: str, unit: str, period: int) -> None:
        """See :class:`Counts`."""
        if period == self._periods.get(unit):
            self._counts[owner, unit] -= 1


class Quota:
    """A limit on the number of requests of each API key in a calendar minute or a UTC day.

    Attributes
    ----------
    counts : Counts, numbers of requests so far.
    """

    def __init__(self, most: int, window_s: int, unit: str) -> None:
        self._most, self._window_s, self._unit = most, window_s, unit
        self.counts: Counts = CountsHere()

    async def take(self, owner: str | None) -> int:
        """Count a request, and return its period; raise Problem if the key has none left."""
        now_s = time.time()
        period = int(now_s // self._window_s)
        if self._most and not await self.counts.take(owner or "", self._unit, period, self._most):
            wait_s = ceil((period + 1) * self._window_s - now_s)
            words = f"the limit of {self._most} {self._unit} is used up. Retry in {wait_s} seconds."
            headers = {"Retry-After": str(wait_s)}
            raise Problem(429, words, headers, "used-up", limit=self._most, seconds=wait_s)
        return period

    @asynccontextmanager
    async def one(self, owner: str | None) -> AsyncIterator[None]:
        """Count a request, unless the block raises Problem while the client is connected."""
        period = await self.take(owner)
        try:
            yield
        except Problem as problem:
            if self._most and problem.status_code != DISCONNECTED:
                with suppress(Problem):  # of the counts; the first one matters to the client
                    await self.counts.give_back(owner or "", self._unit, period)
            raise
