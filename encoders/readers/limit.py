"""Limit of a probability or a score from which a class is predicted."""

from dataclasses import dataclass


@dataclass(frozen=True)
class ResponseLimit:
    """Limit of a response from which the positive class is predicted.

    Attributes
    ----------
    value : least response of the positive class.
    positive : index of the positive class, 0 or 1.
    probable : whether the response is the probability of the positive class. Otherwise it is
        ``decision_function``, negated if the positive class is the first one.
    """

    value: float
    positive: int
    probable: bool

    @property
    def sign(self) -> float:
        """1.0 if a large response is class 1, else -1.0."""
        return 1.0 if self.positive == 1 else -1.0
