"""All backends: the built-in ones, and those that other distributions register."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from encoders.backends.builtin import BUILT_IN
from encoders.backends.interface import Backend
from encoders.core.close_names import close_names
from encoders.core.errors import InputError

GROUP = "counterfolio.backends"  # group of entry points, each of which loads a Backend


def all_backends() -> tuple[Backend, ...]:
    """Return every known backend, installed or not, the built-in ones first.

    Returns
    -------
    tuple of Backend
        The backends.

    Raises
    ------
    InputError
        If another distribution registers a backend that cannot be used.

    Examples
    --------
    >>> from encoders.backends.registry import all_backends
    >>> [backend.name for backend in all_backends()]
    ['search', 'cp', 'milp', 'maxsat', 'smt']
    """
    return (*BUILT_IN, *declared())


def find_backend(name: str) -> Backend:
    """Return the backend of a given name.

    Parameters
    ----------
    name : str
        Name of the backend, as in ``strategy="cp"``.

    Returns
    -------
    Backend
        The backend.

    Raises
    ------
    InputError
        If no backend has this name.

    Examples
    --------
    >>> from encoders.backends.registry import find_backend
    >>> find_backend("cp").paradigm
    'constraint programming'
    """
    for backend in all_backends():
        if backend.name == name:
            return backend
    known = ["auto", "race", *(backend.name for backend in all_backends())]
    raise InputError(
        f"unknown backend {name!r}.{close_names(name, known)} Use one of {', '.join(known)}."
    )


@cache
def declared() -> tuple[Backend, ...]:
    """Return the backends of other distributions, which every process of a batch or cluster finds.

    Returns
    -------
    tuple of Backend
        The backends.

    Raises
    ------
    InputError
        If an entry point cannot be loaded, or is not a backend with a new name.
    """
    return tuple(map(_loaded, entry_points(group=GROUP)))


def _loaded(point: EntryPoint) -> Backend:
    try:
        backend = point.load()
    except Exception as error:  # importing third-party code can raise anything
        raise InputError(
            f"the entry point {point.name!r} of the group {GROUP}, {point.value}, cannot be loaded "
            f"({type(error).__name__}: {error}). Uninstall or fix the package that registers it."
        ) from error
    if not isinstance(backend, Backend) or backend.name in {builtin.name for builtin in BUILT_IN}:
        raise InputError(
            f"the entry point {point.name!r} of the group {GROUP} loads {backend!r}, which is not "
            "a Backend with a new name. Uninstall or fix the package that registers it."
        )
    return backend
