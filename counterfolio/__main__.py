"""Command ``counterfolio``, also as ``python -m counterfolio``."""

import atexit
import gc
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # exit code of shells after Ctrl-C
# New objects between garbage collections. Imports create many that stay; the default of Python, 700
# to 2,000, spends 0.3 s on them.
COLLECT_EVERY = 10_000


def main() -> None:
    """Run the command line."""
    gc.set_threshold(COLLECT_EVERY)
    atexit.register(gc.freeze)  # without it, Python collects all objects at exit, in 0.7 s
    try:
        with _uninterrupted():
            from counterfolio.parts import check_parts

            check_parts()
            from portfolio.cli.app import main as run
    except ImportError as error:
        sys.exit(f"Error: {error}")
    run()


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay signals until imports finish; an interrupted import would print a traceback."""
    received: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {
        each: signal.signal(each, lambda number, _: received.append(number)) for each in signals
    }
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    if received:
        sys.stderr.write("Interrupted: no result.\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
