"""Order of the rows of a batch in which neighbours can share an encoding."""

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from encoders.core.arrays import FloatArray
from encoders.core.errors import CounterfolioError
from encoders.query.admissible import resolve
from encoders.query.constraints import Constraint
from encoders.query.features import FeatureSpace

SOME = 50  # rows whose admissible values are compared


def alike_together(
    space: FeatureSpace, constraints: Sequence[Constraint], rows: Sequence[FloatArray | str]
) -> list[int]:
    """Return the positions of all rows, sorted by the features that limit what a row may become.

    An encoding depends on the admissible values of a row, see
    :mod:`encoders.formulation.encodings`. They vary with features that are fixed or may only
    increase, for example. Without such features rows keep their order.
    """
    readable = [at for at, row in enumerate(rows) if not isinstance(row, str)]
    values = space.values_of_rows(np.array([rows[at] for at in readable], dtype=np.float64))
    some = []
    for each in values[:SOME]:
        with suppress(CounterfolioError):  # the answer to the row reports it
            some.append(resolve(space, each, constraints)[0])
    varying = [at for at in range(len(space.features)) if len({each[at] for each in some}) > 1]
    if not varying:
        return list(range(len(rows)))
    keys = values[:, varying]
    fewest_last = np.argsort([-np.unique(key).size for key in keys.T], kind="stable")
    order = np.lexsort(keys.T[fewest_last])  # the last key is the first to compare
    unreadable = [at for at, row in enumerate(rows) if isinstance(row, str)]
    return unreadable + [readable[at] for at in order.tolist()]
