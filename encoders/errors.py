"""Errors that name the remedy; every one is also the standard type a caller would expect.

And the one that no caller sees: no time is left. What can do with less time ends early by itself,
and says what it has by then; what has nothing to say before all of it is done ends at a
:func:`look` at the clock.
"""

from collections.abc import Callable

from encoders.visible_text import visible

Over = Callable[[], bool]  # whether there is no time left


class CounterfolioError(Exception):
    """Root of all errors raised on purpose by this project."""

    def __str__(self) -> str:
        """Return the message, which may hold names from anybody, without control characters."""
        return visible(super().__str__())


class InputError(CounterfolioError, ValueError):
    """What the user gave cannot be used; the message says what, where, and what to do."""


class NothingAdmissibleError(InputError):
    """Constraints leave a feature of the query no value, so there is no answer to look for."""


class UnsupportedModelError(InputError, TypeError):
    """The model cannot be read exactly, so nothing could be proved about it."""


class ModelChangedError(InputError):
    """The model has changed since it was read, so that proofs would be about another one."""


class UnavailableBackendError(CounterfolioError, RuntimeError):
    """A backend is not installed, not licensed, or cannot take this kind of problem."""


class BrokenProblemError(CounterfolioError, AssertionError):
    """A problem that is not what proofs rest on; a bug of ours, or a model that was misread."""


class OutOfTimeError(CounterfolioError, TimeoutError):
    """No time is left for what is being made; who asked for it has to do with what is known."""


def never() -> bool:
    """There is always time left."""
    return False


def look(over: Over) -> None:
    """Go on only if there is time left."""
    if over():
        raise OutOfTimeError
