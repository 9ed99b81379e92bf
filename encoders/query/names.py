"""Conversion of names of columns and features to text."""

from typing import Any

import numpy as np


def feature_name(name: Any) -> str:
    """Return the name of a column or feature as text, tuples as Python writes them."""
    if isinstance(name, tuple):
        return str(tuple(part.item() if isinstance(part, np.generic) else part for part in name))
    return str(name)


class OfFeature:
    """Base class of records with the name of one feature, which it converts to text.

    Examples
    --------
    >>> Fixed(("loan", "age")).feature  # a column of a pandas MultiIndex
    "('loan', 'age')"
    """

    feature: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "feature", feature_name(self.feature))
