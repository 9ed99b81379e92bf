"""The end of a question's time, looked at between pieces of work that have no result of their own.

What can do with less time ends early by itself, and says what it has by then. Where there is
nothing to say before all of it is done, :func:`look` ends it.
"""

from collections.abc import Callable

Over = Callable[[], bool]  # whether there is no time left


class OutOfTimeError(Exception):
    """No time is left for what is being made; who asked for it has to do with what is known."""


def never() -> bool:
    """There is always time left."""
    return False


def look(over: Over) -> None:
    """Go on only if there is time left.

    Parameters
    ----------
    over : whether there is none

    Raises
    ------
    OutOfTimeError
        There is none.
    """
    if over():
        raise OutOfTimeError
