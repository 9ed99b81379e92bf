"""Ending a solve that runs in a library's hands: a stop that is repeated, and why it ended."""

import threading
from collections.abc import Callable
from types import TracebackType

from encoders.backends.interface import Request, StopReason

POLL_S = 0.02  # seconds between looks, well below the half second (GRACE_S) before a kill


def why(request: Request) -> StopReason:
    """Why a solve that is not over was ended.

    Parameters
    ----------
    request : of the solve
    """
    return "interrupted" if request.stop.is_set() else "time_limit"


class EitherEvent(threading.Event):
    """Set by itself, or by another event: ends one of several solves, or all of them.

    Parameters
    ----------
    other : is only looked at
    """

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Whether one of the two is set."""
        return super().is_set() or self._other.is_set()


class StopRepeater(threading.Thread):
    """Tells a solver to stop, again and again until the solve is over, where that is due.

    Libraries lose a stop that is sent before they have begun, or between two of their steps. Use
    it in a ``with`` statement around the solve.

    Parameters
    ----------
    due : whether it has to stop; asked every ``POLL_S`` seconds
    interrupt : tells it
    """

    def __init__(self, due: Callable[[], bool], interrupt: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="counterfolio-stop")
        self._due, self._interrupt = due, interrupt
        self._over = threading.Event()

    def run(self) -> None:
        """Look and interrupt until the ``with`` statement ends; runs in the thread."""
        while not self._over.wait(POLL_S):
            if self._due():
                self._interrupt()

    def __enter__(self) -> "StopRepeater":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self.join()
