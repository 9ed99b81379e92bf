"""Groups of rows around one row each, and upper bounds on the distances between groups."""

from dataclasses import dataclass, field

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray
from portfolio.questions.several.ruler import Ruler

MOST_GROUPS = 4_000  # their distance matrix takes 128 MiB


@dataclass(eq=False)
class RowGroups:
    """Partition of rows into groups; it starts with a single group.

    Attributes
    ----------
    ruler : Ruler, distance between rows.
    values : float64 (n_rows, n_features).
    member : int64 (n_rows,), group of each row.
    centre : list of int, central row of each group.
    reach : list of float, largest distance of a group's rows from its centre.
    """

    ruler: Ruler
    values: FloatArray
    member: IntArray = field(init=False)
    centre: list[int] = field(init=False)
    reach: list[float] = field(init=False)
    _away: FloatArray = field(init=False)  # distance of each row from the centre of its group
    _gap: FloatArray = field(init=False)  # distances between centres, with spare capacity

    def __post_init__(self) -> None:
        self.member = np.zeros(len(self.values), dtype=np.int64)
        self._away = self._from(np.arange(len(self.values)), 0)
        self.centre, self.reach = [0], [float(self._away.max())]
        self._gap = np.zeros((64, 64))

    @property
    def full(self) -> bool:
        """True if the largest number of groups is reached."""
        return len(self.centre) >= MOST_GROUPS

    def farther(self, apart: float) -> BoolArray:
        """Return which groups may have rows farther apart than this, bool (n_groups, n_groups)."""
        size, reach = len(self.centre), np.array(self.reach)
        most = self._gap[:size, :size] + reach[:, None] + reach[None, :]
        joined: BoolArray = most > apart
        np.fill_diagonal(joined, False)
        return joined

    def split(self, group: int) -> None:
        """Move the row farthest from the centre, and all rows nearer to it, to a new group."""
        rows = np.flatnonzero(self.member == group)
        new, size = int(rows[self._away[rows].argmax()]), len(self.centre)
        away = self._from(rows, new)
        nearer = away < self._away[rows]
        self.member[rows[nearer]], self._away[rows[nearer]] = size, away[nearer]
        self.centre.append(new)
        self.reach[group] = float(self._away[rows[~nearer]].max())
        self.reach.append(float(away[nearer].max()))
        if size == len(self._gap):
            self._gap = np.pad(self._gap, (0, size))
        to_centres = self.ruler.between(self.values[[new]], self.values[self.centre])[0]
        self._gap[size, : size + 1] = self._gap[: size + 1, size] = to_centres

    def _from(self, rows: IntArray, row: int) -> FloatArray:
        return self.ruler.between(self.values[rows], self.values[[row]])[:, 0]
