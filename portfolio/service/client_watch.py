"""Watch over a waiting client, which ends the wait if the client is gone or waits too long."""

import asyncio
from collections.abc import Callable

from starlette.requests import Request

from portfolio.service.problems import Problem

SOON_S = 0.1  # seconds until the first check whether the client is connected
LOOK_S = 1.0  # seconds between later checks


class ClientWatch:
    """A watch that ends a wait once the client is gone or has waited too long."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        request: Request,
        check: Callable[[], None],
        over: asyncio.Future[None],
    ) -> None:
        self._loop, self._request, self._check, self._over = loop, request, check, over
        self._next: asyncio.TimerHandle | None = None
        self._gone: asyncio.Task[None] | None = None

    def begin(self, after_s: float) -> None:
        """Start the watch after a short delay, as most answers are fast; check the wait later."""
        self._next = self._loop.call_later(SOON_S, self._watch, after_s)

    def end(self) -> None:
        """Stop the watch."""
        for each in (self._next, self._gone):
            if each is not None:
                each.cancel()

    def _watch(self, after_s: float) -> None:
        self._gone = self._loop.create_task(_gone(self._request))
        self._gone.add_done_callback(lambda _: end_wait(self._over))
        self._again(after_s)

    def _again(self, after_s: float) -> None:
        self._next = self._loop.call_later(after_s, self._look)

    def _look(self) -> None:
        if self._over.done():
            return
        try:
            self._check()
        except Problem as problem:
            self._over.set_exception(problem)
        else:
            self._again(LOOK_S)


def end_wait(over: asyncio.Future[None]) -> None:
    """End a wait if it has not ended."""
    if not over.done():
        over.set_result(None)


async def _gone(request: Request) -> None:
    """Wait until the client disconnects."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
