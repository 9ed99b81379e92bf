"""Ctrl-C during a native solve ends the solve, not the answer."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Answer = TypeVar("Answer")
WAIT_S = 0.1  # seconds after which a signal is heard at the latest


def run_interruptible(call: Callable[[], Answer], stop: threading.Event) -> Answer:
    """Run ``call`` so that Ctrl-C sets ``stop`` and its answer so far is returned.

    Python handles signals in the main thread only, and not while that is inside a native
    solver: so the solve gets a thread of its own. A second Ctrl-C raises KeyboardInterrupt.

    Parameters
    ----------
    call : ends soon after ``stop`` is set
    stop : set by Ctrl-C

    Raises
    ------
    KeyboardInterrupt
        At a second Ctrl-C, while it waits.
    Exception
        What ``call`` raised.
    """
    if threading.current_thread() is not threading.main_thread():
        return call()
    answers: list[Answer] = []
    errors: list[BaseException] = []

    # An event, because a join that a signal cuts short may call a running thread finished.
    over, turn = threading.Event(), threading.Lock()

    def work() -> None:
        if not turn.acquire(blocking=False):
            return
        try:
            answers.append(call())
        except BaseException as error:
            errors.append(error)
        finally:
            over.set()

    def begin() -> None:
        threading.Thread(target=work, name="counterfolio-solve", daemon=True).start()

    try:
        begin()
        _wait(over)
    except KeyboardInterrupt:
        stop.set()
        begin()  # it may have come before the first thread; if not, this one has no turn
        _wait(over)
    if errors:
        raise errors[0]
    return answers[0]


@contextmanager
def ended_gently() -> Iterator[None]:
    """SIGTERM ends what is under way as Ctrl-C does; a second signal of the two changes nothing."""
    signals = (signal.SIGTERM, signal.SIGINT)

    def end(number: int, frame: object) -> None:
        for each in signals:
            signal.signal(each, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(each, end) for each in signals]
    try:
        yield
    finally:
        for each, handler in zip(signals, before, strict=True):
            signal.signal(each, handler)


def hear_interrupts() -> None:
    """Ctrl-C counts also where a script started the program in the background."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(over: threading.Event) -> None:
    while not over.wait(WAIT_S):
        pass
