"""Cross-validation folds: rows to train on and rows to test on."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from encoders.arrays import BoolArray, IntArray
from encoders.close_names import close_names
from encoders.errors import InputError
from selector.case import NAMES
from selector.learning.examples import Examples, TextArray

DATA_SET, TIME = "data-set", "time"
# Hold-out schemes by name, with the plural that error messages use.
LEFT_OUT: Mapping[str, str] = MappingProxyType(
    {
        DATA_SET: "data sets",
        "question-type": "types of questions",
        "norm": "norms",
        TIME: "points in time",
    }
)
MOST_FOLDS = 40  # each fold trains once; if there are more groups, they are merged
BLOCKS = 5  # blocks of equal size in time order; the first one is only trained on


@dataclass(frozen=True, eq=False)
class Fold:
    """A split of rows into training and test rows.

    Attributes
    ----------
    train, test : masks, bool (n_rows,) each, without common rows
    """

    train: BoolArray
    test: BoolArray


def folds_of(examples: Examples, by: str = DATA_SET, rows: BoolArray | None = None) -> list[Fold]:
    """Return folds that leave out one group each, or all later rows if ``by`` is "time".

    In time order rows are cut into five blocks. Each block but the first is tested with what was
    trained on all older rows, of both metrics.
    """
    check_left_out([by])
    judged = np.ones(len(examples), dtype=bool) if rows is None else rows
    if by == TIME:
        folds = _in_time(examples, judged)
    else:
        labels = _labels(examples, by, judged)
        names = np.unique(labels[judged]).tolist()
        folds = [Fold(labels != name, judged & (labels == name)) for name in names]
        folds = folds if len(names) > 1 else []
    # Baselines are trained on the judged rows of the other folds, so these must exist.
    folds = [fold for fold in folds if (fold.train & judged).any()]
    if not folds:
        raise InputError(
            f"Evaluation by {by!r} leaves {LEFT_OUT[by]} out, but the logs have fewer than two of "
            "them. Add logs, or use another --leave-out."
        )
    return folds


def check_left_out(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of hold-out schemes; raise InputError if one is unknown."""
    schemes = tuple(names)
    for name in schemes:
        if name not in LEFT_OUT:
            raise InputError(
                f"unknown hold-out scheme {name!r}.{close_names(name, LEFT_OUT)} Use one of "
                f"{', '.join(LEFT_OUT)}."
            )
    return schemes


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
    """Return a bin for each group so that bins get about equal numbers of rows."""
    sizes = np.zeros(bins, dtype=np.int64)
    bin_of_group = [0] * len(counts)
    for group in np.argsort(-counts, kind="stable").tolist():
        bin_of_group[group] = int(sizes.argmin())
        sizes[bin_of_group[group]] += counts[group]
    return bin_of_group


def _in_time(examples: Examples, judged: BoolArray) -> list[Fold]:
    order = np.flatnonzero(judged)[np.argsort(examples.time[judged], kind="stable")]
    folds = []
    for block in np.array_split(order, BLOCKS)[1:]:
        if not block.size:
            continue
        test = np.zeros(len(examples), dtype=bool)
        test[block] = True
        older = np.asarray(examples.time < examples.time[block[0]])
        if older.any():
            folds.append(Fold(older & ~test, test))
    return folds
