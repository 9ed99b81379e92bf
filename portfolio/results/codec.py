"""Codec of answers: their plain values for JSON, and the answers in such values.

Both derive from the fields of an answer and their types. The metadata of a field, such as
:data:`HIDDEN`, and the class variable ``COMPUTED`` state what differs. Infinite and missing numbers
are null. Constraints and goals have a form of their own; see :mod:`encoders.query.codec`.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from itertools import repeat
from types import UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

import numpy as np

from encoders.core.as_html import lines
from encoders.query.features import is_missing
from encoders.query.goal import Wanted
from portfolio.results.printing import unwrapped

JSON = "json"  # key of the metadata of fields
PLAIN = frozenset((str, int, bool, type(None)))  # types of most values


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class JsonMember:
    """Member of an object in JSON, and how it is computed from a field."""

    name: str = ""  # "" for that of the field
    write: Callable[[Any], Any] = _same  # from the value of the field to that of the member
    read: Callable[[Any], Any] | None = None  # from the value in JSON; None for that of its type
    hint: Any = None  # type of the member; None for that of the field
    flat: bool = False  # whether the members of the JSON of the value take its place


def member(**how: Any) -> Mapping[str, Any]:
    """Return the metadata of a field whose member differs from it; see :class:`JsonMember`."""
    return {JSON: JsonMember(**how)}


HIDDEN: Mapping[str, Any] = {JSON: None}  # metadata of fields without a member
FLAT = member(flat=True)


class AsJson:
    """Base class of answers that convert to JSON and show their sentences in notebooks.

    Examples
    --------
    >>> import json
    >>> json.loads(explainer.reasons(row).to_json())["features"]
    ['age', 'income', 'housing']
    """

    COMPUTED: ClassVar[tuple[str, ...]] = ()  # properties that are part of the JSON
    ORDER: ClassVar[tuple[str, ...]] = ()  # of the members; by default fields, then properties

    def to_dict(self) -> dict[str, Any]:
        """Return plain Python values for JSON; infinite and missing numbers become None.

        Examples
        --------
        >>> explainer.reasons(row).to_dict()["values"]
        {'age': 67, 'income': 19.207, 'housing': 'free'}
        """
        members = members_of(self) | {name: getattr(self, name) for name in self.COMPUTED}
        return {name: encode(members[name]) for name in self.ORDER or members}

    @classmethod
    def from_dict(cls, members: Mapping[str, Any]) -> Self:
        """Return the answer in plain values that :meth:`to_dict` returned.

        The attempts of backends and everything that needs the model are missing.

        Parameters
        ----------
        members : mapping of str to object
            Plain values, as :meth:`to_dict` returns them.

        Returns
        -------
        AsJson
            The answer, of this class.

        Examples
        --------
        >>> necessary = explainer.necessary(row)
        >>> type(necessary).from_dict(necessary.to_dict()).to_dict() == necessary.to_dict()
        True
        """
        return cls._read(members)

    @classmethod
    def _read(cls, members: Mapping[str, Any]) -> Self:
        """Return the answer in plain values; a subclass may add what its fields lack."""
        answer: Self = _record_of(cls, members)
        return answer

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


@cache
def _members(record: type) -> dict[str, JsonMember]:
    """Return the member of each field of a record that is part of its JSON, with its type."""
    kind: Any = record
    how = {each.name: each.metadata.get(JSON, JsonMember()) for each in fields(kind)}
    members = {name: each for name, each in how.items() if each is not None}
    # The types of other fields may be imported for type checks only.
    needed = {f.name: f.type for f in fields(kind) if f.name in members and not how[f.name].hint}
    hints = get_type_hints(
        type("_", (), {"__annotations__": needed, "__module__": kind.__module__})
    )
    return {
        name: replace(each, name=each.name or name, hint=hints.get(name, each.hint))
        for name, each in members.items()
    }


def members_of(record: Any) -> dict[str, Any]:
    """Return the members of the JSON of a record; see :data:`HIDDEN` and :data:`FLAT`."""
    members: dict[str, Any] = {}
    kind: Any = type(record)
    for field, each in _members(kind).items():
        value = getattr(record, field)
        members |= value.to_dict() if each.flat else {each.name: each.write(value)}
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


def encode(value: Any) -> Any:
    """Return a value for JSON: infinity and missing become None, other unknown types text."""
    kind = type(value)
    if kind is float:
        return value if math.isfinite(value) else None
    if kind in PLAIN:
        return value
    if isinstance(value, dict):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [encode(item) for item in value]
    if is_missing(value):
        return None
    if is_dataclass(value) and not isinstance(value, Wanted):
        return encode(value.to_dict() if hasattr(value, "to_dict") else members_of(value))
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isinf(value):
        return None
    return value if isinstance(value, str | int | float | None) else str(value)


def decode(hint: Any, plain: Any) -> Any:
    """Return the value of a type that :func:`encode` wrote; null is infinity for floats."""
    if plain is None:
        return math.inf if hint is float else None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return decode(next(filter(is_dataclass, arguments), Any), plain)
    if is_dataclass(hint):
        return hint.from_dict(plain) if hasattr(hint, "from_dict") else _record_of(hint, plain)
    if origin is tuple:
        kinds = repeat(arguments[0]) if arguments[-1] is Ellipsis else arguments
        return tuple(decode(kind, item) for kind, item in zip(kinds, plain, strict=False))
    if origin is Mapping:
        return {key: decode(arguments[1], item) for key, item in plain.items()}
    return plain


def _record_of(kind: Any, members: Mapping[str, Any]) -> Any:
    """Return a record with the values of an object in JSON; other fields have their defaults."""
    values = {}
    for field, each in _members(kind).items():
        plain = members if each.flat else members[each.name]
        values[field] = each.read(plain) if each.read else decode(each.hint, plain)
    return kind(**values)


def types_of(kind: Any) -> dict[str, Any]:
    """Return the type of each member of the JSON of a record."""
    types: dict[str, Any] = {}
    for each in _members(kind).values():
        types |= types_of(each.hint) if each.flat else {each.name: each.hint}
    for name in getattr(kind, "COMPUTED", ()):
        attribute = getattr(kind, name)
        function = attribute.func if isinstance(attribute, cached_property) else attribute.fget
        types[name] = get_type_hints(function)["return"]
    return types
