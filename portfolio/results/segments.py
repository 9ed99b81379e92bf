"""Segments of rows: the values or bands of a column, and the burden of recourse in each of them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from encoders.core.arrays import IntArray
from encoders.core.errors import InputError
from encoders.query.features import is_missing
from portfolio.results.printing import short

MISSING = "missing"  # the segment of rows without a value
PROOFS = ("optimal", "infeasible")
SEPARATOR = ", "  # of the names in the column ``changed``
MOST_CHANGES = 5  # features per segment, those that change most often


@dataclass(frozen=True, eq=False)
class Segments:
    """Segment of each row.

    Attributes
    ----------
    names : tuple, values, or bands as text; bands ascend, and values begin with the most frequent.
    ends : tuple of (least, largest) value of each band, None for a value.
    of_row : int64 (n_rows,), index into the names.
    """

    names: tuple[Any, ...]
    ends: tuple[tuple[float, float] | None, ...]
    of_row: IntArray


@dataclass(frozen=True)
class Burden:
    """Numbers of a segment.

    Attributes
    ----------
    name : object, value of the column, or a band such as "19 to 27".
    least, largest : float or None, values between which a band lies; None for a value.
    rows : int, number of rows.
    adverse : int, number of rows that do not reach the target.
    answered, proved, infeasible : int, number of adverse rows with an answer, with a proof, and
        proved infeasible.
    median, p90 : float or None, median and 90th percentile of the costs of the rows with an answer.
    mean : float or None, mean cost of these rows and of the rows that already reach the target,
        whose cost is 0. It compares models that refuse different rows.
    changes : tuple of (feature, number of answers that change it), the most frequent ones.
    """

    name: Any
    least: float | None
    largest: float | None
    rows: int
    adverse: int
    answered: int
    proved: int
    infeasible: int
    median: float | None
    p90: float | None
    mean: float | None
    changes: tuple[tuple[str, int], ...]


def segments_of(values: Sequence[Any], bands: int | None = None) -> Segments:
    """Return the segments of values; numbers with more values than ``bands`` are put into bands.

    Bands have equal shares of the rows, as far as equal values permit.
    """
    present = [value for value in values if not is_missing(value)]
    numbers = all(isinstance(each, int | float | np.number) for each in present)
    numbers = numbers and not any(isinstance(each, bool | np.bool_) for each in present)
    if bands is not None and numbers and len(set(present)) > bands:
        return _bands(np.array([np.nan if is_missing(v) else float(v) for v in values]), bands)
    named = [MISSING if is_missing(value) else value for value in values]
    counts = pd.Series(named, dtype=object).value_counts()
    names = tuple(sorted(counts.index, key=lambda name: (-counts[name], str(name))))
    place = {name: at for at, name in enumerate(names)}
    of_row = np.array([place[name] for name in named], dtype=np.int64)
    return Segments(names, (None,) * len(names), of_row)


def _bands(values: Any, bands: int) -> Segments:
    """Return the segments of numbers, with one for missing values at the end."""
    missing = ~np.isfinite(values)
    limits = np.unique(np.quantile(values[~missing], np.arange(1, bands) / bands))
    places = np.where(missing, bands, np.searchsorted(limits, values))
    used, of_row = np.unique(places, return_inverse=True)
    members = [values[places == place] for place in used if place < bands]
    ends = [(float(each.min()), float(each.max())) for each in members]
    digits = next((n for n in range(4, 17) if _distinct(ends, n)), 17)
    names: list[Any] = [_named(*each, digits) for each in ends]
    lacking = [MISSING] if missing.any() else []
    all_ends = (*ends, *(None for _ in lacking))
    return Segments((*names, *lacking), all_ends, of_row.reshape(-1).astype(np.int64))


def _distinct(ends: Sequence[tuple[float, float]], digits: int) -> bool:
    """Return whether rounded bands do not overlap."""
    rounded = [float(short(value, digits)) for pair in ends for value in dict.fromkeys(pair)]
    return len(set(rounded)) == len(rounded)


def _named(least: float, largest: float, digits: int) -> str:
    low, high = short(least, digits), short(largest, digits)
    return low if least == largest else f"{low} to {high}"


def check_separator(columns: Iterable[Any]) -> None:
    """Raise InputError if a column name contains the separator of names in ``changed``."""
    if any(SEPARATOR in str(name) for name in columns):
        raise InputError(
            "column names must not contain ', ', which separates the names in changed. Rename the "
            "column."
        )


def change_counts(answered: pd.DataFrame) -> "pd.Series[int]":
    """Return in how many answers of a batch each feature changes, the most frequent first."""
    changed = answered["changed"].str.split(SEPARATOR).explode()
    counts: pd.Series[int] = changed[changed.fillna("") != ""].value_counts()
    return counts


def _changes_of(answered: pd.DataFrame, names: frozenset[str]) -> list[tuple[str, int]]:
    """Return features with the number of answers that change them, the most frequent first."""
    counts: Counter[str] = Counter()
    for text, answers in answered["changed"].value_counts().items():
        for name in _names_in(str(text), names):
            counts[name] += int(answers)
    return counts.most_common(MOST_CHANGES)


def _names_in(text: str, names: frozenset[str]) -> tuple[str, ...]:
    """Return the names of a text that joins them; a name may contain the separator."""
    if not text:
        return ()
    parts = text.split(SEPARATOR)
    readings: list[list[tuple[str, ...]]] = [[] for _ in parts] + [[()]]  # from each part on
    for start in reversed(range(len(parts))):
        ends = range(start + 1, len(parts) + 1)
        whole = [(SEPARATOR.join(parts[start:end]), end) for end in ends]
        matches = [(name, *rest) for name, end in whole if name in names for rest in readings[end]]
        readings[start] = matches[:2]  # two show that the text is ambiguous
    if len(readings[0]) != 1:
        raise InputError(f"the changed features {text!r} are ambiguous. Rename the columns.")
    return readings[0][0]


def burden_of(answers: pd.DataFrame, segments: Segments, features: Iterable[str]) -> list[Burden]:
    """Return the numbers of each segment from the table of :meth:`Explainer.explain_batch`.

    Rows that already reach the target have an answer without changes, and are not adverse. Neither
    are rows that could not be read.
    """
    names = frozenset(features)
    return [
        _burden(answers[segments.of_row == at], name, segments.ends[at], names)
        for at, name in enumerate(segments.names)
    ]


def _burden(
    frame: pd.DataFrame, name: Any, ends: tuple[float, float] | None, features: frozenset[str]
) -> Burden:
    """Return the numbers of the answers of a segment."""
    unchanged = (frame["changed"].fillna("") == "") & (frame["distance"] == 0)
    adverse = frame[~unchanged & (frame["stop_reason"] != "error")]
    answered = adverse[np.isfinite(adverse["distance"].to_numpy(np.float64))]
    costs = answered["distance"].to_numpy(np.float64)
    median, p90 = np.quantile(costs, (0.5, 0.9)).tolist() if costs.size else (None, None)
    least, largest = ends or (None, None)
    return Burden(
        name,
        least,
        largest,
        rows=len(frame),
        adverse=len(adverse),
        answered=len(answered),
        proved=int(adverse["status"].isin(PROOFS).sum()),
        infeasible=int((adverse["status"] == "infeasible").sum()),
        median=median,
        p90=p90,
        mean=float(costs.sum()) / count if (count := int(unchanged.sum()) + costs.size) else None,
        changes=tuple(_changes_of(answered, features)),
    )
