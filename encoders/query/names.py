"""Names of columns and features as text, whatever type they have in the user's frame."""

from typing import Any

import numpy as np


def feature_name(name: Any) -> str:
    """Return a name as text; numbers and tuples are written as Python writes them."""
    if isinstance(name, tuple):
        return str(tuple(own.item() if isinstance(own, np.generic) else own for own in name))
    return str(name)


class OfFeature:
    """Base of what names one feature: the name becomes text."""

    feature: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "feature", feature_name(self.feature))
