"""Machine code that a wheel brings along, so that who installs it waits for no compiler.

``FOLDER`` has a file for each compiled function that Python calls, and a manifest: what the code
was made of, with and for, and a digest of each file. Where anything of that is not so here,
functions are compiled as if there were no such folder. Nothing is written here later on.

Files are pickles. They are part of the wheel as its Python files are, and trusted as these are;
the digests tell what is damaged, and sign nothing.

This knows what numba's caches hold inside, and touches it only under the very version of numba
that the code was made with.
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

FOLDER = Path(__file__).parent / "machine_code"
MANIFEST = "manifest.json"
TYPES_TOLD = 6  # place in numba's payload of a text about types, which names files of the builder


def with_shipped(compiled: Any, sources: tuple[Path, ...], folder: Path = FOLDER) -> Any:
    """The same function, which looks into the shipped code before it is compiled."""
    digest = _digests(folder, sources).get(_name_of(compiled))
    if digest is not None:
        compiled._cache = _ShippedCode(compiled._cache, folder / _name_of(compiled), digest)
    return compiled


def ship(
    functions: Iterable[Any],
    sources: tuple[Path, ...],
    features: Iterable[str],
    folder: Path = FOLDER,
) -> None:
    """Write what this process has loaded of these functions from numba's own caches."""
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
    kept = FunctionCache(function.py_func)
    payload = list(kept._cache_file.load(kept._index_key(types, function.targetctx.codegen())))
    payload[TYPES_TOLD] = ""
    return pickle.dumps(tuple(payload))


@cache
def _digests(folder: Path, sources: tuple[Path, ...]) -> dict[str, str]:
    """Of each file, by the function whose code it holds; none if the code is not for here."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        fits = manifest["made_for"] == _made_for(folder, sources) and _runs(manifest["features"])
        return dict(manifest["files"]) if fits else {}
    except (OSError, ValueError, LookupError, TypeError):  # there is none, or it is damaged
        return {}


def _made_for(folder: Path, sources: tuple[Path, ...]) -> dict[str, str]:
    """Where code that is made here can be loaded: all of this has to be the same there."""
    made_of = sorted(
        f"{os.path.relpath(path, folder)} {_sha256(path.read_bytes())}" for path in sources
    )
    return {
        "python": str(sysconfig.get_config_var("SOABI")),
        "numba": numba.__version__,
        "llvmlite": llvmlite.__version__,
        "llvm": ".".join(map(str, binding.llvm_version_info)),
        "machine": binding.get_process_triple(),
        "sources": _sha256("\n".join(made_of).encode()),
    }


def _runs(features: Iterable[str]) -> bool:
    """Whether numba may use these features of the processor: it has them, and nobody said no."""
    said = numba.config.CPU_FEATURES
    usable = get_host_cpu_features() if said is None else said
    return {f"+{feature}" for feature in features} <= set(usable.split(","))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


class _ShippedCode(_Cache):  # type: ignore[misc]
    """What numba asks for a function's code: shipped for some types of arguments, else kept."""

    def __init__(self, kept: Any, path: Path, digest: str) -> None:
        self._kept, self._path, self._digest = kept, path, digest

    @property
    def cache_path(self) -> str | None:
        path: str | None = self._kept.cache_path
        return path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        payload = self._payloads().get(sig)
        if payload is None:
            return self._kept.load_overload(sig, target_context)
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
        self._kept.save_overload(sig, data)

    def enable(self) -> None:
        self._kept.enable()

    def disable(self) -> None:
        self._kept.disable()

    def flush(self) -> None:
        self._kept.flush()
