"""Compiling for this machine happens once; people who wait for it are told."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NOTICE_AFTER_S = 1.0
NOTICE = "counterfolio is compiling its solver for this machine; this is kept for the next time."


@contextmanager
def compile_notice(compiled: Any) -> Iterator[None]:
    """Log a message if the numba function ``compiled`` is being compiled for over a second."""
    if compiled.signatures:
        yield
        return

    def tell() -> None:
        if compiled.stats.cache_misses and not compiled.signatures:
            logging.getLogger("counterfolio").warning(NOTICE)

    timer = threading.Timer(NOTICE_AFTER_S, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
