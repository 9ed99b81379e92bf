"""Parsing of uploads in a child process with limits of memory and time."""

import asyncio
import queue
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from encoders.core.errors import InputError
from portfolio.service.bodies import SMALL
from portfolio.service.problems import Problem, invalid
from portfolio.workers.process import POLL_S, Link, Process, aside

MEMORY_BYTES = 2**31  # maximum address space of the child that parses requests
LIMIT_S = 30.0  # maximum seconds to parse a request
START_S = 120.0  # maximum seconds for the child to start
Read = TypeVar("Read", covariant=True)


class Content(Protocol, Generic[Read]):
    """An upload that can be sent to the child."""

    @property
    def content(self) -> bytes:
        """Bytes that a client sent."""
        ...

    def read(self) -> Read:
        """Return the parsed upload; raise Problem or InputError if it is invalid."""
        ...


class Reader:
    """A parser of requests: small ones in the event loop, large ones one by one in a child."""

    def __init__(self) -> None:
        self._process = ReadingProcess(MEMORY_BYTES)
        self._thread = ThreadPoolExecutor(1, "counterfolio-reader")

    async def read(self, upload: Content[Read]) -> Read:
        """Return the parsed body."""
        if len(upload.content) <= SMALL:
            return upload.read()
        return await self.read_in_child(upload)

    async def read_in_child(self, upload: Content[Read]) -> Read:
        """Return what the child process reads; raise Problem if that is invalid or too large."""
        loop = asyncio.get_running_loop()
        parsed = await loop.run_in_executor(self._thread, self._process.read, upload, LIMIT_S)
        assert parsed is not None  # it cannot be stopped
        return parsed[0]

    def warm_up(self) -> None:
        """Start the child, so that the first large body does not wait for it."""
        self._thread.submit(self._process.start)

    @property
    def pid(self) -> int:
        """Process id of the child, 0 if there is none."""
        return self._process.pid

    def close(self) -> None:
        """End the child process."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._process.end()


class ReadingProcess:
    """A child process that parses one upload after another, and is replaced when it dies.

    Used by one thread at a time.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: Process | None = None

    def read(
        self, upload: Content[Read], limit_s: float, stopped: Callable[[], bool] = lambda: False
    ) -> tuple[Read] | None:
        """Return the parsed upload as the only item; None if parsing was stopped."""
        try:
            process = self.start(stopped)
            if process is None:
                return None
            process.send(upload)
            late_at = time.monotonic() + limit_s
            while (message := process.receive(POLL_S)) is None:
                if stopped():
                    process.kill()
                    return None
                if time.monotonic() > late_at:
                    process.kill()
                    words = f"the body takes more than {limit_s:g} seconds to parse. Send less."
                    raise Problem(413, words)
        except (EOFError, OSError) as error:
            self.end()
            raise self._too_large() from error
        return (self._checked(*message),)

    def start(self, stopped: Callable[[], bool] = lambda: False) -> Process | None:
        """Return the child process once it listens; None if that was stopped."""
        if self._process is None or not self._process.alive:
            self._process = Process(__name__, self._memory_bytes, threads=1)
        late_at = time.monotonic() + START_S
        if self._process.await_ready(lambda: stopped() or time.monotonic() > late_at):
            return self._process
        self._process.kill()
        if stopped():
            return None
        raise Problem(503, "the process that parses large bodies did not start. Retry later.")

    @property
    def pid(self) -> int:
        """Process id of the child, 0 if there is none."""
        return 0 if self._process is None else self._process.pid

    def end(self) -> None:
        """End the child process."""
        if self._process is not None:
            self._process.kill()

    def _checked(self, kind: str, content: Any) -> Any:
        if kind == "problem":
            status, detail, code, arguments = content
            raise Problem(status, detail, None, code, **arguments)
        if kind == "memory":
            raise self._too_large()
        if kind == "bug":
            raise RuntimeError(content)
        return content

    def _too_large(self) -> Problem:
        words = f"the body needs more than {self._memory_bytes >> 20} MB to parse. Send less."
        return Problem(413, words)


def serve(link: Link) -> None:
    """Parse uploads in the child process until the connection closes."""
    inbox: queue.Queue[Content[Any]] = queue.Queue()
    link.listen(inbox.put)
    aside(partial(_read_all, link, inbox))


def _read_all(link: Link, inbox: "queue.Queue[Content[Any]]") -> None:
    while True:
        link.send(*_read(inbox.get()))


def _plain(problem: Problem) -> tuple[int, str, str, dict[str, str | float]]:
    return problem.status_code, problem.detail, problem.code, problem.arguments


def _read(upload: Content[Any]) -> tuple[str, Any]:
    try:
        return "read", upload.read()
    except Problem as problem:
        return "problem", _plain(problem)
    except InputError as error:
        return "problem", _plain(invalid(error))
    except MemoryError:
        return "memory", None
    except Exception:
        return "bug", traceback.format_exc()
