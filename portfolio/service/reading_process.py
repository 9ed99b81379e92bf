"""A child process that parses uploads within limits of memory and time."""

import time
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from portfolio.running.process import POLL_S, Process
from portfolio.service.problems import Problem

MODULE = "portfolio.service.reader_process"
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


class ReadingProcess:
    """A child process that parses one upload after another, and is replaced when it dies.

    Used by one thread at a time.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: Process | None = None

    def read(
        self, upload: Content[Read], limit_s: float, stopped: Callable[[], bool] = lambda: False
    ) -> Read | None:
        """Return the parsed upload; None if parsing was stopped."""
        try:
            process = self._started(stopped)
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
        parsed: Read = self._found(*message)
        return parsed

    def start(self) -> None:
        """Start the child process."""
        self._started(lambda: False)

    @property
    def pid(self) -> int:
        """Process id of the child, 0 if there is none."""
        return 0 if self._process is None else self._process.pid

    def end(self) -> None:
        """End the child process."""
        if self._process is not None:
            self._process.kill()

    def _started(self, stopped: Callable[[], bool]) -> Process | None:
        if self._process is None or not self._process.alive:
            self._process = Process(MODULE, self._memory_bytes, threads=1)
        late_at = time.monotonic() + START_S
        if self._process.await_ready(lambda: stopped() or time.monotonic() > late_at):
            return self._process
        self._process.kill()
        if stopped():
            return None
        raise Problem(503, "the process that parses large bodies did not start. Retry later.")

    def _found(self, kind: str, content: Any) -> Any:
        if kind == "problem":
            raise Problem(*content)
        if kind == "memory":
            raise self._too_large()
        if kind == "bug":
            raise RuntimeError(content)
        return content

    def _too_large(self) -> Problem:
        words = f"the body needs more than {self._memory_bytes >> 20} MB to parse. Send less."
        return Problem(413, words)
