"""Functions compiled for this machine: once, kept on disk where that is possible.

Kernels name what they are given by these letters, as their loops are hard enough to read:

``t``
    :class:`encoders.problem.flat_problem.Tables`, the problem as flat arrays. Its fields are put
    into locals first: reading an array from a tuple counts a reference each time.
``a``, ``v``
    An axis, and a level counted within it; ``t.level_start[a] + v`` is the level among all.
``k``, ``leaf``, ``tree``
    A literal (``lo <= level <= hi`` on one axis), a leaf, a tree.
``r``, ``q``, ``g``
    A leaf row, a level row, a one-hot group.
``lo``, ``hi``
    A box: int64 (n_axes,), the first and last level of each axis.
``point``
    A choice: int64 (n_axes,), the cheapest one of the box in most cases.
``keep``, ``alive``, ``live``
    bool (n_levels,), levels that are not ruled out; bool (n_leaves,), leaves that are not ruled
    out for good; bool (n_leaves,), leaves that fit the box.
``best``
    int64 (n_rows + 1, n_trees), the leaf of each tree that weighs most in a row, of those that fit;
    in the last row the one that the point lies in, -1 for none; as ``t.best`` int64 (n_axes,), the
    cheapest level of each axis.
``up``, ``down``
    int64 (n_rows, n_levels), what a row loses at least when an axis goes at most up to a level,
    or at least down to it.
``slack``
    int64 (n_rows,), what the best leaves give beyond a row's need.
``cost``, ``upper``
    float64: of the point, and what a choice has to undercut to be of interest.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba.core import event

from encoders.shipped_code import with_shipped

LOGGER = logging.getLogger("counterfolio")
NOTICE = (
    "counterfolio is compiling its solver for this machine, which takes about a minute, and less "
    "at the first use of some other questions; "
)
# A place further on, where places are unsigned: those that may be negative are asked each time
# whether they count from the end, which takes as long as all else in the hottest loops.
ONE = np.uint64(1)
KEPT = "this is kept for the next time."
# Files that may hold compiled code; one that is missing here may be run in an older version.
COMPILED = (
    "compiled.py",
    "arrays.py",
    "problem/flat_problem.py",
    "trees/ways.py",
    "bounds/*.py",
    "reduce/*.py",
    "backends/search/*.py",
    "maps/*.py",
)
NOWHERE = (
    "there is no folder to keep it in, so set NUMBA_CACHE_DIR to one that can be written to, "
    "or every process compiles anew."
)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call, without the interpreter lock.

    Kernels change no array but those that their docstring says they fill; they are thread safe as
    long as those are not shared.
    """
    return _compiled(function, {"nogil": True})


def inner(function: Callable[..., Any]) -> Any:
    """The same, called by kernels alone: without what Python needs to call it.

    That is a seventh of the time that all kernels take to compile.
    """
    options = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return _compiled(function, options)


def inlined(function: Callable[..., Any]) -> Any:
    """The same, put in place of its calls.

    A call that is not inlined counts references to every array of its tables: dear in hot loops.
    """
    return _compiled(function, {"nogil": True, "inline": "always"})


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder beside the file, of the user or of NUMBA_CACHE_DIR
        compiled = numba.njit(**options)(function)
    else:
        _forget_older_code(compiled.stats.cache_path, Path(function.__code__.co_filename).parent)
    return with_shipped(compiled, compiled_sources())


@cache
def _forget_older_code(folder: str, sources: Path) -> None:
    """Drop what was kept before any of the compiled sources changed; once a process and folder.

    Those are the files of ``COMPILED``, and all that lie beside the function.

    numba looks at the file of a function only: it would go on with callees of an older version,
    and can't even read an index whose argument types were defined in a module that has moved.
    """
    with suppress(OSError):
        beside = (path.stat().st_mtime for path in sources.glob("*.py"))
        newest = max([_newest_source(), *beside])
        for index in Path(folder).glob("*.nbi"):
            if index.stat().st_mtime < newest:
                index.unlink(missing_ok=True)


@cache
def _newest_source() -> float:
    """When any file that may hold compiled code was last changed, seconds since the epoch."""
    return max(path.stat().st_mtime for path in compiled_sources())


@cache
def compiled_sources() -> tuple[Path, ...]:
    """The files of ``COMPILED``."""
    here = Path(__file__).parent
    return tuple(path for place in COMPILED for path in sorted(here.glob(place)))


def is_kept(function: Any) -> bool:
    """Whether a compiled function has a place on disk."""
    return bool(function.stats.cache_path)


class _Once(event.Listener):  # type: ignore[misc]
    """Tells the first time that something is being compiled."""

    def __init__(self, tell: Callable[[], object]) -> None:
        self._tell: Callable[[], object] | None = tell

    def on_start(self, event: Any) -> None:
        if self._tell is not None:
            self._tell()
            self._tell = None

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def compile_notice(kept: bool) -> Iterator[None]:
    """Say so once if anything is compiled meanwhile."""
    words = NOTICE + (KEPT if kept else NOWHERE)
    with once_compiling(lambda: LOGGER.warning(words)):
        yield


@contextmanager
def once_compiling(tell: Callable[[], object]) -> Iterator[None]:
    """Call a function once if anything is compiled meanwhile, before that is."""
    with event.install_listener("numba:compile", _Once(tell)):
        yield
