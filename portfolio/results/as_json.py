"""Base class of answers, with plain values for JSON and HTML for notebooks."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar

import numpy as np

from encoders.core.as_html import lines
from encoders.query.features import is_missing
from encoders.query.goal import Wanted
from portfolio.results.printing import unwrapped

# Metadata of fields: absent from the JSON of a record, or with the members of their own JSON.
HIDDEN: Mapping[str, Any] = {"json": False}
FLAT: Mapping[str, Any] = {"json": "flat"}
PLAIN = frozenset((str, int, bool, type(None)))  # types of most values


def converted(function: Callable[[Any], Any]) -> Mapping[str, Any]:
    """Return the metadata of a field whose JSON is computed from its value."""
    return {"json": function}


class AsJson:
    """Base class of answers that convert to JSON and show their sentences in notebooks.

    Examples
    --------
    >>> import json
    >>> json.loads(explainer.reasons(row).to_json())["features"]
    ['age', 'income', 'housing']
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ()  # properties that are part of the JSON

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values for JSON; infinite and missing numbers become None.

        Examples
        --------
        >>> explainer.reasons(row).to_dict()["values"]
        {'age': 67, 'income': 19.207, 'housing': 'free'}
        """
        computed = {name: getattr(self, name) for name in self.COMPUTED}
        return dict(as_plain(members_of(self) | computed))

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


def members_of(record: Any) -> dict[str, Any]:
    """Return the fields of a record that its JSON contains; see :data:`HIDDEN` and :data:`FLAT`."""
    members: dict[str, Any] = {}
    for each in fields(record):
        how, value = each.metadata.get("json", True), getattr(record, each.name)
        if how == "flat":
            members |= value.to_dict()
        elif callable(how):
            members[each.name] = how(value)
        elif how:
            members[each.name] = value
    return members


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
    if is_dataclass(value) and not isinstance(value, Wanted):
        return as_plain(value.to_dict() if hasattr(value, "to_dict") else members_of(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)
