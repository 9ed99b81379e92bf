"""Base class of answers, with plain values for JSON and HTML for notebooks."""

import json
import math
from abc import abstractmethod
from typing import Any

import numpy as np

from encoders.core.as_html import lines
from encoders.query.features import is_missing
from portfolio.results.printing import unwrapped

PLAIN = frozenset((str, int, bool, type(None)))  # types of most values


class AsJson:
    """Base class of answers that convert to JSON and show their sentences in notebooks.

    Examples
    --------
    >>> import json
    >>> json.loads(explainer.reasons(row).to_json())["features"]
    ['age', 'income', 'housing']
    """

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the answer as plain Python values for JSON.

        Examples
        --------
        >>> explainer.reasons(row).to_dict()["values"]
        {'age': 67, 'income': 19.207, 'housing': 'free'}
        """

    def to_json(self) -> str:
        """Return :meth:`to_dict` as a JSON string.

        Examples
        --------
        >>> import json
        >>> necessary = explainer.necessary(row)
        >>> json.loads(necessary.to_json()) == necessary.to_dict()
        True
        """
        return json.dumps(self.to_dict(), allow_nan=False)

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        return lines(unwrapped(str(self)))


def by_name(row: Any) -> Any:
    """Return a row as a mapping by name if it has names, else unchanged."""
    import pandas as pd

    from portfolio.model.frames import exact_pandas

    row = exact_pandas(row)
    if isinstance(row, pd.DataFrame):
        return {str(name): row.iloc[0, at] for at, name in enumerate(row.columns)}
    if isinstance(row, pd.Series):
        return {str(name): value for name, value in row.items()}
    return row


def as_plain(value: Any) -> Any:
    """Return a value for JSON: infinity and missing become None, other unknown types text."""
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
