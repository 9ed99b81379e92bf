"""Part of counterfolio: what users call. Import it as ``counterfolio``, whose names these are."""

import importlib
from typing import TYPE_CHECKING, Any

from encoders.backends.attempt import Attempt
from encoders.errors import (
    CounterfolioError,
    InputError,
    UnavailableBackendError,
    UnsupportedModelError,
)
from encoders.query.constraints import (
    Allowed,
    AllowMissing,
    Decrease,
    Fixed,
    Increase,
    MaxChanges,
    Range,
)
from encoders.query.features import Feature, FeatureSpace
from encoders.query.goal import AtLeast, AtMost, Less, More, Probability, Score
from portfolio.batch.run import BatchError
from portfolio.explainer import Explainer
from portfolio.logbook import Logbook, LogWarning
from portfolio.model.plausibility import Plausibility
from portfolio.result import Change, Result, Timings
from portfolio.running.local_executor import LocalExecutor
from portfolio.running.solver_workers import Workers
from portfolio.session import Session
from selector.diagram import Diagram

if TYPE_CHECKING:
    from encoders.trees.voting import HardVotingClassifier
    from portfolio.running.ray.executor import RayExecutor

LATE = {  # scikit-learn takes long to import, and Ray need not be there
    "HardVotingClassifier": "encoders.trees.voting",
    "RayExecutor": "portfolio.running.ray.executor",
}

__all__ = [
    "AllowMissing",
    "Allowed",
    "AtLeast",
    "AtMost",
    "Attempt",
    "BatchError",
    "Change",
    "CounterfolioError",
    "Decrease",
    "Diagram",
    "Explainer",
    "Feature",
    "FeatureSpace",
    "Fixed",
    "HardVotingClassifier",
    "Increase",
    "InputError",
    "Less",
    "LocalExecutor",
    "LogWarning",
    "Logbook",
    "MaxChanges",
    "More",
    "Plausibility",
    "Probability",
    "Range",
    "RayExecutor",
    "Result",
    "Score",
    "Session",
    "Timings",
    "UnavailableBackendError",
    "UnsupportedModelError",
    "Workers",
]


def __getattr__(name: str) -> Any:
    if name in LATE:
        return getattr(importlib.import_module(LATE[name]), name)
    raise AttributeError(f"module 'portfolio' has no attribute {name!r}")
