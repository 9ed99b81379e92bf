"""The first registered backend that is installed and can take the problem."""

from encoders.backend import BACKENDS, Backend, find_backend
from encoders.errors import UnavailableBackendError
from encoders.problem import Problem


def choose(problem: Problem, name: str = "auto") -> Backend:
    """Pick a backend for a problem; ``name`` other than "auto" asks for that one.

    Raises
    ------
    InputError
        No backend of that name.
    UnavailableBackendError
        It, or for "auto" every one, is not installed or can't take the problem.
    """
    candidates = BACKENDS if name == "auto" else (find_backend(name),)
    reasons = []
    for backend in candidates:
        if problem.aggregate not in backend.capability.aggregates:
            reasons.append(f"{backend.name} has no {problem.aggregate} objective")
        elif not backend.available:
            reasons.append(f"{backend.name} needs the package {backend.requires}")
        else:
            return backend
    raise UnavailableBackendError(f"no backend can take this query: {'; '.join(reasons)}.")


def check_name(name: str) -> None:
    """Raise :class:`InputError` unless ``name`` is "auto" or a registered backend."""
    if name != "auto":
        find_backend(name)
