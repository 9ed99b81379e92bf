"""Request bodies of the clients, as JSON."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from encoders.errors import InputError
from portfolio.as_json import as_plain, by_name
from portfolio.written import written


def body_of(x: Any, arguments: Mapping[str, Any]) -> bytes:
    """Return the request body as encoded JSON."""
    members = {name: value for name, value in arguments.items() if value is not None}
    if "y" in members:
        members["y"] = by_name(members["y"])
    return json.dumps(members_of(members | {"x": by_name(x)}), allow_nan=False).encode()


def members_of(members: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a request as JSON values."""
    for name in ("x", "y", "margin", "weights", "time_limit_s", "radius", "budget"):
        _check_finite(members.get(name), name)
    norm = {"norm": _norm(members["norm"])} if "norm" in members else {}
    plain: dict[str, Any] = as_plain(written({**members, **norm}))
    return plain


def _check_finite(value: Any, where: str) -> None:
    """Raise InputError for infinity, which JSON lacks; null would mean a missing value."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            _check_finite(each, f"{where}: {name}")
    elif isinstance(value, list | tuple | np.ndarray):
        for each in value:
            _check_finite(each, where)
    elif isinstance(value, float | np.floating) and abs(value) == inf:
        raise InputError(f"{where} is infinite. Give a finite number.")


def _norm(norm: Any) -> Any:
    if callable(norm) or (isinstance(norm, Mapping) and any(map(callable, norm.values()))):
        raise InputError(
            "norm is or contains a function, which cannot be sent. Give costs as a mapping."
        )
    if isinstance(norm, Mapping):
        return {
            name: list(costs.items()) if isinstance(costs, Mapping) else costs
            for name, costs in norm.items()
        }
    return "inf" if norm == inf else norm
