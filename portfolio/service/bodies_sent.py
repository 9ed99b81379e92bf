"""Questions as a client of the service writes them."""

import json
from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np

from encoders.errors import InputError
from portfolio.as_json import as_plain, by_name
from portfolio.written import written


def body_of(x: Any, arguments: Mapping[str, Any]) -> bytes:
    """A question as the body of a request."""
    given = {name: own for name, own in arguments.items() if own is not None}
    if "y" in given:
        given["y"] = by_name(given["y"])
    return json.dumps(members_of(given | {"x": by_name(x)}), allow_nan=False).encode()


def members_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """A question's members as JSON has them."""
    for name in ("x", "y", "margin", "weights", "time_limit_s", "radius", "budget"):
        _check_finite(given.get(name), name)
    norm = {"norm": _norm(given["norm"])} if "norm" in given else {}
    told: dict[str, Any] = as_plain(written({**given, **norm}))
    return told


def _check_finite(value: Any, where: str) -> None:
    """JSON has no infinity, and null would mean that a value is missing."""
    if isinstance(value, Mapping):
        for name, own in value.items():
            _check_finite(own, f"{where}: {name}")
    elif isinstance(value, list | tuple | np.ndarray):
        for own in value:
            _check_finite(own, where)
    elif isinstance(value, float | np.floating) and abs(value) == inf:
        raise InputError(f"{where} is infinite; give a finite number.")


def _norm(norm: Any) -> Any:
    if callable(norm) or (isinstance(norm, Mapping) and any(map(callable, norm.values()))):
        raise InputError("a function can't be sent to a service; give costs as a mapping.")
    if isinstance(norm, Mapping):
        return {
            name: list(own.items()) if isinstance(own, Mapping) else own
            for name, own in norm.items()
        }
    return "inf" if norm == inf else norm
