"""Cache of explainers that earlier commands have read, in the user's cache folder."""

import hashlib
import os
import pickle
import site
import sys
import sysconfig
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.core.whole_files import replace_whole
from portfolio.model.cache_folder import cache_folder

if TYPE_CHECKING:
    from portfolio.api.explainer import Explainer
    from portfolio.cli.options import ModelOptions, QuestionOptions
    from portfolio.data.datasets import Dataset
    from portfolio.data.plain_tables import PlainTable

LEAST_S = 1.0  # reading must take longer than this to be cached
MOST_BYTES = 2**30  # of all cached files
ENDING = ".explainer"  # content: a digest and a pickle
DIGEST_BYTES = 32
PACKAGES = ("counterfolio", "portfolio", "encoders", "selector", "training_logs")


@dataclass(frozen=True)
class Reader:
    """Table and explainer of a command, read from files or from the cache.

    The key of a cached file is a digest of all options, the content of all named files, and the
    installed packages. ``COUNTERFOLIO_CACHE`` names the folder; an empty value disables the cache.
    """

    model: "ModelOptions"
    question: "QuestionOptions"  # used for its features and diagram

    @cached_property
    def table(self) -> "Dataset | PlainTable":
        """Table on which the model is or was trained."""
        return self.model.table() if self._cached is None else self._cached[0]

    @cached_property
    def explainer(self) -> "Explainer":
        """Explainer of the model, with the features and the diagram of the query."""
        if self._cached is not None:
            return self._cached[1]
        path, table = self._path, self.table
        began = time.perf_counter()
        explainer = self.model.explainer(table, self.question)
        slow = time.perf_counter() - began > LEAST_S
        # Files may have changed while they were read, and the user's own code may change later.
        if (
            path is not None
            and slow
            and path == self._place()
            and not _has_local_code(dict(sys.modules))
        ):
            _store(path, (table, explainer))
        return explainer

    @cached_property
    def _path(self) -> Path | None:
        return self._place()

    @cached_property
    def _cached(self) -> "tuple[Dataset | PlainTable, Explainer] | None":
        return None if self._path is None else _load(self._path)

    def _place(self) -> Path | None:
        """Return the path of the cached explainer, existing or not; None if it cannot be cached."""
        folder = cache_folder()
        key = None if folder is None else _key(self.model, self.question)
        return None if folder is None or key is None else folder / f"{key}{ENDING}"


def _key(model: "ModelOptions", question: "QuestionOptions") -> str | None:
    """Return a digest of everything that determines an explainer; None if a file is missing."""
    from selector.diagram_places import default_place

    files = (model.dataset, model.data, model.model, *(model.also or ()), question.features)
    digest = hashlib.sha256(repr((model, question.features, sys.version)).encode())
    try:
        for path in (*files, question.diagram or default_place()):
            if path is not None:
                with Path(path).open("rb") as file:
                    digest.update(hashlib.file_digest(file, "sha256").digest())
        for changed in (*_sources(), *_packages()):
            digest.update(os.fsencode(f"{changed} {changed.stat().st_mtime_ns}"))
    except OSError:
        return None
    return digest.hexdigest()


def _sources() -> list[Path]:
    root = Path(__file__).parents[2]
    return sorted(path for name in PACKAGES for path in (root / name).rglob("*.py"))


def _packages() -> list[Path]:
    """Return the metadata folders of installed packages, one for each package and version.

    Their parents would not do: other programs write temporary files beside the packages.
    """
    folders = (Path(folder) for folder in sys.path if os.path.isdir(folder))
    return sorted(path for folder in folders for path in folder.glob("*-info"))


def _has_local_code(modules: Mapping[str, Any]) -> bool:
    """Return whether a module comes from outside Python's own folders and this library."""
    installed = (*site.getsitepackages(), *sysconfig.get_paths().values())
    folders = tuple(str(Path(folder).resolve()) + os.sep for folder in installed)
    files = (
        getattr(module, "__file__", None)
        for name, module in modules.items()
        if name.partition(".")[0] not in (*PACKAGES, "__main__")
    )
    return any(not str(Path(file).resolve()).startswith(folders) for file in files if file)


def _load(path: Path) -> Any:
    """Return the content of a cached file, or None if it is missing or damaged."""
    try:
        content = path.read_bytes()
        digest, pickled = content[:DIGEST_BYTES], memoryview(content)[DIGEST_BYTES:]
        if hashlib.sha256(pickled).digest() != digest:
            path.unlink()
            return None
        os.utime(path)  # the least recently used are removed first
    except OSError:
        return None
    try:
        return pickle.loads(pickled)
    except Exception:  # classes have changed; the file is written again
        return None


def _store(path: Path, content: object) -> None:
    """Write a cached file and remove old ones; do nothing if the folder is not writable."""
    with suppress(OSError, pickle.PicklingError, TypeError, AttributeError):
        pickled = pickle.dumps(content, protocol=pickle.HIGHEST_PROTOCOL)
        replace_whole(path, partial(_dump, hashlib.sha256(pickled).digest(), pickled))
        files = sorted(path.parent.glob(f"*{ENDING}"), key=lambda file: -file.lstat().st_mtime)
        total = 0
        for file in files:
            total += file.lstat().st_size
            if total > MOST_BYTES:
                file.unlink(missing_ok=True)


def _dump(digest: bytes, pickled: bytes, path: Path) -> None:
    with path.open("wb") as file:
        file.write(digest)
        file.write(pickled)
