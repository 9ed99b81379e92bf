"""Ctrl-C while many questions are asked: each takes it for its own, and it is meant for all."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pressed() -> Iterator[threading.Event]:
    """Set on Ctrl-C, which a question takes for its own and does not tell of if it is proved then.

    Works in the main thread, where nothing else listens to Ctrl-C.
    """
    event = threading.Event()
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if not usual or threading.current_thread() is not threading.main_thread():
        yield event
        return

    def press(number: int, frame: object) -> None:
        event.set()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, press)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
