"""Ctrl-C during a native solve ends the solve, not the answer."""

import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

Answer = TypeVar("Answer")
WAIT_S = 0.1  # seconds after which a signal is heard at the latest


def run_interruptible(call: Callable[[], Answer], stop: threading.Event) -> Answer:
    """Run ``call`` so that Ctrl-C sets ``stop`` and its answer so far is returned.

    Python handles signals in the main thread only, and not while that is inside a native
    solver: so the solve gets a thread of its own. A second Ctrl-C raises KeyboardInterrupt.
    """
    if not _in_main_thread():
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
    except BaseException:
        stop.set()
        raise
    if errors:
        raise errors[0]
    return answers[0]


def run_heard(call: Callable[[], Answer], stop: threading.Event) -> Answer:
    """The same in the caller's own thread: another one has to be started, and comes to cold caches.

    For a call that is back in Python every moment, and has its native solvers run by
    :func:`run_aside`. Where the program hears Ctrl-C in a way of its own, or not in this thread,
    that stays so.
    """
    plain = signal.default_int_handler
    if signal.getsignal(signal.SIGINT) is not plain or not _in_main_thread():
        return run_interruptible(call, stop)

    def hear(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, plain)
        stop.set()

    try:
        signal.signal(signal.SIGINT, hear)
    except ValueError:  # threading takes the first thread that it sees for the main one
        return run_interruptible(call, stop)
    try:
        return call()
    except BaseException:  # of a signal that the program hears, too: solvers are not to go on
        stop.set()
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is hear:
            signal.signal(signal.SIGINT, plain)


def run_aside(call: Callable[[], Answer]) -> Answer:
    """Leave the main thread free for signals while a native solver is at work."""
    if not _in_main_thread():
        return call()
    held: Future[Answer] = Future()

    def work() -> None:
        try:
            held.set_result(call())
        except BaseException as error:
            held.set_exception(error)

    threading.Thread(target=work, name="counterfolio-backend", daemon=True).start()
    while not wait([held], WAIT_S).done:
        pass
    return held.result()


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


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


@contextmanager
def noted_interrupts(terminate: bool = False) -> Iterator[threading.Event]:
    """Yield an event that is set once a signal raises an exception in the main thread.

    A question that is proved when Ctrl-C reaches it returns its answer, and the exception ends
    there: who asks many questions looks at the event between them.
    """
    noted = threading.Event()
    if not _in_main_thread():
        yield noted
        return
    handlers: dict[int, Any] = {
        number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)
    }
    if terminate and handlers[signal.SIGTERM] == signal.SIG_DFL:
        handlers[signal.SIGTERM] = signal.default_int_handler

    def note(number: int, frame: object) -> None:
        try:
            handlers[number](number, frame)
        except BaseException:
            noted.set()
            raise

    before = {each: signal.signal(each, note) for each in handlers if callable(handlers[each])}
    try:
        yield noted
    finally:
        for each, handler in before.items():
            if signal.getsignal(each) is note:  # else the handler has replaced itself
                signal.signal(each, handler)


def hear_interrupts() -> None:
    """Ctrl-C counts also where a script started the program in the background."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(over: threading.Event) -> None:
    while not over.wait(WAIT_S):
        pass
