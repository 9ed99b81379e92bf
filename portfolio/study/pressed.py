"""Ctrl-C while many questions are asked: each takes it for its own, and it is meant for all."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# What ends a program unless it says otherwise; who did say so is not interfered with.
USUAL: dict[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}


@contextmanager
def pressed() -> Iterator[threading.Event]:
    """Set on Ctrl-C, which a question takes for its own and does not tell of if it is proved then.

    SIGTERM is taken for Ctrl-C. Works in the main thread, where nothing else listens to them.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return

    def press(number: int, frame: object) -> None:
        event.set()
        raise KeyboardInterrupt

    heard = [number for number, usual in USUAL.items() if signal.getsignal(number) is usual]
    for number in heard:
        signal.signal(number, press)
    try:
        yield event
    finally:
        for number in heard:
            signal.signal(number, USUAL[number])
