"""Which rows are learned from and which ones judge what was learned."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from encoders.arrays import BoolArray, IntArray
from encoders.errors import InputError
from selector.case import NAMES
from selector.learning.examples import Examples, TextArray

DATA_SET, TIME = "data-set", "time"
# What is left out as a whole, by the name of the protocol, and what error messages call it.
LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        DATA_SET: "data sets",
        "question-type": "types of questions",
        "norm": "norms",
        TIME: "points in time",
    }
)
MOST_FOLDS = 40  # each learns anew; more groups than that are joined
BLOCKS = 5  # of equal numbers of rows in time order; the first one is learned from only


@dataclass(frozen=True, eq=False)
class Fold:
    """Learn from some rows, judge on others.

    Attributes
    ----------
    train, test : bool (n_rows,) each; no row is both
    """

    train: BoolArray
    test: BoolArray


def folds_of(examples: Examples, by: str = DATA_SET, rows: BoolArray | None = None) -> list[Fold]:
    """Folds that leave out one group after the other, or all that came later.

    In time order rows are cut into five blocks, and each but the first is judged by what was
    learned from everything older, whatever its metric.
    """
    check_left_out([by])
    judged = np.ones(len(examples), dtype=bool) if rows is None else rows
    if by == TIME:
        found = _in_time(examples, judged)
    else:
        labels = _labels(examples, by, judged)
        names = np.unique(labels[judged]).tolist()
        found = [Fold(labels != name, judged & (labels == name)) for name in names]
        found = found if len(names) > 1 else []
    # Baselines learn from what is judged elsewhere.
    found = [fold for fold in found if (fold.train & judged).any()]
    if not found:
        raise InputError(
            f"evaluation leaves {LEFT_OUT[by]} out: it needs logs of at least two of them."
        )
    return found


def check_left_out(names: Iterable[str]) -> tuple[str, ...]:
    """Names of protocols, or InputError if there is no such one."""
    found = tuple(names)
    for name in found:
        if name not in LEFT_OUT:
            raise InputError(f"{name!r} can't be left out; known are {', '.join(LEFT_OUT)}.")
    return found


def _labels(examples: Examples, by: str, judged: BoolArray) -> TextArray:
    if by == DATA_SET:
        return examples.groups
    if by == "norm":
        return np.asarray(examples.values[:, NAMES.index("norm")].astype(np.str_))
    names, place = np.unique(examples.questions[judged], return_inverse=True)
    if len(names) <= MOST_FOLDS:
        return examples.questions
    joined = dict(zip(names.tolist(), joined_evenly(np.bincount(place), MOST_FOLDS), strict=True))
    return np.array([str(joined.get(name, -1)) for name in examples.questions.tolist()])


def joined_evenly(counts: IntArray, bins: int) -> list[int]:
    """A bin for each group, such that bins get about equal numbers of rows."""
    sizes = np.zeros(bins, dtype=np.int64)
    found = [0] * len(counts)
    for group in np.argsort(-counts, kind="stable").tolist():
        found[group] = int(sizes.argmin())
        sizes[found[group]] += counts[group]
    return found


def _in_time(examples: Examples, judged: BoolArray) -> list[Fold]:
    order = np.flatnonzero(judged)[np.argsort(examples.time[judged], kind="stable")]
    found = []
    for block in np.array_split(order, BLOCKS)[1:]:
        if not block.size:
            continue
        test = np.zeros(len(examples), dtype=bool)
        test[block] = True
        older = np.asarray(examples.time < examples.time[block[0]])
        if older.any():
            found.append(Fold(older & ~test, test))
    return found
