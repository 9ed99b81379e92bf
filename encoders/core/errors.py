"""Exceptions of counterfolio, each also a subclass of the matching standard exception.

:class:`OutOfTimeError` is internal. Functions with a partial result return it when time runs out;
functions without one call :func:`look` regularly and raise.
"""

from collections.abc import Callable

from encoders.core.visible_text import visible

Over = Callable[[], bool]  # returns True once the time is up


class CounterfolioError(Exception):
    """Base class of all errors that counterfolio raises on purpose.

    Examples
    --------
    >>> from counterfolio import CounterfolioError
    >>> try:
    ...     explainer.explain(row, target="grated")
    ... except CounterfolioError as error:
    ...     print(type(error).__name__)
    InputError
    """

    def __str__(self) -> str:
        """Return the message with control characters as escapes; it may quote untrusted names."""
        return visible(super().__str__())


class InputError(CounterfolioError, ValueError):
    """Invalid input: a row, target, constraint, setting or file that cannot be used.

    The message contains the offending value and a remedy.

    Parameters
    ----------
    message : str
        The problem and its remedy.
    code : str, default ""
        Identifier of the problem for programs that word it themselves, "" for most problems.
    **arguments : str or float
        Names and values in the message.

    Attributes
    ----------
    code : str
        The identifier.
    arguments : dict
        The names and values.

    Examples
    --------
    >>> from counterfolio import InputError
    >>> try:
    ...     explainer.explain(row, norm="l3")
    ... except InputError:
    ...     print("invalid input")
    invalid input
    """

    def __init__(self, message: object = "", code: str = "", **arguments: str | float) -> None:
        super().__init__(message)
        self.code, self.arguments = code, arguments


class NothingAdmissibleError(InputError):
    """Constraints that exclude every value of some feature, so that no answer exists."""


class UnsupportedModelError(InputError, TypeError):
    """Model that cannot be read exactly, so that nothing could be proved about it.

    Examples
    --------
    >>> from counterfolio import Explainer, UnsupportedModelError
    >>> from sklearn.linear_model import LogisticRegression
    >>> try:
    ...     Explainer(LogisticRegression().fit(X_train, y), X_train)
    ... except UnsupportedModelError:
    ...     print("not a tree ensemble")
    not a tree ensemble
    """


class ModelChangedError(InputError):
    """Model that was changed after it was read, so that proofs would refer to another model.

    Examples
    --------
    >>> from counterfolio import Explainer, ModelChangedError
    >>> from sklearn.base import clone
    >>> forest = clone(model).fit(X_train, y)
    >>> explainer = Explainer(forest, X_train)
    >>> forest = forest.fit(X_train, y)  # a refit changes the model that the explainer has read
    >>> try:
    ...     explainer.explain(row)
    ... except ModelChangedError:
    ...     print("create a new Explainer")
    create a new Explainer
    """


class UnavailableBackendError(CounterfolioError, RuntimeError):
    """Backend that is not installed or licensed, or does not support this kind of problem.

    Examples
    --------
    >>> from counterfolio import UnavailableBackendError
    >>> issubclass(UnavailableBackendError, RuntimeError)
    True
    """


class BrokenProblemError(CounterfolioError, AssertionError):
    """Violated invariant of a problem: a bug in counterfolio, or a model that was misread."""


class OutOfTimeError(CounterfolioError, TimeoutError):
    """Time limit reached before a result exists; the caller falls back on what it already has."""


def never() -> bool:
    """Return False: the time is unlimited."""
    return False


def look(over: Over) -> None:
    """Raise OutOfTimeError if the time is up."""
    if over():
        raise OutOfTimeError
