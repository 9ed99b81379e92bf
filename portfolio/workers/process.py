"""Programs that run elsewhere and exchange messages with this process: child processes."""

import contextlib
import faulthandler
import importlib
import json
import os
import subprocess
import sys
import threading
import warnings
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from encoders.core import system

POLL_S = 0.01  # seconds between checks of stop and deadline while no message arrives
SEND_S = 60.0  # most seconds without progress of a message: a process listens unless it is frozen
END_S = 5.0  # seconds that a process has to end once its connection is closed
PARENT_GONE = 1  # exit code
# Program of the child; its arguments are sys.path as JSON, module, bytes of memory, connection.
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from portfolio.workers.process import run; "
    "run(sys.argv[2], int(sys.argv[3]), sys.argv[4:])"
)


class RemoteProgram(ABC):
    """Caller's end of the connection to a program that runs elsewhere; for one thread at a time.

    The program is the function ``serve`` of a module, which receives a :class:`Link`.
    """

    _ready = False

    @property
    @abstractmethod
    def alive(self) -> bool:
        """True until the program is known to have ended."""

    @abstractmethod
    def death(self) -> str:
        """Return an error message for a program that has ended."""

    @abstractmethod
    def kill(self) -> None:
        """End the program immediately; its current work is lost."""

    @property
    def pid(self) -> int:
        """Process id on this machine, 0 if the program runs elsewhere."""
        return 0

    @abstractmethod
    def send(self, message: Any) -> None:
        """Send a picklable object; raise OSError if the program has ended or is frozen."""

    @abstractmethod
    def receive(self, timeout_s: float) -> Any:
        """Return the next message, None after the timeout; raise EOFError or OSError at the end."""

    def ready(self, timeout_s: float = 0.0) -> bool:
        """Return whether the program listens, after waiting for it up to a timeout."""
        if not self._ready:
            message = self.receive(timeout_s)
            self._ready = message is not None and message[0] == "ready"
        return self._ready

    def await_ready(self, give_up: Callable[[], bool]) -> bool:
        """Wait until a new program listens, as sending may block before; False if given up."""
        while not self.ready(POLL_S):
            if give_up():
                return False
        return True


class Process(RemoteProgram):
    """Connection to a child process."""

    def __init__(self, module: str, memory_bytes: int, threads: int | None = None) -> None:
        few = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
        program = [sys.executable, "-c", START, json.dumps(sys.path), module, str(memory_bytes)]
        self._process, self._connection = system.start_connected(program, os.environ | few, SEND_S)
        self._end_once = weakref.finalize(self, _end, self._process, self._connection, os.getpid())

    @property
    def alive(self) -> bool:
        """True until the child process has ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def death(self) -> str:
        """Return an error message with the exit code; end a process that does not end itself."""
        try:
            code = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        return f"the worker died (exit code {code})"

    def kill(self) -> None:
        """End the process immediately; its current work is lost."""
        # Once only: two threads that close a connection would close its number twice, and the
        # second time it may belong to another file.
        self._end_once()
        self._process.wait()

    def send(self, message: Any) -> None:
        """Send a picklable object; raise OSError if the process has ended or is frozen."""
        with self._frozen_ended():
            self._connection.send(message)

    def receive(self, timeout_s: float) -> Any:
        """Return the next message, None after the timeout; raise EOFError or OSError at the end."""
        if self._connection.closed:
            raise EOFError
        if not self._connection.poll(timeout_s):
            return None
        with self._frozen_ended():
            return self._connection.recv()

    @contextmanager
    def _frozen_ended(self) -> Iterator[None]:
        """End the process and raise OSError if a message makes no progress for ``SEND_S``."""
        try:
            yield
        except BlockingIOError:
            self._process.kill()
            raise
        except TypeError as error:  # another thread has closed the connection: its number is None
            if not self._connection.closed:
                raise
            raise OSError("the connection is closed") from error


def warn_without_limit(memory_bytes: int) -> None:
    """Warn the user who sets a limit of memory that has no effect on this operating system."""
    if memory_bytes and not system.LINUX:
        warnings.warn(
            "memory_bytes has no effect: this operating system cannot limit the memory of worker "
            "processes. Limit the memory of the container or of the virtual machine.",
            stacklevel=3,
        )


def _end(
    process: "subprocess.Popen[bytes]", connection: system.Polled | system.Pipes, owner: int
) -> None:
    if owner != os.getpid():
        return
    process.kill()
    process.wait()  # a thread that is sending gets an error of a connection that is still open
    with contextlib.suppress(OSError):
        connection.close()


class Link(Protocol):
    """Program's end of the connection, shared by its threads."""

    def listen(self, on_message: Callable[[Any], None]) -> None:
        """Call a function with each message in a control thread, and report that this is ready."""

    def send(self, kind: str, content: Any) -> None:
        """Send a message to the caller if it still runs; thread safe."""


class PipeLink:
    """Child's end of a pipe.

    The process ends as soon as the parent has ended, whatever it is doing.
    """

    def __init__(self, memory_bytes: int, connection: Sequence[str]) -> None:
        system.ignore_ends()
        if memory_bytes:
            system.limit_memory(memory_bytes)
        self._connection = system.connected(connection)
        self._lock = threading.Lock()

    def listen(self, on_message: Callable[[Any], None]) -> None:
        """See :class:`Link`."""
        threading.Thread(target=self._listen, args=(on_message,), daemon=True).start()
        self.send("ready", None)

    def _listen(self, on_message: Callable[[Any], None]) -> None:
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                os._exit(PARENT_GONE)
            on_message(message)

    def send(self, kind: str, content: Any) -> None:
        """See :class:`Link`."""
        with self._lock, contextlib.suppress(OSError):
            self._connection.send((kind, content))


def run(module: str, memory_bytes: int, connection: Sequence[str]) -> None:
    """Run the program of a module in a child process."""
    serve = importlib.import_module(module).serve
    serve(PipeLink(memory_bytes, connection))


def aside(work: Callable[[], None]) -> None:
    """Run a function in a new thread and wait for its end.

    In the main thread each solve would start another thread to handle Ctrl-C.
    """
    thread = threading.Thread(target=work, name="counterfolio-work")
    thread.start()
    thread.join()


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """End this process if the block takes longer.

    While a solver holds the interpreter, no Python thread notices that the parent has ended. This
    timer runs in C.
    """
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
