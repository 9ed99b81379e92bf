"""Signals: Ctrl-C during a native solve ends the solve and returns the best answer so far."""

import _thread
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeVar

Answer = TypeVar("Answer")
WAIT_S = 0.1  # seconds after which a signal is handled at the latest


def run_interruptible(call: Callable[[], Answer], stop: threading.Event) -> Answer:
    """Return the answer of ``call``, during which Ctrl-C sets ``stop``.

    Python handles signals in the main thread only, and not while that thread is inside a native
    solver. The solve therefore runs in another thread. A second Ctrl-C raises KeyboardInterrupt.
    """
    if not _in_main_thread():
        return call()
    answers: list[Answer] = []
    errors: list[BaseException] = []

    # An event, because a join that a signal interrupts may report a running thread as finished.
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
        start_thread(work, "counterfolio-solve")

    try:
        begin()
        _wait(over)
    except KeyboardInterrupt:
        stop.set()
        begin()  # the signal may precede the first thread; else this thread returns at once
        _wait(over)
    except BaseException:
        stop.set()
        raise
    if errors:
        raise errors[0]
    return answers[0]


def run_heard(call: Callable[[], Answer], stop: threading.Event) -> Answer:
    """Return the answer of ``call`` like :func:`run_interruptible`, but without a new thread.

    A new thread starts with cold caches. ``call`` must return to Python often and run its native
    solvers in :func:`run_aside`. A custom SIGINT handler is preserved.
    """
    plain = signal.default_int_handler
    if signal.getsignal(signal.SIGINT) is not plain or not _in_main_thread():
        return run_interruptible(call, stop)

    def set_stop(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, plain)
        stop.set()

    try:
        signal.signal(signal.SIGINT, set_stop)
    except ValueError:  # threading regards the first thread that it sees as the main one
        return run_interruptible(call, stop)
    try:
        return call()
    except BaseException:  # also of the program's own signal handlers: solvers must stop
        stop.set()
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is set_stop:
            signal.signal(signal.SIGINT, plain)


def run_aside(call: Callable[[], Answer]) -> Answer:
    """Return the answer of ``call`` from another thread, so that signals are handled meanwhile."""
    if not _in_main_thread():
        return call()
    future: Future[Answer] = Future()

    def work() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    start_thread(work, "counterfolio-backend")
    while not wait([future], WAIT_S).done:
        pass
    return future.result()


def start_thread(work: Callable[[], object], name: str) -> None:
    """Start a daemon thread, whose start no signal interrupts.

    If a signal handler raises while the main thread is in ``Thread.start``, the new thread may wait
    for a lock of the interpreter for ever. Therefore another thread starts it.
    """

    def start() -> None:
        try:
            threading.Thread(target=work, name=name, daemon=True).start()
        except RuntimeError:  # no more threads can be started
            work()

    _thread.start_new_thread(start, ())


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


@contextmanager
def ended_gently() -> Iterator[None]:
    """Handle SIGTERM like Ctrl-C, and ignore any second signal of the two."""
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

    A query that is proved when Ctrl-C arrives returns its answer and consumes the exception.
    Callers with many queries check the event between them.
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
    """Handle Ctrl-C even if a script started the program in the background."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _wait(over: threading.Event) -> None:
    while not over.wait(WAIT_S):
        pass
