"""Targets of a query: a class, or limits of a probability, a score or a prediction.

Users write the records of the first part. Those of the second part are bound to a row and a model:
a class that the model must predict, or limits of one of its outputs.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from encoders.core.errors import InputError
from encoders.query.features import is_missing

# Output of the model that a goal limits.
Scale = Literal["probability", "raw", "prediction"]


@dataclass(frozen=True)
class Probability:
    """Target that ``predict_proba`` gives a class a probability within limits.

    Attributes
    ----------
    label : label of a class
        Class whose probability is limited.
    at_least, at_most : float or None, default None
        Limits from 0 to 1; at least one of the two is needed.

    Raises
    ------
    InputError
        If the limits are missing, contradict each other or are not probabilities.

    Examples
    --------
    >>> target = Probability("granted", at_least=0.6)
    >>> result = explainer.explain(row, target=target)
    >>> result.status
    'optimal'
    """

    label: Any
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.label, np.bool_ | np.number | np.str_):
            object.__setattr__(self, "label", self.label.item())  # for messages
        _check_limits(self, self.at_least, self.at_most)
        for bound in (self.at_least, self.at_most):
            if bound is not None and not 0 <= bound <= 1:
                raise InputError(f"{self}: a probability must be from 0 to 1, got {bound!r}.")

    def words(self) -> str:
        """Return the target in words, for messages.

        Returns
        -------
        str
            A noun phrase.

        Examples
        --------
        >>> Probability("granted", at_least=0.6, at_most=0.8).words()
        "a probability of 'granted' from 0.6 to 0.8"
        """
        return f"a probability of {self.label!r} {_within(self.at_least, self.at_most)}"


@dataclass(frozen=True)
class Score:
    """Target that the model's score lies within limits.

    The score depends on the model. For boosted trees with two classes it is the raw score
    (``decision_function``, ``output_margin``, ``raw_score``). For a forest with two classes it is
    the probability of the second class, for hard voting the votes for that class. For a regressor
    it is the prediction.

    Attributes
    ----------
    low, high : float or None, default None
        Limits of the score; at least one of the two is needed.

    Raises
    ------
    InputError
        If the limits are missing, contradict each other or are not numbers.

    Examples
    --------
    >>> explainer.explain(row, target=Score(low=0.6)).status
    'optimal'
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        _check_limits(self, self.low, self.high)

    def words(self) -> str:
        """Return the target in words, for messages.

        Returns
        -------
        str
            A noun phrase.

        Examples
        --------
        >>> Score(high=0.25).words()
        'a score of at most 0.25'
        """
        return f"a score {_within(self.low, self.high)}"


@dataclass(frozen=True)
class AtLeast:
    """Target that a regressor predicts at least a value.

    Attributes
    ----------
    value : float
        Smallest prediction, in the unit of the prediction.

    Raises
    ------
    InputError
        If ``value`` is not a number.

    Examples
    --------
    >>> AtLeast(250_000).words()
    'a prediction of at least 250000'
    """

    value: float

    def __post_init__(self) -> None:
        _check_limits(self, self.value, None)

    def words(self) -> str:
        """Return the target in words, for messages.

        Returns
        -------
        str
            A noun phrase.

        Examples
        --------
        >>> AtLeast(0.5).words()
        'a prediction of at least 0.5'
        """
        return f"a prediction {_within(self.value, None)}"


@dataclass(frozen=True)
class AtMost:
    """Target that a regressor predicts at most a value.

    Attributes
    ----------
    value : float
        Largest prediction, in the unit of the prediction.

    Raises
    ------
    InputError
        If ``value`` is not a number.

    Examples
    --------
    >>> AtMost(12.5).words()
    'a prediction of at most 12.5'
    """

    value: float

    def __post_init__(self) -> None:
        _check_limits(self, None, self.value)

    def words(self) -> str:
        """Return the target in words, for messages.

        Returns
        -------
        str
            A noun phrase.

        Examples
        --------
        >>> AtMost(0.5).words()
        'a prediction of at most 0.5'
        """
        return f"a prediction {_within(None, self.value)}"


