"""Process that compiles all kernels of a plain query while the first queries are answered."""

import atexit
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from encoders.core import system

LONGEST_S = 900.0  # seconds after which the process ends, whatever it is doing
LOCK = "compiling.lock"  # file beside the machine code
GO_ON = b"go on"  # what a parent writes when it ends normally
# Its arguments are the lock, the longest time, and sys.path.
PROGRAM = (
    "import faulthandler, os, sys; sys.path[:] = sys.argv[3:]; "
    "faulthandler.dump_traceback_later(float(sys.argv[2]), exit=True, file=open(os.devnull, 'w')); "
    "from encoders.core import system; system.lower_priority(); "
    "from portfolio.engine.compiler_process import compile_alone; "
    "from portfolio.engine.warm_up import warm_up; "
    "compile_alone(sys.argv[1], warm_up)"
)


class CompilerProcess:
    """Child process that compiles into numba's cache on disk. Thread safe.

    It goes on when its parent ends normally, so that the next command finds the machine code, and
    ends with a parent that is killed. Functions that it has compiled until then are kept.
    """

    def __init__(self, folder: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(Path(folder) / LOCK), str(LONGEST_S), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self._let_go_on)

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def compiles(self) -> bool:
        """Return whether it has not ended."""
        return self._process.poll() is None

    def wait(self) -> None:
        """Wait until it has ended."""
        self._process.wait()

    def _let_go_on(self) -> None:
        if self._process.stdin is not None:
            with suppress(OSError):  # it has ended
                self._process.stdin.write(GO_ON)
                self._process.stdin.close()
        self._process.returncode = 0  # or Python warns that it runs


def compile_alone(lock: str, compile_all: Callable[[], None]) -> None:
    """Compile once no other process holds the lock; what another one compiled is loaded."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with open(lock, "w") as file:
        with suppress(OSError):  # without locks, two processes compile the same
            system.lock(file, wait=True)
        compile_all()


def _end_with_parent() -> None:
    """End this process if its parent ends without a word."""
    if sys.stdin.buffer.read() != GO_ON:
        os._exit(1)
