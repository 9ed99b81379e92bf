"""Tools to end a solve inside a library, and the reason why it ended."""

import threading
from collections.abc import Callable
from types import TracebackType

from encoders.backends.interface import Request, StopReason

POLL_S = 0.02  # seconds between polls, well below the half second (GRACE_S) before a kill


def why(request: Request) -> StopReason:
    """Return why a solve without a proof ended.

    Parameters
    ----------
    request : Request
        The request of the solve.

    Returns
    -------
    {"interrupted", "time_limit"}
        The stop reason.
    """
    return "interrupted" if request.stop.is_set() else "time_limit"


class EitherEvent(threading.Event):
    """An event that counts as set if it or another event is set.

    It ends one of several solves, or all of them.

    Parameters
    ----------
    other : threading.Event
        The other event, which is only read.
    """

    def __init__(self, other: threading.Event) -> None:
        super().__init__()
        self._other = other

    def is_set(self) -> bool:
        """Return whether one of the two events is set.

        Returns
        -------
        bool
            Whether the solve has to end.
        """
        return super().is_set() or self._other.is_set()


class StopRepeater(threading.Thread):
    """A thread that interrupts a solver again and again until the solve ends.

    Libraries lose an interrupt that arrives before they begin, or between two of their steps. Use
    the thread in a ``with`` statement around the solve.

    Parameters
    ----------
    due : callable
        Function that returns whether the solve has to end, called every ``POLL_S`` seconds.
    interrupt : callable
        Function that interrupts the solver.
    """

    def __init__(self, due: Callable[[], bool], interrupt: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="counterfolio-stop")
        self._due, self._interrupt = due, interrupt
        self._over = threading.Event()

    def run(self) -> None:
        """Poll and interrupt until the ``with`` statement ends; runs in the thread."""
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
