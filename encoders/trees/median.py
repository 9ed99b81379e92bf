"""Link of regressors that predict the weighted median of their trees."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.trees.order_statistic import Limit, OrderStatistic

VALUE, WEIGHT = 0, 1  # columns of leaf scores


@dataclass(frozen=True, eq=False)
class Median(OrderStatistic):
    """Weighted median of values of leaves.

    It is the least value such that the trees with at most this value have half of the weight. A
    leaf has two scores: its value, and the weight of its tree. Leaves of companions have weight 0.

    Attributes
    ----------
    half : half of the weight of all trees.
    error : bound on the rounding of the library's sums of weights, and of ours.
    """

    half: float
    error: float
    kind: ClassVar[str] = "median"

    def sums(self, leaves: FloatArray) -> FloatArray:
        """Return the least and the largest median that rounding may lead to, float64 (n_rows, 2).

        ``leaves`` are the scores of the active leaves, float64 (n_rows, n_trees, 2).
        """
        order = np.argsort(leaves[:, :, VALUE], axis=1)
        ordered = np.take_along_axis(leaves, order[:, :, None], axis=1)
        weight = ordered[:, :, WEIGHT].cumsum(axis=1)
        places = [(weight >= self.half + way * self.error).argmax(axis=1) for way in (-1.0, 1.0)]
        row = np.arange(len(leaves))
        return np.column_stack([ordered[row, place, VALUE] for place in places])

    def rows(
        self, score: FloatArray, tree_start: IntArray, low: float, high: float, sure: bool
    ) -> list[Limit]:
        """Return weights of leaves and their least sum, for each of the limits that is finite.

        The median may be (surely is, if ``sure``) at least ``low`` if the trees with at least this
        value have half of the weight. Likewise for ``high``.
        """
        del tree_start
        needed = self.half + (self.error if sure else -self.error)
        values, sides = score[:, VALUE], []
        if low > -np.inf:
            sides.append(values >= low)
        if high < np.inf:
            sides.append(values <= high)
        return [(np.where(side, score[:, WEIGHT], 0.0), needed) for side in sides]
