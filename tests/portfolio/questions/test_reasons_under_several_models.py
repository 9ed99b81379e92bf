"""Reasons, regions and radii under several models of any kind, against brute force over tables."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest

from tests.portfolio.model.test_companions import also_pipelines, also_tables
from tests.support.brute_tables import choices_of, column_of, missing
from tests.support.parts import few_and_large

MOST = 40_000  # rows of a brute force


def every_row(parts, row, X):
    """All combinations of values on both sides of every cut, and which features differ."""
    own = {part.name: row[part.name] for part in parts}
    choices = [[value for value, _ in choices_of(part, own[part.name])] for part in parts]
    for part, values in zip(parts, choices, strict=True):
        if X[part.name].isna().any() and not any(map(missing, values)):
            values.append(np.nan)  # what may be missing may be so in any row
    if math.prod(map(len, choices)) > MOST:
        return None
    combos = list(itertools.product(*choices))
    held = {
        part.name: column_of([combo[at] for combo in combos], X[part.name].dtype)
        for at, part in enumerate(parts)
    }
    apart = [
        [
            not (v == own[p.name] or (missing(v) and missing(own[p.name])))
            for v, p in zip(combo, parts, strict=True)
        ]
        for combo in combos
    ]
    return pd.DataFrame(held)[list(X.columns)], np.array(apart)


def outcome(kind, seed):
    case = kind(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agreed = np.flatnonzero(case.accepted(case.X))
        if not agreed.size:
            return "none"
        place = int(np.random.default_rng(seed).choice(agreed))
        found = every_row(case.parts, case.X.iloc[place], case.X)
        if found is None:
            return "too many"
        rows, apart = found
        right = np.asarray(case.accepted(rows))
    x, where = case.X.iloc[[place]], (kind.__name__, seed)
    names = [part.name for part in case.parts]
    order = [names.index(f.name) for f in case.explainer.features.features]
    kept = set(order)
    for feature in order:
        if right[~apart[:, sorted(kept - {feature})].any(axis=1)].all():
            kept -= {feature}
    reasons = case.explainer.reasons(x)
    assert reasons.status == "optimal" and reasons.holds, (where, reasons)
    assert set(reasons.features) == {names[i] for i in kept}, (where, reasons)
    region = case.explainer.region(x)
    assert region.status == "optimal", (where, region)
    inside = np.all([holds(region[name], x[name].iloc[0], rows[name]) for name in names], axis=0)
    assert inside.any() and right[inside].all(), (where, region)
    return "asked"


def holds(span, own, values):
    """Which values a span holds; labels that are numbers are told as text."""
    if missing(own):
        return [missing(value) for value in values]
    told = set(map(str, span.labels))
    return [not missing(v) and (word(v) in told if told else span.holds(v)) for v in values]


def word(value):
    return str(value) if isinstance(value, str | bool | np.bool_) else str(int(value))


@pytest.mark.parametrize("part", few_and_large(1, 30))
def test_reasons_and_regions_equal_brute_force(part):
    if part == 0:
        assert outcome(also_tables, 1) == "asked"
        return
    seeds = range(4 * part, 4 * part + 4)
    seen = [outcome(kind, seed) for kind in (also_tables, also_pipelines) for seed in seeds]
    assert "asked" in seen, seen
