"""Child process that handles messages and ends with its parent."""

import contextlib
import faulthandler
import json
import multiprocessing
import os
import resource
import select
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

POLL_S = 0.01  # seconds between checks of stop and deadline while no message arrives
PARENT_GONE = 1  # exit code
# Program of the child; its arguments are sys.path as JSON, module, descriptor, bytes of memory.
START = (
    "import importlib, json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "importlib.import_module(sys.argv[2]).serve(int(sys.argv[3]), int(sys.argv[4]))"
)


class Process:
    """Parent's end of the connection to a child process; for one thread at a time."""

    def __init__(self, module: str, memory_bytes: int, threads: int | None = None) -> None:
        few = {} if threads is None else {"OMP_NUM_THREADS": str(threads)}
        ours, theirs = multiprocessing.Pipe()
        descriptor = str(theirs.fileno())
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, json.dumps(sys.path), module, descriptor,
             str(memory_bytes)],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=os.environ | few,
        )  # fmt: skip
        theirs.close()
        self._connection = ours
        self._readable = select.poll()  # created once: a selector per call is slow
        self._readable.register(ours.fileno(), select.POLLIN)
        self._ready = False
        self._end_once = weakref.finalize(self, _end, self._process, ours, os.getpid())

    @property
    def alive(self) -> bool:
        """True until the child process has ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def exit_code(self) -> int:
        """Wait for the end and return the exit code, negative after a signal."""
        return self._process.wait()

    def kill(self) -> None:
        """End the process immediately; its current work is lost."""
        # Once only: two threads that close a connection would close its number twice, and the
        # second time it may belong to another file.
        self._end_once()
        self._process.wait()

    def await_ready(self, give_up: Callable[[], bool]) -> bool:
        """Wait until a new process listens, as sending may block before; False if given up."""
        while not self._ready:
            if give_up():
                return False
            message = self.receive(POLL_S)
            self._ready = message is not None and message[0] == "ready"
        return True

    def send(self, message: Any) -> None:
        """Send a picklable object; raise OSError if the process has ended."""
        self._connection.send(message)

    def receive(self, timeout_s: float) -> Any:
        """Return the next message, None after the timeout; raise EOFError or OSError at the end."""
        if self._connection.closed:
            raise EOFError
        return self._connection.recv() if self._readable.poll(1000 * timeout_s) else None


def _end(process: "subprocess.Popen[bytes]", connection: Connection, owner: int) -> None:
    if owner != os.getpid():
        return
    process.kill()
    process.wait()  # a thread that is sending gets an error of a connection that is still open
    with contextlib.suppress(OSError):
        connection.close()


class Link:
    """Child's end of the connection, shared by its threads.

    A control thread always listens. The process ends as soon as the parent has ended, whatever it
    is doing.
    """

    def __init__(
        self, descriptor: int, memory_bytes: int, on_message: Callable[[Any], None]
    ) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
        if memory_bytes:
            resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
        self._connection = Connection(descriptor)
        self._lock = threading.Lock()
        listen = threading.Thread(target=self._listen, args=(on_message,), daemon=True)
        listen.start()
        self.send("ready", None)

    def _listen(self, on_message: Callable[[Any], None]) -> None:
        while True:
            try:
                message = self._connection.recv()
            except (EOFError, OSError):
                os._exit(PARENT_GONE)
            on_message(message)

    def send(self, kind: str, content: Any) -> None:
        """Send a message to the parent if it still runs; thread safe."""
        with self._lock, contextlib.suppress(OSError):
            self._connection.send((kind, content))


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
