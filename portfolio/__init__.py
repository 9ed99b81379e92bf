"""Smallest changes to a row that make a tree ensemble decide otherwise, with a proof.

>>> from portfolio import Explainer
>>> explainer = Explainer(model, X_train)               # doctest: +SKIP
>>> print(explainer.explain(X_train.iloc[0]))           # doctest: +SKIP
"""

from typing import TYPE_CHECKING, Any

from encoders.constraints import Allowed, Decrease, Fixed, Increase, MaxChanges, Range
from encoders.errors import (
    CounterfolioError,
    InputError,
    UnavailableBackendError,
    UnsupportedModelError,
)
from portfolio.counterfactual import Change, Result, Timings
from portfolio.explainer import Explainer
from portfolio.plausibility import Plausibility

if TYPE_CHECKING:
    from encoders.voting import HardVotingClassifier

__all__ = [
    "Allowed",
    "Change",
    "CounterfolioError",
    "Decrease",
    "Explainer",
    "Fixed",
    "HardVotingClassifier",
    "Increase",
    "InputError",
    "MaxChanges",
    "Plausibility",
    "Range",
    "Result",
    "Timings",
    "UnavailableBackendError",
    "UnsupportedModelError",
]


def __getattr__(name: str) -> Any:
    """scikit-learn takes long to import; only the voting wrapper needs it at once."""
    if name == "HardVotingClassifier":
        from encoders.voting import HardVotingClassifier

        return HardVotingClassifier
    raise AttributeError(f"module 'portfolio' has no attribute {name!r}")
