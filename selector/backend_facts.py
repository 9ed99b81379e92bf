"""Facts about backends by name; logs and diagrams may name backends that are not installed."""

from collections.abc import Iterable

from encoders.backends.interface import Backend
from encoders.backends.registry import all_backends
from encoders.backends.search.spec import SEARCH

# It runs in the calling process and proves most queries within milliseconds. So it gets a head
# start in races, and a time slice before or after other backends.
HEAD_STARTER = SEARCH.name
# The backend of the paper; evaluations always include it.
PAPER_BACKEND = "cp"
UNKNOWN_COLOUR = "#777777"
LAST = 1000  # rank of a backend that is not registered


def known_backend(name: str) -> Backend | None:
    """Return the registered backend of a name, or None."""
    return next((backend for backend in all_backends() if backend.name == name), None)


def title_of(name: str) -> str:
    """Return the display name of a backend, or the name itself if it is not registered."""
    backend = known_backend(name)
    return name if backend is None else backend.title


def colour_of(name: str) -> str:
    """Return the colour "#rrggbb" of a backend in pictures."""
    backend = known_backend(name)
    return UNKNOWN_COLOUR if backend is None else backend.colour


def in_race_order(names: Iterable[str], votes: bool) -> list[str]:
    """Return names sorted by their rank in races, the most promising first."""

    def rank(name: str) -> int:
        backend = known_backend(name)
        if backend is None:
            return LAST
        return backend.votes_rank if votes else backend.race_rank

    return sorted(names, key=rank)
