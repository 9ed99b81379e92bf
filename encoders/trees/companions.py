"""Joining of an ensemble with companions over the same columns into one ensemble of all trees.

Only the leaves of the first ensemble have scores in the result. Each companion keeps its scores of
its leaves (:class:`encoders.trees.ensemble.Companion`), from which separate leaf rows are encoded.
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
    """Return an ensemble of the trees of the first one and of all companions, in this order."""
    if not companions:
        return ensemble
    every = [ensemble, *(each.ensemble for each in companions)]
    first = starts(np.array([each.column.size for each in every]))[:-1]
    # If input types differ, thresholds become float64 such that every value takes the same way.
    single = all(each.dtype == SINGLE for each in every)
    dtype = SINGLE if single else DOUBLE

    def moved(field: str) -> IntArray:
        nodes = [(getattr(each, field), at) for each, at in zip(every, first, strict=True)]
        return frozen(np.concatenate([np.where(n >= 0, n + at, n) for n, at in nodes]))

    ways = [each.default_left for each in every if each.default_left is not None]
    nothing = np.zeros((sum(each.column.size for each in every[1:]), ensemble.n_sums))
    plain = replace(
        ensemble,
        root=moved("root"),
        column=frozen(np.concatenate([each.column for each in every])),
        last_left=frozen(np.concatenate([each.last_left_as(dtype) for each in every])),
        left=moved("left"),
        right=moved("right"),
        score=frozen(np.concatenate([ensemble.score, nothing])),
        dtype=dtype,
        default_left=frozen(np.concatenate(ways)) if ways else None,
        sets=None,
        unsure=_unsure(every),
        companions=tuple(
            replace(each, first=int(at)) for each, at in zip(companions, first[1:], strict=True)
        ),
    )
    return with_shared_sets(plain, every, first)


def _unsure(every: Sequence[Ensemble]) -> Mapping[int, Stretches] | None:
    """Return the union of the uncertain intervals of all ensembles, by column; None if empty."""
    by_column: dict[int, list[Stretches]] = {}
    for each in every:
        for column, stretches in (each.unsure or {}).items():
            by_column.setdefault(column, []).append(stretches)
    return {at: Stretches.of_all(parts) for at, parts in sorted(by_column.items())} or None