@dataclass(frozen=True)
class Less:
    """Target that a regressor predicts less than for the query.

    Attributes
    ----------
    by : float or None, default None
        Smallest decrease, in the unit of the prediction.
    percent : float or None, default None
        Smallest decrease in per cent of the magnitude of the query's prediction.

    Raises
    ------
    InputError
        If not exactly one of ``by`` and ``percent`` is given, or if it is not above 0.

    Examples
    --------
    >>> Less(percent=10).words()
    'a prediction lower by at least 10 %'
    """

    by: float | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        _check_amount(self, self.by, self.percent)

    def words(self) -> str:
        """Return the target in words, for messages.

        Returns
        -------
        str
            A noun phrase.

        Examples
        --------
        >>> Less(by=2).words()
        'a prediction lower by at least 2'
        """
        return f"a prediction lower by at least {_amount(self.by, self.percent)}"


@dataclass(frozen=True)
class More:
    """Target that a regressor predicts more than for the query.

    Attributes
    ----------
    by : float or None, default None
        Smallest increase, in the unit of the prediction.
    percent : float or None, default None
        Smallest increase in per cent of the magnitude of the query's prediction.

    Raises
    ------
    InputError
        If not exactly one of ``by`` and ``percent`` is given, or if it is not above 0.

    Examples
    --------
    >>> More(by=5_000).words()
    'a prediction higher by at least 5000'
    """

    by: float | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        _check_amount(self, self.by, self.percent)

    def words(self) -> str:
        """Return the target in words, for messages.

        Returns
        -------
        str
            A noun phrase.

        Examples
        --------
        >>> More(percent=5).words()
        'a prediction higher by at least 5 %'
        """
        return f"a prediction higher by at least {_amount(self.by, self.percent)}"


@dataclass(frozen=True)
class Beat:
    """Target that the model's score is larger than that of another row.

    The score is that of :class:`Score`: the prediction of a regressor or ranker, the score of a
    classifier of two classes. The other row is scored by the model itself at each query.

    Attributes
    ----------
    row : mapping, Series, DataFrame of one row, or list
        The other row, in the columns of a query; it is stored as a tuple.

    Raises
    ------
    InputError
        If ``row`` is not a row, or contains an infinite number.

    Examples
    --------
    >>> first = X_train.iloc[0]
    >>> Beat(first).words()
    'a score above that of the given row'
    """

    row: Mapping[str, bool | int | float | str | None] | Sequence[bool | int | float | str | None]

    def __post_init__(self) -> None:
        object.__setattr__(self, "row", _entries(self.row))
        values = self.values()
        for value in values.values() if isinstance(values, dict) else values:
            if isinstance(value, float) and math.isinf(value):
                raise InputError(f"Beat: the row contains {value!r}. Give finite numbers.")

    def values(self) -> Any:
        """Return the row as a dict or a list, as it was given.

        Returns
        -------
        dict or list
            Values by column, or in the model's order; missing values are None.

        Examples
        --------
        >>> Beat([50, None]).values()
        [50, None]
        """
        pairs = all(isinstance(each, tuple) for each in self.row)
        return dict(self.row) if pairs else list(self.row)  # type: ignore[arg-type]

    def words(self) -> str:
        """Return the target in words, for messages.

        Returns
        -------
        str
            A noun phrase.

        Examples
        --------
        >>> Beat([50, 1200]).words()
        'a score above that of the given row'
        """
        return "a score above that of the given row"


Wanted = Probability | Score | AtLeast | AtMost | Less | More | Beat


@dataclass(frozen=True)
class ClassGoal:
    """Goal that the model predicts a class."""

    target: int  # class index


@dataclass(frozen=True)
class ValueGoal:
    """Goal that one output of the model, as the float it returns, lies within limits.

    Attributes
    ----------
    target : int, index of the class whose training rows, isolation forest and kept models are used.
    scale : "probability", "raw" or "prediction", kind of output.
    output : int, index of the class of that output; 0 for a regressor.
    low, high : float, limits, possibly infinite; ``low <= high``.
    """

    target: int
    scale: Scale
    output: int
    low: float
    high: float


