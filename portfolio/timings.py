"""Where the seconds of a query went."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Timings:
    """Where the wall-clock seconds of a query went.

    Attributes
    ----------
    read : the model and the training frame; spent once when the Explainer was made, and not in
        ``total``
    pose : from the question to a problem of options and leaves
    reduce : looking for an incumbent, and dropping what can't beat it
    build : backends' models; of all that were asked, as the next
    solve : backends at work
    verify : the model's own predict, and costs computed anew
    total : from the call to the result
    """

    read: float = 0.0
    pose: float = 0.0
    reduce: float = 0.0
    build: float = 0.0
    solve: float = 0.0
    verify: float = 0.0
    total: float = 0.0
