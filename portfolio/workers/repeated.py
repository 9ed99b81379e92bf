"""A function that another thread calls every few seconds."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def repeated(seconds: float, call: Callable[[], object], name: str) -> Iterator[None]:
    """Call a function every few seconds in another thread during a block."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(seconds):
            call()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
