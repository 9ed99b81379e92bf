"""What an answer must reach besides a class: a probability, a score, a prediction.

The records of the first part are what users write. Those of the second are what is left once a
row and a model are known: a class that the model must decide for, or limits of one of its outputs.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from encoders.errors import InputError

# Which of the model's numbers a goal is about.
Scale = Literal["probability", "raw", "prediction"]


@dataclass(frozen=True)
class Probability:
    """The model's own ``predict_proba`` gives the label a probability within limits.

    Attributes
    ----------
    label : of the class
    at_least, at_most : from 0 to 1; at least one of the two is needed

    Raises
    ------
    InputError
        Limits that are none.
    """

    label: Any
    at_least: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.label, np.bool_ | np.number | np.str_):
            object.__setattr__(self, "label", self.label.item())  # as sentences have it
        _check_limits(self, self.at_least, self.at_most)
        for bound in (self.at_least, self.at_most):
            if bound is not None and not 0 <= bound <= 1:
                raise InputError(f"{self}: a probability is from 0 to 1, not {bound!r}.")

    def words(self) -> str:
        """What is to be reached, for sentences."""
        return f"a probability of {self.label!r} {_within(self.at_least, self.at_most)}"


@dataclass(frozen=True)
class Score:
    """The model's own score lies within limits.

    The score is the raw score (``decision_function``, ``output_margin``, ``raw_score``) where two
    classes are boosted, the probability of the second class where two classes are averaged by a
    forest, its votes in hard voting, and a regressor's prediction.

    Attributes
    ----------
    low, high : at least one of the two is needed

    Raises
    ------
    InputError
        Limits that are none.
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        _check_limits(self, self.low, self.high)

    def words(self) -> str:
        """What is to be reached, for sentences."""
        return f"a score {_within(self.low, self.high)}"


@dataclass(frozen=True)
class AtLeast:
    """A regressor predicts at least this.

    Attributes
    ----------
    value : in the unit of the prediction

    Raises
    ------
    InputError
        It is no number.
    """

    value: float

    def __post_init__(self) -> None:
        _check_limits(self, self.value, None)

    def words(self) -> str:
        """What is to be reached, for sentences."""
        return f"a prediction {_within(self.value, None)}"


@dataclass(frozen=True)
class AtMost:
    """A regressor predicts at most this.

    Attributes
    ----------
    value : in the unit of the prediction

    Raises
    ------
    InputError
        It is no number.
    """

    value: float

    def __post_init__(self) -> None:
        _check_limits(self, None, self.value)

    def words(self) -> str:
        """What is to be reached, for sentences."""
        return f"a prediction {_within(None, self.value)}"


@dataclass(frozen=True)
class Less:
    """A regressor predicts less than it does for the query.

    Attributes
    ----------
    by : at least so much, in the unit of the prediction
    percent : or at least so many per cent of the query's prediction (of its magnitude)

    Raises
    ------
    InputError
        Not exactly one of the two, or one that is not above 0.
    """

    by: float | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        _check_amount(self, self.by, self.percent)

    def words(self) -> str:
        """What is to be reached, for sentences."""
        return f"a prediction lower by at least {_amount(self.by, self.percent)}"


@dataclass(frozen=True)
class More:
    """A regressor predicts more than it does for the query.

    Attributes
    ----------
    by : at least so much, in the unit of the prediction
    percent : or at least so many per cent of the query's prediction (of its magnitude)

    Raises
    ------
    InputError
        Not exactly one of the two, or one that is not above 0.
    """

    by: float | None = None
    percent: float | None = None

    def __post_init__(self) -> None:
        _check_amount(self, self.by, self.percent)

    def words(self) -> str:
        """What is to be reached, for sentences."""
        return f"a prediction higher by at least {_amount(self.by, self.percent)}"


Wanted = Probability | Score | AtLeast | AtMost | Less | More
OF_PREDICTIONS = (AtLeast, AtMost, Less, More)  # those that need a regressor


@dataclass(frozen=True)
class ClassGoal:
    """The model decides for a class.

    Attributes
    ----------
    target : class index
    """

    target: int


@dataclass(frozen=True)
class ValueGoal:
    """One of the model's numbers, as the float that the model itself gives, lies within limits.

    Attributes
    ----------
    target : index of the class whose training rows, isolation forest and kept models are used
    scale : which number
    output : index of the class that it is of; 0 for a regressor
    low, high : may be infinite; ``low <= high``
    """

    target: int
    scale: Scale
    output: int
    low: float
    high: float


Goal = ClassGoal | ValueGoal


def limits_of(wanted: Wanted, now: float = math.nan) -> tuple[float, float]:
    """The limits that a record of the user's stands for."""
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


def relative(wanted: object) -> bool:
    """Whether the limits depend on what the model says of the query."""
    return isinstance(wanted, Less | More)


def _moved(wanted: Less | More, now: float) -> float:
    if wanted.by is not None:
        return float(wanted.by)
    assert wanted.percent is not None
    return float(wanted.percent) / 100.0 * abs(now)


def _floats(low: float | None, high: float | None) -> tuple[float, float]:
    return -math.inf if low is None else float(low), math.inf if high is None else float(high)


def is_number(value: object) -> bool:
    """Whether a value can be a limit."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return False
    try:
        return not math.isnan(float(value))
    except OverflowError:  # a whole number beyond float64
        return False


def _check_limits(goal: object, low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise InputError(f"{goal} says nothing; give a lower limit, an upper limit, or both.")
    for bound in (low, high):
        if bound is not None and not is_number(bound):
            raise InputError(f"{goal}: a limit must be a number, not {bound!r}.")
    if low is not None and high is not None and not low <= high:
        raise InputError(f"{goal}: the lower limit {low:g} is above the upper limit {high:g}.")
    if low == math.inf or high == -math.inf:
        raise InputError(f"{goal}: no number reaches an infinite limit.")


def _check_amount(goal: object, by: float | None, percent: float | None) -> None:
    if (by is None) == (percent is None):
        raise InputError(f"{goal}: give either by=, a difference, or percent=.")
    amount = by if percent is None else percent
    if not is_number(amount) or not 0 < amount < math.inf:  # type: ignore[operator]
        raise InputError(f"{goal}: by how much must be a number above 0, not {amount!r}.")


def _within(low: float | None, high: float | None) -> str:
    if low is None:
        return f"of at most {high:g}"
    if high is None:
        return f"of at least {low:g}"
    return f"of {low:g}" if low == high else f"from {low:g} to {high:g}"


def _amount(by: float | None, percent: float | None) -> str:
    return f"{percent:g} %" if by is None else f"{by:g}"
