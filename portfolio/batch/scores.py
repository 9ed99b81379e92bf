"""Scores of a whole batch, computed by the model in two calls per target."""

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
    """Return :attr:`Result.score_before` and :attr:`Result.score` of each row, float64 (n_rows,).

    They are computed from rows and answers, because records do not contain them.
    """
    before, after = np.full(len(targets), np.nan), np.full(len(targets), np.nan)
    wanted = wanted_of(model, asked)
    places: dict[Any, list[int]] = {}
    for place, (target, query) in enumerate(zip(targets, queries, strict=True)):
        if target is not None and not isinstance(query, str):
            places.setdefault(target, []).append(place)
    for target, of_target in places.items():
        try:
            number = own_number(model, target if wanted is None else wanted)
        except InputError:
            continue  # a label that JSON does not preserve
        assert number is not None
        rows = np.array([queries[place] for place in of_target], dtype=np.float64)
        before[of_target] = model.native.values(rows, *number)
        with_answer = [place for place in of_target if answers[place] is not None]
        if with_answer:
            rows = np.array([answers[place] for place in with_answer], dtype=np.float64)
            after[with_answer] = model.native.values(rows, *number)
    return before, after
