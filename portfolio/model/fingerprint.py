"""Digest of everything an answer depends on, equal in every process and on every machine."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

BYTES = 16


def fingerprint(*parts: Any) -> str:
    """Return the hex digest of values, arrays, dataclasses, containers and functions.

    A dataclass field with ``metadata={"fingerprint": False}`` is left out.
    """
    digest = hashlib.blake2b(digest_size=BYTES)
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: Any, part: Any) -> None:  # noqa: C901  # one case per type
    """Add a value with its kind and size, so that different structures have different digests."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        digest.update(f"array {part.dtype.str} {part.shape} ".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    elif is_dataclass(part) and not isinstance(part, type):
        digest.update(f"{type(part).__name__} ".encode())
        for field in fields(part):
            if field.metadata.get("fingerprint", True):
                _feed(digest, getattr(part, field.name))
    elif isinstance(part, Mapping):
        digest.update(f"mapping {len(part)} ".encode())
        for key, value in part.items():
            _feed(digest, (key, value))
    elif isinstance(part, list | tuple | set | frozenset | np.ndarray):
        items = sorted(part, key=repr) if isinstance(part, set | frozenset) else list(part)
        digest.update(f"sequence {len(items)} ".encode())
        for item in items:
            _feed(digest, item)
    elif isinstance(part, partial):
        _feed(digest, ("partial", part.func, part.args, part.keywords))
    elif isinstance(part, MethodType):
        _feed(digest, ("method", part.__self__, part.__func__))
    elif isinstance(part, FunctionType):
        _feed_function(digest, part)
    elif isinstance(part, CodeType):
        _feed(digest, ("code", part.co_code, part.co_names, part.co_consts))
    elif callable(part):
        name = getattr(part, "__qualname__", type(part).__qualname__)
        digest.update(f"callable {getattr(part, '__module__', '')}.{name} ".encode())
        if not isinstance(part, type | BuiltinFunctionType):
            _feed(digest, getattr(part, "__dict__", {}))
            _feed(digest, type(part).__call__)
    else:
        digest.update(f"{type(part).__name__} {part!r} ".encode())


def _feed_function(digest: Any, function: FunctionType) -> None:
    """Add the code of a function and the plain values of its closure and its globals."""
    code = function.__code__
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    names = {name: function.__globals__.get(name) for name in code.co_names}
    plain = {k: v for k, v in names.items() if isinstance(v, int | float | str | bytes | tuple)}
    digest.update(f"function {function.__module__}.{function.__qualname__} ".encode())
    _feed(digest, (code, function.__defaults__, function.__kwdefaults__, cells, plain))
