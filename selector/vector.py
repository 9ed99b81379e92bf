"""The numbers that a decision diagram splits on: named, ordered, versioned."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Literal

from encoders.shape import Shape
from selector.descriptors import EnsembleDescriptors

VERSION = 1
Metric = Literal["total", "solver"]
LEFT = "left_"
QUERY = ("norm", "plausible", "solver_only")
NAMES = (
    *(field.name for field in fields(EnsembleDescriptors)),
    *QUERY,
    *(LEFT + field.name for field in fields(Shape)),
)
NORM_INF = 99.0  # stands for the maximum norm, and -1 for costs of the user's own
OWN_NORM = -1.0


@dataclass(frozen=True)
class Case:
    """What is known of a query before it is reduced.

    Attributes
    ----------
    norm : as text
    metric : what counts, "total" seconds of one query or "solver", those of a kept model
    """

    ensemble: EnsembleDescriptors
    norm: str
    plausible: bool
    metric: Metric = "total"

    def values(self, left: Shape) -> dict[str, float]:
        """All descriptors by name, those of a problem included; infinite ones are -1."""
        values = {name: float(value) for name, value in asdict(self.ensemble).items()}
        values |= {
            "norm": norm_number(self.norm),
            "plausible": float(self.plausible),
            "solver_only": float(self.metric == "solver"),
        }
        values |= {LEFT + name: _finite(float(value)) for name, value in asdict(left).items()}
        return values


def norm_number(norm: str) -> float:
    """A norm as a number to split on."""
    if norm == "inf":
        return NORM_INF
    try:
        return float(norm)
    except ValueError:
        return OWN_NORM


def in_words(feature: str, value: float) -> str:
    """A descriptor's value as people write it."""
    if feature == "norm" and value == NORM_INF:
        return "inf"
    if feature == "norm" and value == OWN_NORM:
        return "of your own"
    return f"{value:g}"


def _finite(value: float) -> float:
    return value if math.isfinite(value) else -1.0
