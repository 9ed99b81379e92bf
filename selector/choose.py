"""Which backends try a problem, in which order, and for how long."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from encoders.backend import BACKENDS, Backend, find_backend
from encoders.errors import InputError, UnavailableBackendError
from encoders.problem import Problem
from encoders.shape import shape_of
from selector.diagram import Diagram
from selector.vector import Case

AUTO = "auto"


@dataclass(frozen=True)
class Choice:
    """A backend, its formulation and engine ("" for the best), how long it tries, and how long
    after the others of its round it begins."""

    backend: Backend
    formulation: str = ""
    engine: str = ""
    seconds: float = math.inf
    after: float = 0.0


@dataclass(frozen=True)
class Plan:
    """Rounds that follow each other; the backends of one round race.

    Attributes
    ----------
    why : what led to it, in words
    """

    rounds: tuple[tuple[Choice, ...], ...]
    why: str = ""


@dataclass(frozen=True)
class Selector:
    """Picks backends by a diagram, among those that can be had and can take the problem."""

    diagram: Diagram

    def plan(
        self, case: Case, problem: Problem, incumbent: float, threads: int, keep: bool = False
    ) -> Plan:
        """What tries a problem; of those that are to race only the first if there is one thread.

        Parameters
        ----------
        incumbent : cost of the best choice known, inf without one
        keep : only backends that keep their models

        Raises
        ------
        UnavailableBackendError
            None is installed or can take the problem.
        """
        able = {
            name: backend
            for name, backend in _all_able(problem).items()
            if not keep or backend.capability.sessions
        }
        decision = self.diagram.decide(case.values(shape_of(problem, incumbent)))
        turns = [
            tuple(Choice(able[name], seconds=seconds) for name in names if name in able)
            for names, seconds in decision.leaf.schedule
        ]
        rounds = [own if threads > 1 else own[:1] for own in turns if own]
        if not rounds:
            instead = Choice(next(iter(able.values())))
            why = f"{decision}; not to be had here, so {instead.backend.name}"
            return Plan(((instead,),), why)
        rounds[-1] = tuple(replace(choice, seconds=math.inf) for choice in rounds[-1])
        fewer = any(len(own) > 1 for own in turns) and threads == 1
        why = f"{decision}; one thread, so the first of them" if fewer else str(decision)
        return Plan(tuple(_going_on(rounds)), why)


def _going_on(rounds: Sequence[tuple[Choice, ...]]) -> list[tuple[Choice, ...]]:
    """Rounds whose backends all take part in the next one go on in it: the others join them."""
    joined = [rounds[0]]
    for later in rounds[1:]:
        own, wait = joined[-1], joined[-1][0].seconds
        begun = {choice.backend.name for choice in own}
        fresh = [choice for choice in later if choice.backend.name not in begun]
        if len(fresh) + len(own) > len(later):
            joined.append(later)
            continue
        before = [replace(choice, seconds=later[0].seconds) for choice in own]
        joined[-1] = (*before, *(replace(choice, after=wait) for choice in fresh))
    return joined


def named(problem: Problem, name: str) -> Choice:
    """The backend asked for; the name may carry an engine and a formulation: "milp/gurobi",
    "cp:plain", "milp/highs:ocean".

    Raises
    ------
    InputError
        No backend of that name.
    UnavailableBackendError
        It is not installed or can't take the problem.
    """
    return _able(_parse(name), problem)


def line_up(problem: Problem, names: Sequence[str] = ()) -> tuple[Choice, ...]:
    """The backends that race for a problem, the most promising first.

    Without ``names`` all that can prove its optimum.

    Raises
    ------
    InputError, UnavailableBackendError
        As :func:`named`.
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
    """Raise :class:`InputError` unless ``name`` is "auto" or one that :func:`named` takes."""
    if not isinstance(name, str) or name != AUTO:
        _parse(name)


def keeps_models(name: str) -> bool:
    """Whether the named backend can keep a model of all but the costs."""
    return name == AUTO or _parse(name).backend.capability.sessions


def _parse(name: str) -> Choice:
    if not isinstance(name, str):
        raise InputError(f"a backend is asked for by its name, such as 'cp', not {name!r}.")
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
