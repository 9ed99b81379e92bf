"""Command ``counterfolio``, also as ``python -m counterfolio``."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

INTERRUPTED = 130  # exit code of shells after Ctrl-C


def main() -> None:
    """Run the command line."""
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
