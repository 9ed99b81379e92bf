"""Limits of connections: how many there are, and how long one waits for a request."""

import asyncio
import resource
from contextlib import suppress
from typing import Any

from portfolio.service.one_write import OneWrite

HEADER_S = 10.0  # seconds in which the head of a request has to come
SPARE = 200  # file descriptors that are kept for workers, logs and jobs


def most_connections(wanted: int) -> int:
    """Return how many connections there may be, with descriptors to spare for all else.

    The limit of the operating system on file descriptors is raised as far as it allows.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    enough = wanted + SPARE
    if soft != resource.RLIM_INFINITY and soft < enough:
        with suppress(ValueError, OSError):
            more = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
            resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
            soft = more
        return max(1, min(wanted, soft - SPARE))
    return wanted


def limited(protocol: type[asyncio.Protocol], most: int) -> type[asyncio.Protocol]:
    """Return a protocol of HTTP with a time limit for heads of requests, and one write an answer.

    Where there are too many connections, the one that has waited longest for the head of its
    request makes way for a new one. So a request that comes at once is always heard.
    """

    waiting: dict[Any, None] = {}  # connections without a request, in the order of their waits

    class Limited(protocol):  # type: ignore[misc, valid-type]
        _late: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(OneWrite(transport))
            count = len(self.connections)
            if count > most and waiting:
                next(iter(waiting)).close_now()
            elif count > most + SPARE // 2:  # all of them are answered: descriptors are kept
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
            """Close the connection, whatever it is about to send."""
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
