"""Which backends can take a problem, by name or in the order of a race."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.backends.interface import Backend
from encoders.backends.registry import all_backends, find_backend
from encoders.errors import InputError, UnavailableBackendError
from encoders.problem.problem import Problem
from selector.backend_facts import in_race_order

AUTO = "auto"


@dataclass(frozen=True)
class BackendTurn:
    """A backend with its options, and when it may try.

    Attributes
    ----------
    backend : registered solver
    formulation, engine : of the backend, "" for its best one
    seconds : how long it tries, wall-clock seconds, inf until the query's time limit
    after : seconds after the first of its round at which it begins
    """

    backend: Backend
    formulation: str = ""
    engine: str = ""
    seconds: float = math.inf
    after: float = 0.0


def named(problem: Problem, name: str) -> BackendTurn:
    """The backend of a name, without a limit of its own."""
    return _able(_parse(name), problem)


def line_up(problem: Problem, names: Sequence[str] = ()) -> tuple[BackendTurn, ...]:
    """The backends that race for a problem, the most promising first."""
    if names:
        return tuple(_able(_parse(name), problem) for name in names)
    able = all_able(problem)
    racers = [able[name] for name in in_race_order(able, _leaves_vote(problem))]
    return tuple(BackendTurn(backend) for backend in racers if not backend.capability.epsilon)


def _leaves_vote(problem: Problem) -> bool:
    """Whether every leaf counts one or nothing, up to a factor per row."""
    return all(np.unique(row.weight[row.weight > 0]).size <= 1 for row in problem.leaf_rows)


def _able(turn: BackendTurn, problem: Problem) -> BackendTurn:
    reason = _unable(turn.backend, problem)
    if reason:
        raise UnavailableBackendError(f"no backend can take this query: {reason}.")
    return turn


def all_able(problem: Problem) -> dict[str, Backend]:
    """The installed backends that can take a problem, by name, as in the registry."""
    able = {backend.name: backend for backend in all_backends() if not _unable(backend, problem)}
    if not able:
        reasons = "; ".join(_unable(backend, problem) for backend in all_backends())
        raise UnavailableBackendError(f"no backend can take this query: {reasons}.")
    return able


def _unable(backend: Backend, problem: Problem) -> str:
    """Why a backend can't take a problem, "" if it can."""
    if problem.aggregate not in backend.capability.aggregates:
        return f"{backend.name} has no {problem.aggregate} objective"
    if not backend.available:
        return f"{backend.name} needs the package {backend.distribution}"
    return ""


def check_name(name: str) -> None:
    """Refuse a name that neither is "auto" nor one that :func:`named` takes."""
    if not isinstance(name, str) or name != AUTO:
        _parse(name)


def takes_sessions(name: str) -> bool:
    """Whether the named backend can answer a session: it keeps a model of all but the costs, or
    needs none.
    """
    return name == AUTO or _parse(name).backend.capability.sessions


def _parse(name: str) -> BackendTurn:
    if not isinstance(name, str):
        raise InputError(f"a backend is asked for by its name, such as 'cp', not {name!r}.")
    rest, colon, formulation = name.partition(":")
    backend_name, slash, engine = rest.partition("/")
    backend = find_backend(backend_name)
    if slash and engine not in backend.engines:
        known = ", ".join(backend.engines)
        raise InputError(f"{backend_name} has no engine {engine!r}; known are {known}.")
    if colon and formulation not in backend.formulations:
        known = ", ".join(backend.formulations)
        raise InputError(f"{backend_name} has no formulation {formulation!r}; known are {known}.")
    return BackendTurn(backend, formulation, engine)