Goal = ClassGoal | ValueGoal


def limits_of(wanted: Wanted, now: float = math.nan) -> tuple[float, float]:
    """Return the limits (low, high) of a target.

    ``now`` is the prediction of the query, or the score of the row that a :class:`Beat` names.
    """
    match wanted:
        case Probability():
            return _floats(wanted.at_least, wanted.at_most)
        case Score():
            return _floats(wanted.low, wanted.high)
        case AtLeast():
            return _floats(wanted.value, None)
        case AtMost():
            return _floats(None, wanted.value)
        case Less():
            return _floats(None, now - _moved(wanted, now))
        case More():
            return _floats(now + _moved(wanted, now), None)
        case Beat():
            # The model's numbers are widened to float64, in which the next number is the least
            # larger one.
            return math.nextafter(now, math.inf), math.inf


def relative(wanted: object) -> bool:
    """Return whether the limits of a target depend on the query's prediction."""
    return isinstance(wanted, Less | More)


def _entries(row: Any) -> tuple[Any, ...]:
    """Return a row as a tuple of values, or of pairs of column and value."""
    if hasattr(row, "items"):
        pairs = ((name, _only(value)) for name, value in row.items())
        entries = tuple((name, _plain(value)) for name, value in pairs)
    elif isinstance(row, Sequence | np.ndarray) and not isinstance(row, str):
        entries = tuple(map(_plain, row))
    else:
        entries = ()
    if not entries:
        raise InputError(
            f"Beat needs a row such as a dict or a list, got {row!r}. Give one of your rows."
        )
    return entries


def _only(value: Any) -> Any:
    """Return the value of a column of a DataFrame; any other value itself."""
    if not hasattr(value, "iloc"):
        return value
    if len(value) != 1:
        raise InputError(f"Beat needs one row, got a table of {len(value)} rows. Select one.")
    return value.iloc[0]


def _plain(value: Any) -> Any:
    """Return a value of a row as a Python object, missing ones as None."""
    if isinstance(value, list | tuple):  # a pair that was stored
        return tuple(value)
    if is_missing(value):
        return None
    return value.item() if isinstance(value, np.generic) else value


def _moved(wanted: Less | More, now: float) -> float:
    if wanted.by is not None:
        return float(wanted.by)
    assert wanted.percent is not None
    return float(wanted.percent) / 100.0 * abs(now)


def _floats(low: float | None, high: float | None) -> tuple[float, float]:
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def is_number(value: object) -> bool:
    """Return whether a value can be a limit."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:  # an integer beyond float64
        return False


def _check_limits(goal: object, low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise InputError(f"{goal} has no limits. Give a lower limit, an upper limit, or both.")
    for bound in (low, high):
        if bound is not None and not is_number(bound):
            raise InputError(f"{goal}: a limit must be a number, got {bound!r}.")
    if low is not None and high is not None and not low <= high:
        raise InputError(
            f"{goal}: the lower limit {low:g} is above the upper limit {high:g}. Swap them."
        )
    if low == math.inf or high == -math.inf:
        raise InputError(f"{goal}: no number reaches an infinite limit. Give a finite limit.")


def _check_amount(goal: object, by: float | None, percent: float | None) -> None:
    if (by is None) == (percent is None):
        raise InputError(f"{goal} needs exactly one amount. Give either by= or percent=.")
    name, amount = ("by", by) if percent is None else ("percent", percent)
    if not is_number(amount) or not 0 < amount < math.inf:  # type: ignore[operator]
        raise InputError(f"{goal}: {name} must be a finite number above 0, got {amount!r}.")


def _within(low: float | None, high: float | None) -> str:
    if low is None:
        return f"of at most {high:g}"
    if high is None:
        return f"of at least {low:g}"
    return f"of {low:g}" if low == high else f"from {low:g} to {high:g}"


def _amount(by: float | None, percent: float | None) -> str:
    return f"{percent:g} %" if by is None else f"{by:g}"
