"""All backends: ours, one line each, and those that other distributions declare."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points

from encoders.backends.cp.spec import CP
from encoders.backends.interface import Backend
from encoders.backends.maxsat.spec import MAXSAT
from encoders.backends.milp.spec import MILP
from encoders.backends.search.spec import SEARCH
from encoders.backends.smt.spec import SMT
from encoders.errors import InputError

OURS = (SEARCH, CP, MILP, MAXSAT, SMT)
GROUP = "counterfolio.backends"  # entry points, each of which loads a Backend


def all_backends() -> tuple[Backend, ...]:
    """Every backend there is, installed or not, ours first."""
    return (*OURS, *declared())


def find_backend(name: str) -> Backend:
    """The backend of that name.

    Parameters
    ----------
    name : as users write it

    Raises
    ------
    InputError
        There is none.
    """
    for backend in all_backends():
        if backend.name == name:
            return backend
    known = ", ".join(["auto", "race", *(backend.name for backend in all_backends())])
    raise InputError(f"there is no backend {name!r}; known are {known}.")


@cache
def declared() -> tuple[Backend, ...]:
    """Those of other distributions, so that every process of a batch or a cluster finds them."""
    return tuple(map(_loaded, entry_points(group=GROUP)))


def _loaded(point: EntryPoint) -> Backend:
    try:
        backend = point.load()
    except Exception as error:  # whatever a stranger's module does when it is imported
        raise InputError(
            f"the entry point {point.name!r} of the group {GROUP}, {point.value}, can't be loaded "
            f"({type(error).__name__}: {error}); uninstall or mend the distribution that "
            "declares it."
        ) from error
    if not isinstance(backend, Backend) or backend.name in {own.name for own in OURS}:
        raise InputError(
            f"the entry point {point.name!r} of the group {GROUP} holds {backend!r}, which is no "
            "Backend with a name of its own; uninstall or mend the distribution that declares it."
        )
    return backend
