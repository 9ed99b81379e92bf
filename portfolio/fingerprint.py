"""A digest of what an answer depends on, the same in every process and on every machine."""

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

BYTES = 16


def fingerprint(*parts: Any) -> str:
    """Hex digest of plain values, arrays, dataclasses, containers and functions of these."""
    digest = hashlib.blake2b(digest_size=BYTES)
    for part in parts:
        _feed(digest, part)
    return digest.hexdigest()


def _feed(digest: Any, part: Any) -> None:
    """Every value is fed with its kind and size, so that no two structures look alike."""
    if isinstance(part, np.ndarray) and part.dtype != object:
        digest.update(f"array {part.dtype.str} {part.shape} ".encode())
        digest.update(np.ascontiguousarray(part).tobytes())
    elif is_dataclass(part) and not isinstance(part, type):
        digest.update(f"{type(part).__name__} ".encode())
        for field in fields(part):
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
    elif callable(part):
        code = getattr(part, "__code__", None)
        words = "" if code is None else f"{code.co_code.hex()} {code.co_consts!r}"
        name = getattr(part, "__qualname__", type(part).__qualname__)
        digest.update(f"function {getattr(part, '__module__', '')}.{name} {words} ".encode())
    else:
        digest.update(f"{type(part).__name__} {part!r} ".encode())
