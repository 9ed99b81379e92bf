"""Which backends try a problem, in which order, and for how long."""

from encoders.backend import BACKENDS, Backend, find_backend
from encoders.errors import InputError, UnavailableBackendError
from encoders.problem import Problem
from encoders.reduce import Step

# Branch and bound on boxes proves what it can within a moment where there are many features; its
# bound does not see that the trees' best leaves cost too much together, a linear program does.
MANY_AXES = 25
FIRST_TRY_S = 0.08


def choose(problem: Problem, name: str = "auto") -> tuple[Step, ...]:
    """The backends for a problem; ``name`` other than "auto" asks for that one alone.

    A name may carry an engine and a formulation: "milp/gurobi", "cp:plain", "milp/highs:ocean".

    Raises
    ------
    InputError
        No backend of that name.
    UnavailableBackendError
        It, or for "auto" every one, is not installed or can't take the problem.
    """
    if name != "auto":
        backend, engine, formulation = _parse(name)
        reason = _unable(backend, problem)
        if reason:
            raise UnavailableBackendError(f"no backend can take this query: {reason}.")
        return (Step(backend, formulation=formulation, engine=engine),)
    able = {b.name: b for b in BACKENDS if not _unable(b, problem)}
    if not able:
        reasons = "; ".join(_unable(backend, problem) for backend in BACKENDS)
        raise UnavailableBackendError(f"no backend can take this query: {reasons}.")
    if problem.n_axes >= MANY_AXES and {"search", "milp"} <= able.keys():
        return (Step(able["search"], FIRST_TRY_S), Step(able["milp"]))
    return (Step(next(iter(able.values()))),)


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
    return name != "auto" and _parse(name)[0].capability.sessions


def _parse(name: str) -> tuple[Backend, str, str]:
    """Backend, engine and formulation; "" where the name does not say."""
    rest, colon, formulation = name.partition(":")
    own, slash, engine = rest.partition("/")
    backend = find_backend(own)
    if slash and engine not in backend.engines:
        known = ", ".join(backend.engines)
        raise InputError(f"{own} has no engine {engine!r}; known are {known}.")
    if colon and formulation not in backend.formulations:
        known = ", ".join(backend.formulations)
        raise InputError(f"{own} has no formulation {formulation!r}; known are {known}.")
    return backend, engine, formulation
