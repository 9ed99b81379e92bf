"""Limits of connections: their number, and the time to wait for a request."""

import asyncio
import resource
from contextlib import suppress
from typing import Any

from portfolio.service.one_write import OneWrite

HEADER_S = 10.0  # maximum seconds to receive the headers of a request
SPARE = 200  # file descriptors reserved for workers, logs and jobs


def most_connections(most: int) -> int:
    """Return the maximum number of connections that leaves file descriptors for other uses.

    Raises the process's limit on file descriptors as far as the operating system allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = most + SPARE
    if soft != resource.RLIM_INFINITY and soft < enough:
        with suppress(ValueError, OSError):
            more = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            soft = more
        return max(1, min(most, soft - SPARE))
    return most


def limited(protocol: type[asyncio.Protocol], most: int) -> type[asyncio.Protocol]:
    """Return an HTTP protocol with limits, which sends each response in one write.

    If there are too many connections, a new one replaces the one that has waited longest for
    request headers. Thus a request that arrives immediately is always read.
    """
    waiting: dict[Any, None] = {}  # connections without a request, longest wait first

    class Limited(protocol):  # type: ignore[misc, valid-type]
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(OneWrite(transport))
            count = len(self.connections)
            if count > most and waiting:
                next(iter(waiting)).close_now()
            elif count > most + SPARE // 2:  # none is idle; keep the reserved descriptors
                self.close_now()
                return
            self._wait()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            cycle = self.cycle
            if cycle is not None and not cycle.response_complete:
                self._wait_no_more()
            elif self._late is None and not self.transport.is_closing():
                self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._wait_no_more()
            super().connection_lost(exc)

        def close_now(self) -> None:
            """Close the connection immediately, without sending pending data."""
            self._wait_no_more()
            self.transport.abort()

        def _wait(self) -> None:
            waiting[self] = None
            self._late = self.loop.call_later(HEADER_S, self.close_now)

        def _wait_no_more(self) -> None:
            if self._late is not None:
                self._late.cancel()
                self._late = None
                waiting.pop(self, None)

    return Limited
