"""Wall-clock times of a query."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timings:
    """Wall-clock seconds that the phases of a query took.

    Attributes
    ----------
    read : float
        Reading the model and the training frame. This happens once, when the Explainer is
        created, and is not part of ``total``.
    pose : float
        Encoding the query as a problem of options and leaves.
    reduce : float
        Presolve: searching for an incumbent and dropping options that cannot beat it.
    build : float
        Building the models of all backends that ran.
    solve : float
        Running the solvers of all backends that ran. Times of several target classes are added up,
        also if they are searched at the same time.
    verify : float
        Calling the model's own predict and recomputing costs.
    total : float
        Time from the call to the result.

    Examples
    --------
    >>> timings = explainer.explain(row).timings
    >>> 0 < timings.verify < timings.total
    True
    """

    read: float = 0.0
    pose: float = 0.0
    reduce: float = 0.0
    build: float = 0.0
    solve: float = 0.0
    verify: float = 0.0
    total: float = 0.0


def duration(seconds: float) -> str:
    """Return a duration with three digits, in milliseconds below one second."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:.0f} s"
