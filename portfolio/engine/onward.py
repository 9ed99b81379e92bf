"""Numbers of an answer that may be exceeded, shown as "at least" and "at most"."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.query.related import Related
from encoders.trees.ensemble import Ensemble
from portfolio.results.change import Change

Spans = Mapping[int, tuple[float, float]]  # feature -> (its number, the last admissible one)


def with_onward(
    changed: Sequence[Change],
    row: FloatArray,
    query: Query,
    space: FeatureSpace,
    ensemble: Ensemble,
    rounded: bool = False,
) -> tuple[Change, ...]:
    """Return the changes of an answer, marked where numbers may be exceeded.

    The trees have to treat slightly larger changes alike. Bounds and relations have to admit
    every number beyond, also if several numbers are exceeded.
    """
    spans: dict[int, tuple[float, float]] = {}
    limited, moved = False, {change.feature for change in changed}
    for index, feature in enumerate(space.features):
        if feature.name not in moved or not query.any_number(index, feature):
            continue
        was = feature.without_code(float(query.row[feature.column]))
        number = feature.without_code(float(row[feature.column]))
        if was != was or number != number:
            continue
        limits = query.admissible[index].lower, query.admissible[index].upper
        first, last = limits if number > was else limits[::-1]
        crosses_code = any(min(number, last) <= code <= max(number, last) for code in feature.codes)
        if number != last and not crosses_code:
            spans[index] = number, last
            limited |= number == first  # may be the last number of its cell
    if query.related is not None:
        spans = _related(query.related, space.values(row), spans)
    if rounded or limited or query.related is not None:
        spans = _alike(row, spans, space, ensemble)
    if not spans:
        return tuple(changed)
    names = {space.features[index].name for index in spans}
    return tuple(replace(each, onward=each.feature in names) for each in changed)


def _related(related: Related, after: FloatArray, spans: Spans) -> dict[int, tuple[float, float]]:
    """Return the spans that relations admit, each by itself and all at once."""
    alone = {
        index: span
        for index, span in spans.items()
        if not related.broken_within(after, {index: span})
    }
    together = related.broken_within(after, alone)
    return {index: span for index, span in alone.items() if index not in together}


def _alike(
    row: FloatArray, spans: Spans, space: FeatureSpace, ensemble: Ensemble
) -> dict[int, tuple[float, float]]:
    """Return the spans whose next number, as the model reads it, lies in the same leaves."""
    if not spans:
        return {}
    rows = np.repeat(row[None, :], len(spans) + 1, axis=0)
    for at, (index, (number, last)) in enumerate(spans.items(), 1):
        read = ensemble.dtype.type(number)
        rows[at, space.features[index].column] = np.nextafter(read, ensemble.dtype.type(last))
    leaves = ensemble.leaves(rows)
    same = (leaves[1:] == leaves[0]).all(axis=1)
    return {index: span for (index, span), stays in zip(spans.items(), same, strict=True) if stays}
