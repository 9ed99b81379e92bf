"""What is told of backends by their names, which logs and diagrams may hold without their code."""

from collections.abc import Iterable

from encoders.backends.interface import Backend
from encoders.backends.registry import all_backends
from encoders.backends.search.spec import SEARCH

# It runs in this process and proves most cases within a moment: it gets a head start in races,
# and a slice of time before or after the others.
HEAD_STARTER = SEARCH.name
# The backend of the paper, which evaluation always compares with.
PAPER_BACKEND = "cp"
UNKNOWN_COLOUR = "#777777"
LAST = 1000  # place in line of who is not registered


def known_backend(name: str) -> Backend | None:
    """The registered backend of a name, or None."""
    return next((backend for backend in all_backends() if backend.name == name), None)


def title_of(name: str) -> str:
    """The name as people write it; the name itself of a backend that is not registered."""
    backend = known_backend(name)
    return name if backend is None else backend.title


def colour_of(name: str) -> str:
    """Of its boxes in pictures, "#rrggbb"."""
    backend = known_backend(name)
    return UNKNOWN_COLOUR if backend is None else backend.colour


def in_race_order(names: Iterable[str], votes: bool) -> list[str]:
    """Names, the most promising first."""

    def rank(name: str) -> int:
        backend = known_backend(name)
        if backend is None:
            return LAST
        return backend.votes_rank if votes else backend.race_rank

    return sorted(names, key=rank)
