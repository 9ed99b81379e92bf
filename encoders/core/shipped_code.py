"""Machine code inside platform wheels, so that users do not wait for the compiler.

``FOLDER`` contains a file for each compiled function that Python calls, and a manifest. The
manifest has the sources, versions and platform that the code was built for, and a digest of each
file. If any of these differs, functions are compiled as if the folder did not exist. Nothing is
written to the folder after installation.

Files are pickles, trusted like the Python files of the same wheel. The digests detect damage; they
are not signatures.

This module depends on the internals of numba's caches. It is active only under the numba version
that the code was built with.
"""

import hashlib
import json
import os
import pickle
import sysconfig
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from llvmlite import binding
from numba.core.caching import FunctionCache, _Cache
from numba.core.codegen import get_host_cpu_features
from numba.core.compiler import CompileResult

FOLDER = Path(__file__).parents[1] / "machine_code"
MANIFEST = "manifest.json"
TYPE_TEXT = 6  # index in numba's payload of a text about types, which contains the builder's paths


def with_shipped(compiled: Any, sources: tuple[Path, ...], folder: Path = FOLDER) -> Any:
    """Make a function load its shipped code, if it fits, before numba compiles; return it."""
    digest = _digests(folder, sources).get(_name_of(compiled))
    if digest is not None:
        compiled._cache = _ShippedCode(compiled._cache, folder / _name_of(compiled), digest)
    return compiled


def is_stored(compiled: Any) -> bool:
    """Return whether machine code of a function is shipped or in numba's cache on disk."""
    if numba.config.DISABLE_JIT or isinstance(compiled._cache, _ShippedCode):
        return True
    if not compiled.stats.cache_path:
        return False
    return Path(FunctionCache(compiled.py_func)._cache_file._index_path).exists()


def ship(
    functions: Iterable[Any],
    sources: tuple[Path, ...],
    features: Iterable[str],
    folder: Path = FOLDER,
) -> None:
    """Write the machine code that this process has loaded for functions from numba's caches."""
    folder.mkdir()
    digests = {}
    for function in functions:
        loaded = {types: _payload(function, types) for types in function.stats.cache_hits}
        if loaded:
            content = pickle.dumps(loaded)
            (folder / _name_of(function)).write_bytes(content)
            digests[_name_of(function)] = _sha256(content)
    manifest = {
        "made_for": _made_for(folder, sources),
        "features": list(features),
        "files": dict(sorted(digests.items())),
    }
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def _name_of(compiled: Any) -> str:
    return f"{compiled.py_func.__module__}.{compiled.py_func.__qualname__}"


def _payload(function: Any, types: Any) -> bytes:
    cache = FunctionCache(function.py_func)
    payload = list(cache._cache_file.load(cache._index_key(types, function.targetctx.codegen())))
    payload[TYPE_TEXT] = ""
    return pickle.dumps(tuple(payload))


@cache
def _digests(folder: Path, sources: tuple[Path, ...]) -> dict[str, str]:
    """Return each function's file digest, by name; empty if the code does not fit this platform."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        fits = manifest["made_for"] == _made_for(folder, sources) and _runs(manifest["features"])
        return dict(manifest["files"]) if fits else {}
    except (OSError, ValueError, LookupError, TypeError):  # the manifest is missing or damaged
        return {}


def _made_for(folder: Path, sources: tuple[Path, ...]) -> dict[str, str]:
    """Return what must be the same on the platform that loads the code: versions and sources."""
    digests = sorted(
        f"{os.path.relpath(path, folder)} {_sha256(path.read_bytes())}" for path in sources
    )
    return {
        "python": str(sysconfig.get_config_var("SOABI")),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "llvm": ".".join(map(str, binding.llvm_version_info)),
        "machine": binding.get_process_triple(),
        "sources": _sha256("\n".join(digests).encode()),
    }


def _runs(features: Iterable[str]) -> bool:
    """Return whether the processor has these features and the numba configuration allows them."""
    configured = numba.config.CPU_FEATURES
    usable = get_host_cpu_features() if configured is None else configured
    return {f"+{feature}" for feature in features} <= set(usable.split(","))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _ShippedCode(_Cache):  # type: ignore[misc]
    """Cache that returns shipped code for its argument types and defers to numba's cache else."""

    def __init__(self, cache: Any, path: Path, digest: str) -> None:
        self._cache, self._path, self._digest = cache, path, digest

    @property
    def cache_path(self) -> str | None:
        path: str | None = self._cache.cache_path
        return path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        payload = self._payloads().get(sig)
        if payload is None:
            return self._cache.load_overload(sig, target_context)
        target_context.refresh()
        return CompileResult._rebuild(target_context, *pickle.loads(payload))

    def _payloads(self) -> dict[Any, bytes]:
        payloads: dict[Any, bytes] = {}
        with suppress(OSError):
            content = self._path.read_bytes()
            if _sha256(content) == self._digest:
                payloads = pickle.loads(content)
        return payloads

    def save_overload(self, sig: Any, data: Any) -> None:
        self._cache.save_overload(sig, data)

    def enable(self) -> None:
        self._cache.enable()

    def disable(self) -> None:
        self._cache.disable()

    def flush(self) -> None:
        self._cache.flush()
