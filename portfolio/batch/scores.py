"""The model's own numbers of a whole batch: two calls, however many rows there are."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.errors import InputError
from portfolio.goals import own_number, wanted_of
from portfolio.model.explained_model import ExplainedModel


def batch_scores(
    model: ExplainedModel,
    asked: Any,
    targets: Sequence[Any],
    queries: Sequence[FloatArray | str],
    answers: Sequence[FloatArray | None],
) -> tuple[FloatArray, FloatArray]:
    """What :attr:`Result.score_before` and :attr:`Result.score` say of each row.

    Taken from rows and answers alone, so that answers which were recorded without them have them.
    """
    before, after = np.full(len(targets), np.nan), np.full(len(targets), np.nan)
    wanted = wanted_of(model, asked)
    places: dict[Any, list[int]] = {}
    for place, (target, query) in enumerate(zip(targets, queries, strict=True)):
        if target is not None and not isinstance(query, str):
            places.setdefault(target, []).append(place)
    for target, own in places.items():
        try:
            number = own_number(model, target if wanted is None else wanted)
        except InputError:
            continue  # a label that a file could not hold as it was
        assert number is not None
        rows = np.array([queries[place] for place in own], dtype=np.float64)
        before[own] = model.native.values(rows, *number)
        found = [place for place in own if answers[place] is not None]
        if found:
            rows = np.array([answers[place] for place in found], dtype=np.float64)
            after[found] = model.native.values(rows, *number)
    return before, after
