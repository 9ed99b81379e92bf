"""A child process that serves messages, and ends with its parent, however that ends."""

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
from multiprocessing.reduction import ForkingPickler
from typing import Any

POLL_S = 0.01  # seconds between looks at stop and deadline while nothing is received
SMALL = 4096  # bytes that an empty pipe has room for anywhere
PARENT_GONE = 1  # exit code
# Of the child; its arguments: sys.path as JSON, module, descriptor, bytes of memory.
START = (
    "import importlib, json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "importlib.import_module(sys.argv[2]).serve(int(sys.argv[3]), int(sys.argv[4]))"
)


class Process:
    """The parent's end; used by one thread at a time."""

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
        self._readable = select.poll()  # made once: a selector for each look costs more than it
        self._readable.register(ours.fileno(), select.POLLIN)
        self._ready = False
        weakref.finalize(self, _end, self._process, ours, os.getpid())

    @property
    def alive(self) -> bool:
        """Whether the child has not ended."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """Its number with the operating system."""
        return self._process.pid

    def exit_code(self) -> int:
        """Wait for the end; negative where a signal made it."""
        return self._process.wait()

    def kill(self) -> None:
        """End the process now; what it was doing is lost."""
        _end(self._process, self._connection, os.getpid())

    def await_ready(self, give_up: Callable[[], bool]) -> bool:
        """Wait for a new process to listen: until then what is sent to it may block."""
        while not self._ready:
            if give_up():
                return False
            message = self.receive(POLL_S)
            self._ready = message is not None and message[0] == "ready"
        return True

    def send(self, message: Any) -> None:
        """Send any object that can be pickled; raises OSError when the process is gone."""
        self._connection.send(message)

    def send_at_once(self, message: Any) -> bool:
        """Send what fits into an empty pipe, and so can't block; False where it does not fit."""
        content = ForkingPickler.dumps(message)
        if len(content) > SMALL:
            return False
        self._connection.send_bytes(content)
        return True

    def receive(self, timeout_s: float) -> Any:
        """The next message, None if none comes in time; EOFError or OSError at the end."""
        if self._connection.closed:
            raise EOFError
        return self._connection.recv() if self._readable.poll(1000 * timeout_s) else None


def _end(process: "subprocess.Popen[bytes]", connection: Connection, owner: int) -> None:
    if owner != os.getpid():
        return
    with contextlib.suppress(OSError):
        connection.close()
    process.kill()
    process.wait()


class Link:
    """The child's end, shared by its threads.

    A control thread listens all the time: when the parent is gone the process ends, whatever it
    is doing.
    """

    def __init__(
        self, descriptor: int, memory_bytes: int, on_message: Callable[[Any], None]
    ) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
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
        """Tell the parent; one that is gone hears nothing.

        Thread safe.
        """
        with self._lock, contextlib.suppress(OSError):
            self._connection.send((kind, content))


def aside(work: Callable[[], None]) -> None:
    """Run in another thread than the main one, and wait for its end.

    In the main thread each solve would get a thread of its own, to hear Ctrl-C.
    """
    thread = threading.Thread(target=work, name="counterfolio-work")
    thread.start()
    thread.join()


@contextmanager
def watchdog(seconds: float) -> Iterator[None]:
    """End this process when the block takes longer.

    A solver that holds the interpreter can't hear that the parent is gone; this one is in C.
    """
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()
