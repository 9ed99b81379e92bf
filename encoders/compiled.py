"""Functions compiled for this machine: once, kept on disk where that is possible."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
from numba.core import event

LOGGER = logging.getLogger("counterfolio")
NOTICE = "counterfolio is compiling its solver for this machine, which takes about half a minute; "
KEPT = "this is kept for the next time."
NOWHERE = (
    "there is no folder to keep it in, so set NUMBA_CACHE_DIR to one that can be written to, "
    "or every process compiles anew."
)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function on its first call, without the interpreter lock."""
    return _compiled(function, {"nogil": True})


def inlined(function: Callable[..., Any]) -> Any:
    """The same, put in place of its calls.

    A call that is not inlined counts references to every array of its tables: dear in hot loops.
    """
    return _compiled(function, {"nogil": True, "inline": "always"})


def _compiled(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # no folder beside the file, of the user or of NUMBA_CACHE_DIR
        return numba.njit(**options)(function)


def is_kept(function: Any) -> bool:
    """Whether a compiled function has a place on disk."""
    return bool(function.stats.cache_path)


class _Told(event.Listener):  # type: ignore[misc]
    """Logs the first time that something is being compiled."""

    def __init__(self, kept: bool) -> None:
        self._words: str | None = NOTICE + (KEPT if kept else NOWHERE)

    def on_start(self, event: Any) -> None:
        if self._words is not None:
            LOGGER.warning(self._words)
            self._words = None

    def on_end(self, event: Any) -> None:
        pass


@contextmanager
def compile_notice(kept: bool) -> Iterator[None]:
    """Say so once if anything is compiled meanwhile."""
    with event.install_listener("numba:compile", _Told(kept)):
        yield
