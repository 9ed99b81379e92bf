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
    given = {name: own for name, own in arguments.items() if own is not None}
    if "y" in given:
        given["y"] = by_name(given["y"])
    return json.dumps(members_of(given | {"x": by_name(x)}), allow_nan=False).encode()


def members_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of a request as JSON values."""
    for name in ("x", "y", "margin", "weights", "time_limit_s", "radius", "budget"):
        _check_finite(given.get(name), name)
    norm = {"norm": _norm(given["norm"])} if "norm" in given else {}
    told: dict[str, Any] = as_plain(written({**given, **norm}))
    return told


def _check_finite(value: Any, where: str) -> None:
    """Raise InputError for infinity, which JSON lacks; null would mean a missing value."""
    if isinstance(value, Mapping):
        for name, own in value.items():
            _check_finite(own, f"{where}: {name}")
    elif isinstance(value, list | tuple | np.ndarray):
        for own in value:
            _check_finite(own, where)
    elif isinstance(value, float | np.floating) and abs(value) == inf:
        raise InputError(f"{where} is infinite. Give a finite number.")


def _norm(norm: Any) -> Any:
    if callable(norm) or (isinstance(norm, Mapping) and any(map(callable, norm.values()))):
        raise InputError(
            "norm is or contains a function, which cannot be sent. Give costs as a mapping."
        )
    if isinstance(norm, Mapping):
        return {
            name: list(own.items()) if isinstance(own, Mapping) else own
            for name, own in norm.items()
        }
    return "inf" if norm == inf else norm
