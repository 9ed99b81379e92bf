"""Which backends try a problem, in which order, and for how long."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from encoders.backend import BACKENDS, Backend, find_backend
from encoders.errors import InputError, UnavailableBackendError
from encoders.problem import Problem

# Branch and bound on boxes proves what it can within a moment where there are many features; its
# bound does not see that the trees' best leaves cost too much together, a linear program does.
MANY_AXES = 25
FIRST_TRY_S = 0.08


@dataclass(frozen=True)
class Choice:
    """A backend, its formulation and engine ("" for the best), and how long it tries."""

    backend: Backend
    formulation: str = ""
    engine: str = ""
    seconds: float = float("inf")


def choose(problem: Problem, name: str = "auto") -> tuple[Choice, ...]:
    """The backends that try a problem one after the other.

    A ``name`` other than "auto" asks for that one alone. It may carry an engine and a
    formulation: "milp/gurobi", "cp:plain", "milp/highs:ocean".

    Raises
    ------
    InputError
        No backend of that name.
    UnavailableBackendError
        It, or for "auto" every one, is not installed or can't take the problem.
    """
    if name != "auto":
        return (_able(_parse(name), problem),)
    able = _all_able(problem)
    if problem.n_axes >= MANY_AXES and {"search", "milp"} <= able.keys():
        return (Choice(able["search"], seconds=FIRST_TRY_S), Choice(able["milp"]))
    return (Choice(next(iter(able.values()))),)


def line_up(problem: Problem, names: Sequence[str] = ()) -> tuple[Choice, ...]:
    """The backends that race for a problem, the most promising first.

    Without ``names`` all that can prove its optimum.

    Raises
    ------
    InputError, UnavailableBackendError
        As :func:`choose`.
    """
    if names:
        return tuple(_able(_parse(name), problem) for name in names)
    able = _all_able(problem)
    order = ("search", "maxsat", "cp", "milp") if _votes(problem) else ("search", "milp", "cp")
    rest = [name for name in able if name not in order]
    chosen = [able[name] for name in (*order, *rest) if name in able]
    return tuple(Choice(backend) for backend in chosen if not backend.capability.epsilon)


def _votes(problem: Problem) -> bool:
    """Whether every leaf counts one or nothing, up to a factor per row."""
    return all(np.unique(row.weight[row.weight > 0]).size <= 1 for row in problem.leaf_rows)


def _able(choice: Choice, problem: Problem) -> Choice:
    reason = _unable(choice.backend, problem)
    if reason:
        raise UnavailableBackendError(f"no backend can take this query: {reason}.")
    return choice


def _all_able(problem: Problem) -> dict[str, Backend]:
    able = {b.name: b for b in BACKENDS if not _unable(b, problem)}
    if not able:
        reasons = "; ".join(_unable(backend, problem) for backend in BACKENDS)
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
    """Raise :class:`InputError` unless ``name`` is one that :func:`choose` takes."""
    if name != "auto":
        _parse(name)


def keeps_models(name: str) -> bool:
    """Whether the named backend can keep a model of all but the costs."""
    return name != "auto" and _parse(name).backend.capability.sessions


def _parse(name: str) -> Choice:
    rest, colon, formulation = name.partition(":")
    own, slash, engine = rest.partition("/")
    backend = find_backend(own)
    if slash and engine not in backend.engines:
        known = ", ".join(backend.engines)
        raise InputError(f"{own} has no engine {engine!r}; known are {known}.")
    if colon and formulation not in backend.formulations:
        known = ", ".join(backend.formulations)
        raise InputError(f"{own} has no formulation {formulation!r}; known are {known}.")
    return Choice(backend, formulation, engine)
