"""Compiling for this machine happens once; people who wait for it are told."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

NOTICE_AFTER_S = 1.0
NOTICE = "counterfolio is compiling its solver for this machine; this is kept for the next time."


@contextmanager
def compile_notice(*compiled: Any) -> Iterator[None]:
    """Log a message if one of these numba functions is being compiled after a second."""
    if all(function.signatures for function in compiled):
        yield
        return

    def tell() -> None:
        if any(f.stats.cache_misses and not f.signatures for f in compiled):
            logging.getLogger("counterfolio").warning(NOTICE)

    timer = threading.Timer(NOTICE_AFTER_S, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
