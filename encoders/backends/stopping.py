"""Tools to end a solve inside a library, and the reason why it ended."""

import threading
from collections.abc import Callable
from types import TracebackType

from encoders.backends.interface import Request, StopReason

POLL_S = 0.02  # seconds between polls, well below the half second (GRACE_S) before a kill


def why(request: Request) -> StopReason:
    """Return the reason why a solve ended without a proof.

    Parameters
    ----------
    request : Request
        The request of the solve.

    Returns
    -------
    {"interrupted", "time_limit"}
        The stop reason.

    Examples
    --------
    >>> from encoders.backends.interface import Request
    >>> from encoders.backends.stopping import why
    >>> request = Request(time_limit_s=60.0, threads=1)
    >>> why(request)
    'time_limit'
    >>> request.stop.set()
    >>> why(request)
    'interrupted'
    """
    return "interrupted" if request.stop.is_set() else "time_limit"


class EitherEvent(threading.Event):
    """An event that counts as set if it or another event is set.

    It ends one of several solves, or all of them.

    Parameters
    ----------
    other : threading.Event
        The other event, which is only read.

    Examples
    --------
    >>> import threading
    >>> from encoders.backends.stopping import EitherEvent
    >>> stop_all = threading.Event()
    >>> stop_one, stop_other = EitherEvent(stop_all), EitherEvent(stop_all)
    >>> stop_one.set()
    >>> stop_one.is_set(), stop_other.is_set()
    (True, False)
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

        Examples
        --------
        >>> import threading
        >>> from encoders.backends.stopping import EitherEvent
        >>> stop_all = threading.Event()
        >>> stop_one = EitherEvent(stop_all)
        >>> stop_all.set()
        >>> stop_one.is_set()
        True
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

    Examples
    --------
    >>> import threading
    >>> from encoders.backends.stopping import StopRepeater
    >>> stop, interrupted = threading.Event(), threading.Event()
    >>> stop.set()
    >>> with StopRepeater(stop.is_set, interrupted.set):
    ...     interrupted.wait(timeout=60)  # a solve would run here
    True
    """

    def __init__(self, due: Callable[[], bool], interrupt: Callable[[], None]) -> None:
        super().__init__(daemon=True, name="counterfolio-stop")
        self._due, self._interrupt = due, interrupt
        self._over = threading.Event()

    def run(self) -> None:
        """Poll and interrupt until the ``with`` statement ends; runs in the thread.

        Examples
        --------
        >>> import threading
        >>> from encoders.backends.stopping import StopRepeater
        >>> interrupts = threading.Semaphore(0)
        >>> with StopRepeater(lambda: True, interrupts.release):
        ...     [interrupts.acquire(timeout=60) for _ in range(2)]
        [True, True]
        """
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
