"""The user's own model object, and what it has said of some rows already."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.query.goal import Scale
from portfolio.model.native import NativeModel


@dataclass(frozen=True, eq=False)
class RememberedModel(NativeModel):
    """Asks the model only for what it has not said yet.

    Attributes
    ----------
    number : scale and output of the number that is known
    known : that number, by the bytes of a row
    """

    number: tuple[Scale, int] = ("probability", 0)
    known: Mapping[bytes, float] = field(default_factory=dict)

    def values(self, rows: FloatArray, scale: Scale, output: int) -> FloatArray:
        """See :class:`NativeModel`.

        Parameters
        ----------
        rows, scale, output : as in :class:`NativeModel`
        """
        said = [self.known.get(row.tobytes()) for row in rows]
        if (scale, output) != self.number or None in said:
            return super().values(rows, scale, output)
        return np.array(said, dtype=np.float64)


def remembering(
    native: NativeModel, rows: FloatArray, number: tuple[Scale, int]
) -> RememberedModel:
    """Ask for one number of several rows at once.

    Parameters
    ----------
    native : the model
    rows : float64 (n_rows, n_columns)
    number : scale and output of the number
    """
    values = native.values(rows, *number) if len(rows) else np.empty(0)
    known = {row.tobytes(): float(value) for row, value in zip(rows, values, strict=True)}
    own: dict[str, Any] = {each.name: getattr(native, each.name) for each in fields(NativeModel)}
    return RememberedModel(**own, number=number, known=known)
