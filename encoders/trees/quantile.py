"""Link of regressors that predict a quantile of the samples in their leaves."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, owners
from encoders.trees.arithmetic import DOUBLE
from encoders.trees.order_statistic import Limit, OrderStatistic

PLACE = 32.0  # unit roundoffs per sample by which the library's place in the order may differ
VALUE = 16.0  # unit roundoffs of an interpolation between two samples
WIDER = 1.0 + 1e-9  # factor that covers the rounding of a weight
EMPTY = 0  # number of a leaf without samples, such as those of companions


@dataclass(frozen=True, eq=False)
class Quantile(OrderStatistic):
    """Quantile of the samples of all active leaves, with linear interpolation.

    The score of a leaf is its number. With n samples in the active leaves, sorted and counted from
    0, the quantile is at place ``share * (n - 1)``. Between two places it is interpolated.

    Attributes
    ----------
    share : share of samples below the quantile, from 0 to 1.
    values : samples leaf by leaf, sorted within each leaf, float64 (n_samples,).
    start : first sample of each leaf, and the end, int64 (n_leaves + 1,). Leaf 0 has no samples.
    most : largest number of samples in the active leaves.
    reach : smallest and largest target of the training data.
    """

    share: float
    values: FloatArray
    start: IntArray
    most: int
    reach: tuple[float, float]
    kind: ClassVar[str] = "quantile"
    sufficient: ClassVar[bool] = False

    @cached_property
    def sizes(self) -> IntArray:
        """Number of samples of each leaf, int64 (n_leaves,)."""
        return np.diff(self.start)

    @cached_property
    def error(self) -> float:
        """Bound on the difference between the library's prediction and the exact quantile."""
        low, high = self.reach
        places = PLACE * DOUBLE * self.most * (high - low)
        return places + VALUE * DOUBLE * max(abs(low), abs(high))

    @cached_property
    def _levels(self) -> tuple[FloatArray, IntArray]:
        """Return the distinct samples, and leaf by leaf the sorted number of each sample's level.

        A leaf's number times the number of levels is added, so that the latter are in order.
        """
        levels, level = np.unique(self.values, return_inverse=True)
        return levels, owners(self.start) * levels.size + level

    def places(self, totals: IntArray, share: float) -> tuple[IntArray, FloatArray]:
        """Return the lower place for numbers of samples, and the distance to it, below 1."""
        place = share * (totals - 1.0)
        whole = np.rint(place)
        near = np.abs(place - whole) <= PLACE / 4 * DOUBLE * self.most
        place = np.where(near, whole, place)
        lower = np.floor(place)
        return lower.astype(np.int64), place - lower

    def sums(self, leaves: FloatArray) -> FloatArray:
        """Return the least and the largest quantile that rounding may lead to, (n_rows, 2)."""
        leaf = leaves[:, :, 0].astype(np.int64)
        place, distance = self.places(self.sizes[leaf].sum(axis=1), self.share)
        lower, upper = self._samples_at(leaf, place)
        value = lower + distance * (upper - lower)
        return np.column_stack([value - self.error, value + self.error])

    def _samples_at(self, leaf: IntArray, place: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the samples at a place and at the next one, float64 (n_rows,) each.

        They are found by bisection over the distinct samples. ``leaf`` is int64 (n_rows, n_trees).
        """
        levels, key = self._levels
        low, high = np.zeros(len(leaf), np.int64), np.full(len(leaf), levels.size - 1)
        while (low < high).any():
            middle = (low + high) // 2
            enough = self._end(leaf, middle)[1] > place
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        end, count = self._end(leaf, low)
        inside = end < self.start[leaf + 1]
        above = key[np.where(inside, end, 0)] - leaf * levels.size
        following = np.where(inside, above, levels.size - 1).min(axis=1)
        upper = np.where(count > place + 1, low, following)
        return levels[low], levels[np.maximum(low, upper)]

    def _end(self, leaf: IntArray, level: IntArray) -> tuple[IntArray, IntArray]:
        """Return where a level's samples end in each leaf, and how many there are up to it."""
        levels, key = self._levels
        if self.sizes.max() == 1:
            first = self.start[leaf]
            some = self.sizes[leaf] == 1
            first_level = key[np.where(some, first, 0)] - leaf * levels.size
            end = first + (some & (first_level <= level[:, None]))
        else:
            end = np.searchsorted(key, leaf * levels.size + level[:, None], side="right")
        return end, (end - self.start[leaf]).sum(axis=1)

    def rows(
        self, score: FloatArray, tree_start: IntArray, low: float, high: float, sure: bool
    ) -> list[Limit]:
        """Return limits of sums of weights that every quantile between two numbers keeps.

        One row states that the lower one of two interpolated samples is at most the upper limit.
        Another one states that the upper sample is, too, or that the lower one is small enough.
        Likewise for the lower limit.
        """
        del sure
        return [row for side in self._sides(score, tree_start, low, high) for row in side.rows()]

    def cut(
        self, score: FloatArray, tree_start: IntArray, leaves: IntArray, low: float, high: float
    ) -> list[Limit]:
        """Return rows that quantiles between two numbers keep, near the samples of some leaves."""
        some = [side.cut(leaves) for side in self._sides(score, tree_start, low, high)]
        return [row for row in some if row is not None]

    def _sides(
        self, score: FloatArray, tree_start: IntArray, low: float, high: float
    ) -> list["_QuantileLimit"]:
        """Return the limits that are finite."""
        leaf = score[:, 0].astype(np.int64)
        sides = ((-1.0, 1.0 - self.share, -low), (1.0, self.share, high))
        return [
            _QuantileLimit(self, sign, share, limit + self.error, leaf, tree_start)
            for sign, share, limit in sides
            if limit < np.inf
        ]


@dataclass(frozen=True, eq=False)
class _QuantileLimit:
    """Limit "quantile at most a number" of samples, or of the negated samples.

    With n samples, of which c are at most x, the lead of x is ``c - share * (n - 1)``, a sum of
    weights of leaves. Let d be the distance of the quantile to its lower place. The lower sample is
    at most x if the lead is at least 1 - d. The upper one is if the lead is at least 2 - d.

    Attributes
    ----------
    quantile : the link.
    sign : 1.0, or -1.0 for negated samples.
    share : share of signed samples below the quantile.
    limit : number that the quantile of signed samples does not exceed, with its rounding.
    leaf : number of each leaf of the problem, int64 (n_leaves,).
    tree_start : first leaf of each tree, int64 (n_trees + 1,).
    """

    quantile: Quantile
    sign: float
    share: float
    limit: float
    leaf: IntArray
    tree_start: IntArray

    @cached_property
    def distances(self) -> FloatArray:
        """Distances to the lower place that are possible, sorted, float64 (n_distances,)."""
        sizes, first = self.quantile.sizes[self.leaf], self.tree_start[:-1]
        least = int(np.minimum.reduceat(sizes, first).sum())
        most = int(np.maximum.reduceat(sizes, first).sum())
        totals = np.arange(max(1, least), max(1, most) + 1)
        return np.unique(self.quantile.places(totals, self.share)[1])

    @property
    def least(self) -> float:
        """The least lead with which the lower sample may be small enough."""
        return 1.0 - float(self.distances[-1])

    @property
    def slack(self) -> float:
        """Bound on the rounding of a lead, and of the distances."""
        return PLACE * DOUBLE * (self.quantile.most + 1.0)

    def rows(self) -> list[Limit]:
        """Return the rows of the limit."""
        first = self._lead(self.quantile.values * self.sign <= self.limit)
        rows = [(first, self.least - self.share - self.slack)]
        signed = self.quantile.values * self.sign
        above = signed[signed > self.limit].min(initial=np.inf)
        second = self._either(float(above), float(self.distances[-1]))
        return rows if second is None else [*rows, second]

    def cut(self, leaves: IntArray) -> Limit | None:
        """Return a row for the two samples that some leaves interpolate, None if this is enough."""
        start = self.quantile.start
        parts = [self.quantile.values[start[at] : start[at + 1]] for at in self.leaf[leaves]]
        signed = np.sort(np.concatenate(parts) * self.sign)
        [place], [distance] = self.quantile.places(np.array([signed.size]), self.share)
        if place + 1 >= signed.size or not signed[place] <= self.limit < signed[place + 1]:
            return None
        return self._either(float(signed[place + 1]), float(distance))

    def _lead(self, counted: BoolArray) -> FloatArray:
        """Return the weights of leaves for the lead of some samples, without its constant."""
        start = self.quantile.start
        before = np.concatenate([[0], np.cumsum(counted)])
        weight: FloatArray = np.diff(before[start]) - self.share * self.quantile.sizes
        return weight[self.leaf]

    def _either(self, above: float, distance: float) -> Limit | None:
        """Return a row: the upper sample is below ``above``, or the lower one at most ``enough``.

        If the upper sample reaches ``above`` at this distance or a larger one, the limit requires
        the latter. Let x be the lead of samples below ``above``, y that of ``enough``, and m the
        least lead. Answers have ``x >= m``. They also have ``x >= m + step``, which smaller
        distances imply, or ``y >= m``. If f is large enough, ``f * (x - m) + y >= m`` follows.
        """
        low, high = self.quantile.reach
        limit = self.limit + self.slack * (high - low)  # distances within the slack are equal
        if distance == 0.0 or not limit < above < np.inf:
            return None
        step, smaller = 1.0, self.distances[self.distances < distance - self.slack]
        if smaller.size:
            step = min(step, float(self.distances[-1] - smaller[-1])) - self.slack
        enough = (limit - distance * above) / (1.0 - distance)
        size = abs(limit) + abs(above)
        enough += VALUE * DOUBLE * size / (1.0 - distance)
        signed = self.quantile.values * self.sign
        x, y = self._lead(signed < above), self._lead(signed <= enough)
        worst = float(np.minimum.reduceat(y, self.tree_start[:-1]).sum()) + self.share
        if step <= 0.0 or worst >= self.least:
            return None
        factor = (self.least - worst + self.slack) / step * WIDER
        needed = (1.0 + factor) * (self.least - self.share - self.slack)
        scale = 1.0 / (1.0 + factor)
        return (factor * x + y) * scale, needed * scale
