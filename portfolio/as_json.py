"""What every answer has: plain values for JSON, and HTML for notebooks."""

import json
import math
from abc import abstractmethod
from typing import Any

import numpy as np

from encoders.as_html import lines
from encoders.query.features import is_missing

PLAIN = frozenset((str, int, bool, type(None)))  # what most values are


class AsJson:
    """An answer that is told as JSON, and in notebooks by its sentences."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON."""

    def to_json(self) -> str:
        """:meth:`to_dict` as one JSON object."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return lines(str(self))


def by_name(row: Any) -> Any:
    """A row as a mapping by name, where it has names."""
    import pandas as pd

    from portfolio.model.frames import exact_pandas

    row = exact_pandas(row)
    if isinstance(row, pd.DataFrame):
        return {str(name): row.iloc[0, at] for at, name in enumerate(row.columns)}
    if isinstance(row, pd.Series):
        return {str(name): value for name, value in row.items()}
    return row


def as_plain(value: Any) -> Any:
    """JSON has no numpy scalars, no infinity, no dates; what it lacks is given in words."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind in PLAIN:
        return value
    if isinstance(value, dict):
        return {key: as_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [as_plain(item) for item in value]
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
