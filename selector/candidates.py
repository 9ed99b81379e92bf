"""Backends that can solve a problem, by name or in race order, and facts about them.

Logs and diagrams may name backends that are not installed.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from encoders.backends.builtin import SEARCH
from encoders.backends.interface import Backend
from encoders.backends.registry import all_backends, find_backend
from encoders.core.close_names import close_names
from encoders.core.errors import InputError, UnavailableBackendError
from encoders.problem.problem import Problem

# It runs in the calling process and proves most queries within milliseconds. So it gets a head
# start in races, and a time slice before or after other backends.
HEAD_STARTER = SEARCH.name
# The backend of the paper; evaluations always include it.
PAPER_BACKEND = "cp"
UNKNOWN_COLOUR = "#777777"


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


AUTO = "auto"


@dataclass(frozen=True)
class BackendTurn:
    """A backend with its options, start time and time limit.

    Attributes
    ----------
    backend : registered solver.
    formulation, engine : options of the backend, "" for its default.
    seconds : wall-clock time limit in seconds, inf for the time limit of the query.
    after : delay in seconds after the start of its round.
    """

    backend: Backend
    formulation: str = ""
    engine: str = ""
    seconds: float = math.inf
    after: float = 0.0


def named(problem: Problem, name: str) -> BackendTurn:
    """Return the named backend with the time limit of the query."""
    return _able(_parse(name), problem)


def backend_of(name: str) -> str:
    """Return the name of a backend without its engine and formulation."""
    return name.partition(":")[0].partition("/")[0]


def line_up(problem: Problem, names: Sequence[str] = ()) -> tuple[BackendTurn, ...]:
    """Return the backends that race for a problem, the most promising first."""
    if names:
        return tuple(_able(_parse(name), problem) for name in names)
    turns = [BackendTurn(b) for b in all_able(problem).values() if not b.capability.epsilon]
    return tuple(sorted(turns, key=race_rank(problem)))


def race_rank(problem: Problem) -> Callable[[BackendTurn], tuple[bool, int]]:
    """Return the sort key of backends in a race for a problem, the smallest first."""
    votes = _leaves_vote(problem)
    return lambda turn: (turn.backend.capability.epsilon > 0, _rank(turn.backend, votes))


def in_race_order(names: Iterable[str], votes: bool) -> list[str]:
    """Return names sorted by their rank in races, unknown ones last."""

    def rank(name: str) -> float:
        backend = known_backend(name)
        return math.inf if backend is None else _rank(backend, votes)

    return sorted(names, key=rank)


def _rank(backend: Backend, votes: bool) -> int:
    return backend.votes_rank if votes else backend.race_rank


def _leaves_vote(problem: Problem) -> bool:
    """Return whether all positive weights of each margin row are equal, as in hard voting."""
    return all(np.unique(row.weight[row.weight > 0]).size <= 1 for row in problem.leaf_rows)


def _able(turn: BackendTurn, problem: Problem) -> BackendTurn:
    reason = _unable(turn.backend, problem)
    if reason:
        raise UnavailableBackendError(f"{turn.backend.name} cannot solve this query: {reason}.")
    return turn


def all_able(problem: Problem) -> dict[str, Backend]:
    """Return the installed backends that can solve a problem, by name, in registry order."""
    able = {backend.name: backend for backend in all_backends() if not _unable(backend, problem)}
    if not able:
        reasons = "; ".join(_unable(backend, problem) for backend in all_backends())
        raise UnavailableBackendError(f"No backend can solve this query: {reasons}.")
    return able


def _unable(backend: Backend, problem: Problem) -> str:
    """Return why a backend cannot solve a problem, "" if it can."""
    if problem.aggregate not in backend.capability.aggregates:
        return f"{backend.name} does not support the {problem.aggregate} objective"
    if not backend.available:
        return f"{backend.name} needs the package {backend.distribution}, which is not installed"
    return ""


def check_name(name: str) -> None:
    """Raise InputError unless a name is "auto" or valid for :func:`named`."""
    if not isinstance(name, str) or name != AUTO:
        _parse(name)


def takes_sessions(name: str) -> bool:
    """Return whether the named backend supports sessions: it can reuse its model, or needs none."""
    return name == AUTO or _parse(name).backend.capability.sessions


def _parse(name: str) -> BackendTurn:
    if not isinstance(name, str):
        raise InputError(f"A backend must be given by its name, such as 'cp', got {name!r}.")
    rest, colon, formulation = name.partition(":")
    backend_name, slash, engine = rest.partition("/")
    backend = find_backend(backend_name)
    if slash and engine not in backend.engines:
        raise InputError(
            f"Backend {backend_name} has no engine {engine!r}."
            f"{close_names(engine, backend.engines)} Use one of "
            f"{', '.join(backend.engines)}."
        )
    if colon and formulation not in backend.formulations:
        raise InputError(
            f"Backend {backend_name} has no formulation {formulation!r}."
            f"{close_names(formulation, backend.formulations)} Use one of "
            f"{', '.join(backend.formulations)}."
        )
    return BackendTurn(backend, formulation, engine)
