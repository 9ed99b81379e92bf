"""The numbers that a decision diagram splits on: named, ordered, versioned."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Literal

from encoders.problem.descriptors import Shape
from selector.descriptors import EnsembleDescriptors

VERSION = 2  # of the names below; goes up whenever one of them changes
Metric = Literal["total", "solver"]
LEFT = "left_"
QUERY = ("norm", "plausible", "solver_only")
NAMES = (
    *(field.name for field in fields(EnsembleDescriptors)),
    *QUERY,
    *(LEFT + field.name for field in fields(Shape)),
)
NORM_INF = 99.0  # stands for the maximum norm
OWN_NORM = -1.0  # stands for costs of the user's own


@dataclass(frozen=True)
class Case:
    """What is known of a query before it is reduced.

    Attributes
    ----------
    ensemble : descriptors of the model
    norm : as text: "0", "1", "2", another number, "inf", or anything else for a norm of the
        user's own
    plausible : whether answers must be inliers of the target class
    metric : what counts, "total" seconds of one query or "solver", those of a kept model
    """

    ensemble: EnsembleDescriptors
    norm: str
    plausible: bool
    metric: Metric = "total"

    def values(self, left: Shape) -> dict[str, float]:
        """All descriptors by name, in the order of ``NAMES``; infinite ones are -1."""
        values = {name: float(value) for name, value in asdict(self.ensemble).items()}
        values |= {
            "norm": norm_number(self.norm),
            "plausible": float(self.plausible),
            "solver_only": float(self.metric == "solver"),
        }
        values |= {LEFT + name: _finite(float(value)) for name, value in asdict(left).items()}
        return values


def norm_number(norm: str) -> float:
    """A norm as a number to split on: itself, ``NORM_INF`` or ``OWN_NORM``."""
    if norm == "inf":
        return NORM_INF
    try:
        return float(norm)
    except ValueError:
        return OWN_NORM


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -1.0
