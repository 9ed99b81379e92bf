"""Descriptors of a query that decision diagrams split on, with fixed names and order."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Literal

from encoders.problem.descriptors import Shape
from selector.descriptors import EnsembleDescriptors

VERSION = 2  # of ``NAMES``; increased whenever a name changes
Metric = Literal["total", "solver"]
LEFT = "left_"
QUERY = ("norm", "plausible", "solver_only")
NAMES = (
    *(field.name for field in fields(EnsembleDescriptors)),
    *QUERY,
    *(LEFT + field.name for field in fields(Shape)),
)
NORM_INF = 99.0  # code of the maximum norm
OWN_NORM = -1.0  # code of custom costs


@dataclass(frozen=True)
class Case:
    """Properties of a query that are known before presolve.

    Attributes
    ----------
    ensemble : EnsembleDescriptors, descriptors of the model.
    norm : text: "0", "1", "2", another number, "inf", or anything else for custom costs.
    plausible : bool, whether answers must be inliers of the target class.
    metric : time to minimise, "total" seconds of a query or "solver" seconds with a reused model.
    """

    ensemble: EnsembleDescriptors
    norm: str
    plausible: bool
    metric: Metric = "total"

    def values(self, left: Shape) -> dict[str, float]:
        """Return all descriptors by name, in the order of ``NAMES``, with -1 for infinite ones."""
        values = {name: float(value) for name, value in asdict(self.ensemble).items()}
        values |= {
            "norm": norm_number(self.norm),
            "plausible": float(self.plausible),
            "solver_only": float(self.metric == "solver"),
        }
        values |= {LEFT + name: _finite(float(value)) for name, value in asdict(left).items()}
        return values


def norm_number(norm: str) -> float:
    """Return the number that stands for a norm: itself, ``NORM_INF`` or ``OWN_NORM``."""
    if norm == "inf":
        return NORM_INF
    try:
        return float(norm)
    except ValueError:
        return OWN_NORM


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -1.0
