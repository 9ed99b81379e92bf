"""A service in a thread of this process, which is called without a network port."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from encoders.core.errors import CounterfolioError
from portfolio.service.app import create_app
from portfolio.service.problems import Problem
from portfolio.service.settings import Settings

HOST = (b"host", b"localhost")  # a service without API keys answers no other one
CLOSED = "the widget was closed. Run the cell again."
Send = Callable[[dict[str, Any]], None]  # function that receives the messages of ASGI


@dataclass(frozen=True)
class LocalRequest:
    """A request.

    Attributes
    ----------
    method : str, method of HTTP.
    path : str, path with its query, without the host.
    headers : dict, headers by name.
    body : bytes, content.
    """

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def scope(self) -> dict[str, Any]:
        """Return the request as ASGI describes it."""
        path, _, query = self.path.partition("?")
        headers = [
            (name.lower().encode("latin-1"), text.encode("latin-1"))
            for name, text in self.headers.items()
        ]
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode("latin-1"),
            "root_path": "",
            "headers": [HOST, *headers],
            "client": None,
            "server": None,
        }


class LocalService:
    """A service that runs until :meth:`close`. Thread safe; requests wait for its start."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._loop = settings, asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._gone: dict[str, asyncio.Event] = {}  # set once the client of a request is gone
        self._app: asyncio.Future[Any] = self._loop.create_future()
        self._thread = threading.Thread(
            target=self._run_all, name="counterfolio-widget", daemon=True
        )
        self._thread.start()

    @property
    def app(self) -> Any:
        """The application, which must have answered a request."""
        return self._app.result()

    def request(self, number: str, call: LocalRequest, send: Send) -> None:
        """Pass a request, and later the messages of its response.

        A thread of the service calls ``send``. The number identifies the request.
        """
        gone = self._gone[number] = asyncio.Event()
        answer = self._answer(call, send, gone)
        try:
            future = asyncio.run_coroutine_threadsafe(answer, self._loop)
        except RuntimeError:  # the service has ended
            answer.close()
            del self._gone[number]
            _refuse(send, CLOSED)
        else:
            future.add_done_callback(lambda _: self._gone.pop(number, None))

    def cancel(self, number: str) -> None:
        """Cancel a request, unless it has ended."""
        if (gone := self._gone.get(number)) is not None:
            self._later(gone.set)

    def close(self) -> None:
        """End the service and its worker process."""
        self._later(self._closing.set)

    def join(self, seconds: float) -> bool:
        """Wait until the service has ended; return whether it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _later(self, change: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the service has ended
            self._loop.call_soon_threadsafe(change)

    def _run_all(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._run())

    async def _run(self) -> None:
        try:
            app = await asyncio.to_thread(create_app, self._settings)
        except Exception as error:
            self._app.set_exception(error)
            self._app.exception()  # is reported to requests
            await self._closing.wait()
            return
        async with app.router.lifespan_context(app):
            self._app.set_result(app)
            await self._closing.wait()

    async def _answer(self, call: LocalRequest, send: Send, gone: asyncio.Event) -> None:
        received = False

        async def receive() -> dict[str, Any]:
            nonlocal received
            if not received:
                received = True
                return {"type": "http.request", "body": call.body, "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def answer(message: dict[str, Any]) -> None:
            if not gone.is_set():
                send(message)

        try:
            app = await asyncio.shield(self._app)
        except CounterfolioError as error:
            _refuse(send, str(error))
        except asyncio.CancelledError:
            _refuse(send, CLOSED)
            raise
        except Exception as error:
            _refuse(send, f"internal error ({type(error).__name__}: {error}).")
        else:
            await app(call.scope(), receive, answer)


def _refuse(send: Send, detail: str) -> None:
    """Send a response that is a problem document."""
    response = Problem(503, detail).response()
    head = {"status": response.status_code, "headers": response.raw_headers}
    send({"type": "http.response.start", **head})
    send({"type": "http.response.body", "body": bytes(response.body), "more_body": False})
