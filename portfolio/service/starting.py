"""An application that listens while the models are being loaded."""

import asyncio
import json
import threading
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import Any, Protocol

from fastapi import FastAPI
from starlette.types import Message, Receive, Scope, Send

from portfolio.service.guard import NO_SNIFFING, POLICY
from portfolio.service.problems import Problem, respond
from portfolio.service.service import Service

READING = "the service is starting and loads its models. Retry later."
ALIVE = json.dumps({"status": "ok"}).encode()


class Served(Protocol):
    """An application whose service may not be ready yet."""

    @property
    def service(self) -> Service | None:
        """Service, None while models are being loaded."""
        ...

    @property
    def error(self) -> Exception | None:
        """Error that prevents the service from starting, None without an error."""
        ...


class Starting:
    """An application that answers only ``/health`` until the real application is created.

    All other paths respond with status 503 until then.
    """

    def __init__(self, make: Callable[[], FastAPI]) -> None:
        self._make = make
        self._app: FastAPI | None = None
        self.error: Exception | None = None

    @property
    def service(self) -> Service | None:
        """Service, None while models are being loaded."""
        return None if self._app is None else self._app.state.service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or start and stop the application."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._app is not None:
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await _answer_early(scope["path"], send)

    async def _live(self, receive: Receive, send: Send) -> None:
        """Accept requests immediately, and start the application when it is created."""
        await receive()
        async with AsyncExitStack() as stack:
            starting = asyncio.create_task(self._start(stack))
            await send({"type": "lifespan.startup.complete"})
            await receive()
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
        await send({"type": "lifespan.shutdown.complete"})

    async def _start(self, stack: AsyncExitStack) -> None:
        try:
            app = await _in_daemon_thread(self._make)
            await stack.enter_async_context(app.router.lifespan_context(app))
        except Exception as error:
            self.error = error
        else:
            self._app = app


async def _in_daemon_thread(make: Callable[[], FastAPI]) -> FastAPI:
    """Run a function in a thread that does not keep the process alive."""
    loop = asyncio.get_running_loop()
    created: asyncio.Future[FastAPI] = loop.create_future()

    def run() -> None:
        try:
            result = make()
        except Exception as error:
            finish = partial(_set, created, created.set_exception, error)
        else:
            finish = partial(_set, created, created.set_result, result)
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(finish)

    threading.Thread(target=run, name="counterfolio-start", daemon=True).start()
    return await created


def _set(future: "asyncio.Future[Any]", give: Callable[[Any], None], result: Any) -> None:
    if not future.cancelled():
        give(result)


async def _answer_early(path: str, send: Send) -> None:
    async def protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), NO_SNIFFING, POLICY]
        await send(message)

    if path != "/health":
        await respond(Problem(503, READING, {"Retry-After": "1"}), protected)
        return
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(ALIVE))]
    await protected({"type": "http.response.start", "status": 200, "headers": headers})
    await protected({"type": "http.response.body", "body": ALIVE})
