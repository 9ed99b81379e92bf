"""Errors that name the remedy; every one is also the standard type a caller would expect."""


class CounterfolioError(Exception):
    """Root of all errors raised on purpose by this project."""


class InputError(CounterfolioError, ValueError):
    """What the user gave cannot be used; the message says what, where, and what to do."""


class NothingAdmissibleError(InputError):
    """Constraints leave a feature of the query no value, so there is no answer to look for."""


class UnsupportedModelError(InputError, TypeError):
    """The model cannot be read exactly, so nothing could be proved about it."""


class UnavailableBackendError(CounterfolioError, RuntimeError):
    """A backend is not installed, not licensed, or cannot take this kind of problem."""


class BrokenProblemError(CounterfolioError, AssertionError):
    """A problem that is not what proofs rest on; a bug of ours, or a model that was misread."""
