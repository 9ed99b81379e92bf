"""Base of links of regressors that predict a number at a place among sorted values of leaves."""

from typing import ClassVar, Self

from encoders.core.arrays import FloatArray, IntArray

Limit = tuple[FloatArray, float]  # weights of leaves, and their least sum


class OrderStatistic:
    """Link whose limits are rows of weights of leaves that are not their scores.

    Attributes
    ----------
    sufficient : whether leaves that keep the rows reach the limits, but for rounding.
    """

    kind: ClassVar[str]
    sufficient: ClassVar[bool] = True
    n_classes: ClassVar[int] = 1
    probable: ClassVar[bool] = False

    @property
    def raw(self) -> Self:
        """Link of the raw score, which is the prediction."""
        return self

    def of_output(self, n_sums: int, output: int) -> Self:
        """Return the link itself: a regressor has a single output."""
        del n_sums, output
        return self

    def sums(self, leaves: FloatArray) -> FloatArray:
        """Return the least and the largest prediction that rounding may lead to, (n_rows, 2).

        ``leaves`` are the scores of the active leaves, float64 (n_rows, n_trees, n_scores).
        """
        raise NotImplementedError

    def limits(self, sums: FloatArray, output: int, band: float) -> tuple[FloatArray, FloatArray]:
        """Return a lower and an upper bound on the library's output, float64 (n_rows,) each."""
        del output, band  # sums are the bounds already
        return sums[:, 0], sums[:, -1]

    def rows(
        self, score: FloatArray, tree_start: IntArray, low: float, high: float, sure: bool
    ) -> list[Limit]:
        """Return limits of sums of weights that every prediction between two numbers keeps.

        If ``sure``, and the rows are sufficient, leaves that keep them surely predict between them.
        """
        raise NotImplementedError

    def cut(
        self, score: FloatArray, tree_start: IntArray, leaves: IntArray, low: float, high: float
    ) -> list[Limit]:
        """Return limits that predictions between two numbers keep, and some leaves may not."""
        del score, tree_start, leaves, low, high
        return []
