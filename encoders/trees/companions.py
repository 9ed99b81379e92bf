"""An ensemble and others over the same columns -> one whose trees are those of all of them.

Only the first one's leaves have scores in it. What the others say of a row is told by their own
scores at the same leaves (:class:`encoders.trees.ensemble.Companion`), which get rows of their own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from encoders.arrays import IntArray, frozen, starts
from encoders.trees.ensemble import Companion, Ensemble
from encoders.trees.shared_sets import with_shared_sets
from encoders.trees.stretches import Stretches

SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def accompanied(ensemble: Ensemble, companions: Sequence[Companion]) -> Ensemble:
    """The ensemble's trees, and then those of each companion."""
    if not companions:
        return ensemble
    every = [ensemble, *(own.ensemble for own in companions)]
    first = starts(np.array([own.column.size for own in every]))[:-1]
    # Where input types differ, a float64 goes where the ensemble that rounds it sends it.
    single = all(own.dtype == SINGLE for own in every)
    dtype = SINGLE if single else DOUBLE

    def moved(field: str) -> IntArray:
        nodes = [(getattr(own, field), at) for own, at in zip(every, first, strict=True)]
        return frozen(np.concatenate([np.where(n >= 0, n + at, n) for n, at in nodes]))

    ways = [own.default_left for own in every if own.default_left is not None]
    nothing = np.zeros((sum(own.column.size for own in every[1:]), ensemble.n_sums))
    plain = replace(
        ensemble,
        root=moved("root"),
        column=frozen(np.concatenate([own.column for own in every])),
        last_left=frozen(np.concatenate([own.last_left_as(dtype) for own in every])),
        left=moved("left"),
        right=moved("right"),
        score=frozen(np.concatenate([ensemble.score, nothing])),
        dtype=dtype,
        default_left=frozen(np.concatenate(ways)) if ways else None,
        sets=None,
        unsure=_unsure(every),
        companions=tuple(
            replace(own, first=int(at)) for own, at in zip(companions, first[1:], strict=True)
        ),
    )
    return with_shared_sets(plain, every, first)


def _unsure(every: Sequence[Ensemble]) -> Mapping[int, Stretches] | None:
    """By column, where one of them is not sure."""
    told: dict[int, list[Stretches]] = {}
    for own in every:
        for column, stretches in (own.unsure or {}).items():
            told.setdefault(column, []).append(stretches)
    return {at: Stretches.of_all(parts) for at, parts in sorted(told.items())} or None
