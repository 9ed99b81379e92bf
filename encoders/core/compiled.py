"""Compilation of kernels with numba, with a cache on disk where possible.

Kernels use these short names for their arguments and locals:

``t``
    :class:`encoders.problem.flat_problem.Tables`, the problem as flat arrays. Kernels copy its
    fields to locals first: reading an array from a tuple counts a reference each time.
``a``, ``v``
    An axis, and a level counted within it. ``t.level_start[a] + v`` is the global level id.
``k``, ``leaf``, ``tree``
    A literal (``lo <= level <= hi`` on one axis), a leaf, a tree.
``r``, ``q``, ``g``
    A leaf row, a level row, a one-hot group.
``lo``, ``hi``
    A box: int64 (n_axes,), the first and last level of each axis.
``point``
    A choice: int64 (n_axes,), usually the cheapest choice of the box.
``keep``
    bool (n_levels,), levels that are not excluded.
``alive``
    bool (n_leaves,), leaves that are not excluded from the whole problem.
``live``
    bool (n_leaves,), leaves that intersect the box.
``best``
    int64 (n_rows + 1, n_trees), the heaviest live leaf of each tree in each row. The last row holds
    the leaf that contains the point, -1 if none does.
``t.best``
    int64 (n_axes,), the cheapest level of each axis.
``up``, ``down``
    int64 (n_rows, n_levels), a lower bound on how much a row's sum falls. ``up`` is for an axis
    that stays at or below a level, ``down`` for one that stays at or above it.
``slack``
    int64 (n_rows,), the sum of the best leaves' weights less the row's need.
``cost``, ``upper``
    float64: the cost of the point, and the cost that an improving choice must undercut.
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

from encoders.core.interpreted import interpreted_meanwhile
from encoders.core.shipped_code import with_shipped

LOGGER = logging.getLogger("counterfolio")
NOTICE = (
    "counterfolio is compiling its solver for this machine, which takes about a minute (less at "
    "the first use of some other query types). "
)
MEANWHILE = (
    "counterfolio is compiling its solver for this machine in the background, which takes about a "
    "minute. Until then answers take seconds, and large queries wait."
)
# Hot loops use unsigned indices: numba tests each signed index for being negative, which takes as
# long as the rest of the loop.
ONE = np.uint64(1)
KEPT = "The compiled code is cached for later runs."
# Files with compiled code. Stale cached code may run for a file that is missing here.
COMPILED = (
    "core/compiled.py",
    "core/arrays.py",
    "problem/flat_problem.py",
    "trees/set_limits.py",
    "trees/term_search.py",
    "trees/ways.py",
    "presolve/**/*.py",
    "search/**/*.py",
)
NOWHERE = (
    "The compiled code cannot be cached, so every process compiles again: set NUMBA_CACHE_DIR to a "
    "writable folder."
)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call; it runs without the interpreter lock.

    Kernels write only to the arrays that their docstring names. They are thread-safe as long as
    threads do not share those arrays.
    """
    return _compiled(function, {"nogil": True})


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function that only kernels call, without the wrappers that Python needs.

    This saves a seventh of the compile time of all kernels.
    """
    options = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return _compiled(function, options)


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a function that numba inlines at each call.

    A call that is not inlined counts references to every array of its tables, which is expensive in
    hot loops.
    """
    return _compiled(function, {"nogil": True, "inline": "always"})


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    if numba.config.DISABLE_JIT:
        return function
    try:
        compiled = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba has no writable cache folder
        compiled = numba.njit(**options)(function)
    else:
        _forget_older_code(compiled.stats.cache_path, Path(function.__code__.co_filename).parent)
    return interpreted_meanwhile(with_shipped(compiled, compiled_sources()))


@cache
def _forget_older_code(folder: str, sources: Path) -> None:
    """Delete cache indices older than the newest compiled source, once per process and folder.

    Compiled sources are the files of ``COMPILED`` and those next to the function. numba checks only
    the function's own file: it would run stale callees, and fails on an index whose argument types
    are from a module that has moved.
    """
    with suppress(OSError):
        beside = (path.stat().st_mtime for path in sources.glob("*.py"))
        newest = max([_newest_source(), *beside])
        for index in Path(folder).glob("*.nbi"):
            if index.stat().st_mtime < newest:
                index.unlink(missing_ok=True)


@cache
def _newest_source() -> float:
    """Return the latest modification time of the compiled sources, seconds since the epoch."""
    return max(path.stat().st_mtime for path in compiled_sources())


@cache
def compiled_sources() -> tuple[Path, ...]:
    """Return the paths of all files that ``COMPILED`` names."""
    here = Path(__file__).parents[1]
    return tuple(path for place in COMPILED for path in sorted(here.glob(place)))


def is_kept(function: Any) -> bool:
    """Return whether a compiled function is cached on disk."""
    return not numba.config.DISABLE_JIT and bool(function.stats.cache_path)


class _Once(event.Listener):  # type: ignore[misc]
    """Listener that calls a function at the first compilation and then no more."""

    def __init__(self, notify: Callable[[], object]) -> None:
        self._notify: Callable[[], object] | None = notify

    def on_start(self, event: Any) -> None:
        if self._notify is not None:
            self._notify()
            self._notify = None

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def compile_notice(cached: bool) -> Iterator[None]:
    """Log one warning if numba compiles anything inside the block."""
    message = NOTICE + (KEPT if cached else NOWHERE)
    with once_compiling(lambda: LOGGER.warning(message)):
        yield


@contextmanager
def once_compiling(notify: Callable[[], object]) -> Iterator[None]:
    """Call a function once, before the first compilation inside the block."""
    with event.install_listener("numba:compile", _Once(notify)):
        yield
