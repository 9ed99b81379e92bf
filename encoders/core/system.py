"""Services of the operating system: the only module with names that Windows lacks.

Each function has a default for platforms that are not POSIX.
"""

import os
import pickle
import platform
import re
import select
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

try:
    import fcntl
    import resource
except ImportError:
    POSIX = False
else:
    POSIX = True
LINUX = POSIX and sys.platform == "linux"  # which alone limits memory
LOCK_BYTE, LOCK_S = 10**9, 0.1  # on Windows, which byte is locked, and seconds between attempts
PROCESSORS = Path("/proc/cpuinfo")
MEMORY_PAGES = Path("/proc/self/statm")  # begins with the address space of this process


def affine_cores() -> int:
    """Return the number of cores that this process may run on."""
    if POSIX and hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return getattr(os, "process_cpu_count", os.cpu_count)() or 1  # the first: Python 3.13


def processor() -> str:
    """Return the name of the processor."""
    with suppress(OSError):
        name = re.search(r"^model name\s*: (.*)$", PROCESSORS.read_text(), re.MULTILINE)
        if name is not None:
            return name.group(1).strip()
    return platform.processor() or platform.machine()


def load() -> float:
    """Return the average number of running processes in the last minute, 0 if unknown."""
    if POSIX:
        return os.getloadavg()[0]
    return 0.0


def peak_bytes() -> int:
    """Return the peak resident memory of this process so far in bytes, 0 if unknown."""
    if not POSIX:
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def lower_priority() -> None:
    """Let other processes run first."""
    if POSIX:
        os.nice(5)


def limit_memory(most: int) -> None:
    """Limit the address space of this process in bytes."""
    if LINUX:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


@contextmanager
def limited_memory(more: int) -> Iterator[None]:
    """Limit the address space that the block may use in addition, in bytes."""
    if not LINUX:
        yield
        return
    pages = int(MEMORY_PAGES.read_text().split()[0])
    most = pages * resource.getpagesize() + more
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def limit_time(processor_s: int, clock_s: int) -> None:
    """End this process after a time; by signals handled in C, so that no library delays it."""
    if POSIX:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, processor_s)
        signal.alarm(clock_s)


def spent_limit(exit_code: int) -> Literal["", "processor", "clock"]:
    """Return which limit of :func:`limit_time` has ended a child process."""
    if POSIX and exit_code == -signal.SIGPROF:
        return "processor"
    return "clock" if POSIX and exit_code == -signal.SIGALRM else ""


def ignore_ends() -> None:
    """Ignore Ctrl-C and SIGTERM, as the parent ends this process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if POSIX:
        # Supervisors may send SIGTERM to every process, but the parent drains before it ends this
        # one. The signal is blocked, as solvers replace its handler; child processes inherit that.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})


def allow_files(count: int) -> int:
    """Raise the limit on open files if possible; return how many of ``count`` may be open."""
    if not POSIX:
        return count
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return count
    more = count if hard == resource.RLIM_INFINITY else min(count, hard)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (more, hard))
        soft = more
    return soft


def is_private(folder: Path) -> bool:
    """Return whether only this user can write to a folder; False if unknown."""
    status = folder.stat()
    shared = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return POSIX and status.st_uid == os.getuid() and not shared


def lock(file: IO[Any], wait: bool) -> None:
    """Lock a file until it is closed or the process ends; BlockingIOError without waiting."""
    if POSIX:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    elif sys.platform == "win32":
        import msvcrt

        file.seek(LOCK_BYTE)  # beyond the content, as other processes cannot read a locked byte
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                return
            except OSError as error:
                if not wait:
                    raise BlockingIOError from error
            time.sleep(LOCK_S)


def sync(path: Path) -> None:
    """Flush a file, or the entries of a folder if possible, to disk."""
    if POSIX or not path.is_dir():
        descriptor = os.open(path, os.O_RDONLY if POSIX else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def start_connected(
    arguments: Sequence[str], environment: dict[str, str], frozen_s: float
) -> tuple["subprocess.Popen[bytes]", "Polled | Pipes"]:
    """Start a program that passes its arguments to :func:`connected`.

    If a message makes no progress for ``frozen_s`` seconds, sending or receiving it raises OSError.
    """
    if not POSIX:
        process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert process.stdin is not None and process.stdout is not None
        return process, Pipes(process.stdout, process.stdin, frozen_s, process)
    from multiprocessing.connection import Connection  # slow to import

    ours, theirs = socket.socketpair()
    limit = struct.pack("ll", int(frozen_s), int(frozen_s % 1 * 1e6))
    for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        ours.setsockopt(socket.SOL_SOCKET, option, limit)
    with theirs:
        process = subprocess.Popen(
            [*arguments, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
    return process, Polled(Connection(ours.detach()))


def connected(arguments: Sequence[str]) -> "Connection[Any, Any] | Pipes":
    """Return the child's end of the connection."""
    if POSIX:
        from multiprocessing.connection import Connection

        return Connection(int(arguments[-1]))
    incoming, outgoing = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)  # libraries print to standard output
    os.dup2(null, 0)
    os.dup2(null, 1)
    return Pipes(incoming, outgoing)


class Polled:
    """Connection that can be polled often: ``Connection.poll`` creates a selector per call."""

    _readable: Any  # select.poll

    def __init__(self, connection: "Connection[Any, Any]") -> None:
        self._connection = connection
        self.send, self.recv, self.close = connection.send, connection.recv, connection.close
        if POSIX:
            self._readable = select.poll()
            self._readable.register(connection.fileno(), select.POLLIN)

    @property
    def closed(self) -> bool:
        """True after ``close``."""
        return self._connection.closed

    def poll(self, timeout_s: float) -> bool:
        """Wait for a message, and return whether there is one, or the end."""
        return bool(self._readable.poll(1000 * timeout_s))


class Pipes:
    """Connection by two pipes. A thread receives messages, as Windows cannot poll pipes.

    A child process that does not read a message within ``frozen_s`` seconds is killed.
    """

    def __init__(
        self,
        incoming: IO[bytes],
        outgoing: IO[bytes],
        frozen_s: float = 0.0,
        child: "subprocess.Popen[bytes] | None" = None,
    ) -> None:
        self.closed = False
        self._outgoing, self._frozen_s, self._child = outgoing, frozen_s, child
        self._received: SimpleQueue[tuple[Any, ...]] = SimpleQueue()  # (message,), or () at the end
        self._next: tuple[Any, ...] | None = None
        threading.Thread(target=_receive, args=(incoming, self._received), daemon=True).start()

    def send(self, message: Any) -> None:
        """Send a picklable object; raise OSError if the other process has ended or is killed."""
        content = pickle.dumps(message)
        timer = threading.Timer(self._frozen_s, self._child.kill) if self._child else None
        if timer is not None:
            timer.start()
        try:
            self._outgoing.write(content)
            self._outgoing.flush()
        except ValueError as error:
            raise OSError("the connection is closed") from error
        finally:
            if timer is not None:
                timer.cancel()

    def poll(self, timeout_s: float) -> bool:
        """Wait for a message, and return whether there is one, or the end."""
        if self._next is None:
            with suppress(Empty):
                self._next = self._received.get(timeout=timeout_s)
        return self._next is not None

    def recv(self) -> Any:
        """Return the next message; raise EOFError at the end."""
        received = self._received.get() if self._next is None else self._next
        self._next = None if received else ()
        if not received:
            raise EOFError
        return received[0]

    def close(self) -> None:
        """Close this end."""
        self.closed = True
        self._outgoing.close()


def _receive(incoming: IO[bytes], received: "SimpleQueue[tuple[Any, ...]]") -> None:
    with suppress(Exception), incoming:  # what cannot be unpickled also ends the connection
        while True:
            received.put((pickle.load(incoming),))
    received.put(())
