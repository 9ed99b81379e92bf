"""Tree ensembles as flat arrays, with every split in one canonical form."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, read_only
from encoders.trees.arithmetic import Link, Rounding
from encoders.trees.blend import Blend
from encoders.trees.floats import Stretches, last_read_as
from encoders.trees.order_statistic import OrderStatistic
from encoders.trees.set_splits import SetSplits, no_sets

if TYPE_CHECKING:  # encoders.trees.ways imports numba, which is slow
    from encoders.trees.ways import Splits

CHUNK = 2**20  # rows times trees that are scored at once, which limits memory
LARGE = 100_000  # nodes from which compiling the faster walk pays off
LAID_OUT = 4  # nodes that take as long to lay out as one row takes to walk down a tree


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Tree ensemble: the nodes of all trees, concatenated, with global node ids.

    A split sends a value ``v`` of the model's input type left iff ``v <= last_left``. Libraries
    differ in ``<`` or ``<=`` and in the type of the threshold. The largest representable value that
    goes left describes all of these splits exactly.

    Attributes
    ----------
    n_columns : number of columns of the model's input.
    root : root node of each tree, int64 (n_trees,).
    column : column of each split, int64 (n_nodes,), -1 at a leaf.
    last_left : largest value of type ``dtype`` that goes left, float64 (n_nodes,). -inf if none.
    left, right : child nodes, int64 (n_nodes,), -1 at a leaf.
    score : contribution of each leaf to each sum, float64 (n_nodes, n_sums). There is one sum per
        class, unless ``link`` blends several. For an order statistic see its class.
    bias : constant summand of each sum, float64 (n_sums,).
    dtype : type to which the model rounds its input, float32 or float64.
    margin_unit : leaf score per unit of the user's score. This is the number of trees if the model
        averages probabilities, and 1 if it sums or votes.
    votes : whether every leaf holds one vote, so that scores are whole numbers.
    rounding : rounding errors of the model's decision, compared with exact sums. It follows from
        the other fields and the library, so fingerprints exclude it.
    default_left : whether a missing value goes left, bool (n_nodes,). None if no value may be
        missing.
    sets : splits that send a set of values left, None without any. Their ``last_left`` is -inf.
    link : function from the sums to the library's outputs. Decisions of classifiers do not depend
        on it, so their fingerprints exclude it.
    regression : whether the model is a regressor, with a prediction as its only sum.
    unsure : intervals of numbers next to a split whose way is unknown, by column.
    companions : other ensembles whose trees are among these and add nothing to the sums.
    """

    n_columns: int
    root: IntArray
    column: IntArray
    last_left: FloatArray
    left: IntArray
    right: IntArray
    score: FloatArray
    bias: FloatArray
    dtype: np.dtype[Any]
    margin_unit: float
    votes: bool
    rounding: Rounding = field(default=Rounding(), metadata={"fingerprint": False})
    default_left: BoolArray | None = None
    sets: SetSplits | None = None
    link: Link | Blend | OrderStatistic = field(default=Link(), metadata={"fingerprint": False})
    regression: bool = field(default=False, metadata={"fingerprint": False})
    unsure: Mapping[int, Stretches] | None = None
    companions: tuple["Companion", ...] = ()

    @property
    def n_classes(self) -> int:
        """Number of classes, two for a model with one raw score; 1 for a regressor."""
        return self.n_sums if isinstance(self.link, Link) else self.link.n_classes

    @property
    def n_sums(self) -> int:
        """Number of sums of leaves: one per class, or several per class in a blend."""
        return int(self.bias.size)

    def outputs(self, sums: FloatArray) -> FloatArray:
        """Return the numbers whose largest decides the class, float64 (n_rows, n_classes)."""
        return sums[:, : self.n_classes] if self.blend is None else self.blend.outputs(sums)

    @property
    def blend(self) -> Blend | None:
        """Blend that computes the deciding numbers from the sums; None if the sums decide."""
        return self.link if isinstance(self.link, Blend) and self.link.decides else None

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return the sums of leaf scores and bias, float64 (n_rows, n_sums)."""
        step = max(1, CHUNK // self.root.size)
        parts = [self._scores(rows[at : at + step]) for at in range(0, rows.shape[0], step)]
        return np.concatenate(parts)

    def last_left_as(self, dtype: np.dtype[Any]) -> FloatArray:
        """Return ``last_left`` for input of another type, which rounds less, float64 (n_nodes,)."""
        if dtype == self.dtype:
            return self.last_left
        edges = last_read_as(self.last_left, self.dtype)
        # Where all numbers go left, those that the library rejects may as well.
        every = self.last_left == np.finfo(self.dtype).max
        return np.where(every, np.finfo(dtype).max, edges)

    def _scores(self, rows: FloatArray) -> FloatArray:
        return self.sums(self.leaves(rows))

    def sums(self, leaves: IntArray) -> FloatArray:
        """Return the sums of the scores of leaves and bias, float64 (n_rows, n_sums).

        For an order statistic, return the limits of :meth:`OrderStatistic.sums`.
        """
        from encoders.trees.ways import add_up

        if isinstance(self.link, OrderStatistic):
            return self.link.sums(self.score[leaves])
        total: FloatArray = self.bias + add_up(read_only(self.score), read_only(leaves.T))
        return total

    def leaves(self, rows: FloatArray) -> IntArray:
        """Return the leaf node of each tree for float64 rows, int64 (n_rows, n_trees)."""
        from encoders.trees.ways import walk_down, walk_down_laid_out

        values = rows.astype(self.dtype).astype(np.float64)
        cells = self._cells(values)
        arrays = (self.splits, read_only(self.root), read_only(values))
        plain = self.default_left is None and cells.size == 0
        many = len(rows) * self.root.size * LAID_OUT >= self.column.size >= LARGE
        ends: IntArray = (
            walk_down_laid_out(*arrays) if plain and many else walk_down(*arrays, read_only(cells))
        )
        return ends.T

    def turn_right(self, node: IntArray, values: FloatArray, row: IntArray) -> BoolArray:
        """Return whether rows go right at nodes, bool (n,)."""
        from encoders.trees.ways import turn_right

        column = self.column[node]
        cells = self._cells(values)
        cell = cells[row, column] if cells.size else np.zeros_like(node)
        arrays = (node, values[row, column], cell)
        right: BoolArray = turn_right(self.splits, *(read_only(part) for part in arrays))
        return right

    @property
    def splits(self) -> "Splits":
        """Splits of all nodes as plain arrays, for compiled code."""
        from encoders.trees.ways import splits_of

        children = (self.left, self.right)
        return splits_of(self.column, self.last_left, children, self.default_left, self.sets)

    @cached_property
    def sets_of_column(self) -> dict[int, IntArray]:
        """Return the sets that the splits of each column use, int64 (n_used,) each."""
        if self.sets is None:
            return {}
        split = np.flatnonzero(self.sets.of_node >= 0)
        column = np.full(self.sets.first.size, -1)
        column[self.sets.of_node[split]] = self.column[split]
        return {each: np.flatnonzero(column == each) for each in self.sets.edges}

    def _cells(self, values: FloatArray) -> IntArray:
        """Return the cells of values for set splits, int64 (n_rows, n_columns); (0, 0) without."""
        if self.sets is None or self.sets.first.size == 0:
            return np.zeros((0, 0), dtype=np.int64)
        return self.sets.cells(values)


@dataclass(frozen=True, eq=False)
class Companion:
    """Additional ensemble that constrains every row: an isolation forest, or another model.

    Attributes
    ----------
    ensemble : the companion alone, over the same columns.
    first : first node of the companion among the nodes of all.
    classes : index of the companion's class for each class of the main ensemble; one entry for
        regressors.
    always : class that the companion must predict whatever the goal is; None to use ``classes``.
    goal : goal of the companion itself (a :mod:`encoders.query.goal`), as another output of the
        same model has; None to derive it from that of the main ensemble.
    """

    ensemble: Ensemble
    first: int
    classes: tuple[int, ...] = ()
    always: int | None = None
    goal: Any = None

    def scores_at(self, node: IntArray) -> FloatArray:
        """Return the companion's scores at global nodes, float64 (n, n_sums); 0 at other nodes."""
        local = node - self.first
        inside = (local >= 0) & (local < self.ensemble.column.size)
        return np.where(inside[:, None], self.ensemble.score[np.where(inside, local, 0)], 0.0)


def with_codes(ensemble: Ensemble, codes: Mapping[int, FloatArray]) -> Ensemble:
    """Return the same trees over category columns with other codes."""
    if not codes:
        return ensemble
    sets = (ensemble.sets or no_sets(ensemble.column.size)).recoded(ensemble.column, codes)
    # Some libraries split categories at thresholds, as if their codes were ordered numbers.
    at_threshold = np.isin(ensemble.column, list(codes)) & (sets.of_node < 0)
    members = []
    for node in np.flatnonzero(at_threshold).tolist():
        old = codes[int(ensemble.column[node])]
        missing_left = ensemble.default_left is not None and bool(ensemble.default_left[node])
        left = np.where(np.isnan(old), missing_left, old <= ensemble.last_left[node])
        members.append(np.append(left, missing_left))
    return replace(
        ensemble,
        sets=sets.joined(at_threshold, members),
        last_left=frozen(np.where(at_threshold, -np.inf, ensemble.last_left)),
    )


def as_votes(ensemble: Ensemble) -> Ensemble:
    """Return the trees under hard voting: each leaf votes for its best class, lowest on ties."""
    ballots = np.zeros_like(ensemble.score)
    ballots[np.arange(ballots.shape[0]), ensemble.score.argmax(axis=1)] = 1.0
    ballots[ensemble.column >= 0] = 0.0
    return replace(
        ensemble,
        score=frozen(ballots),
        bias=frozen(np.zeros(ensemble.n_sums)),
        margin_unit=1.0,
        votes=True,
        rounding=Rounding(grid=1.0),
        link=Link(),
    )


def with_missing_numbers(
    ensemble: Ensemble, columns: Iterable[int], low: float, high: float
) -> Ensemble:
    """Return the trees with numbers above ``low`` and up to ``high`` treated as missing.

    Splits of the columns become sets of cells. Outside of the interval, values of at most the
    threshold go left. The interval goes left where missing values do.
    """
    sets = ensemble.sets or no_sets(ensemble.column.size)
    chosen = np.zeros(ensemble.column.size, dtype=np.bool_)
    edges, members = dict(sets.edges), dict[int, BoolArray]()
    for column in columns:
        nodes = np.flatnonzero(ensemble.column == column)
        edges[column], goes_left = _cells(ensemble, nodes, low, high)
        members.update(zip(nodes.tolist(), goes_left, strict=True))
        chosen[nodes] = True
    joined = sets.joined(chosen, [members[node] for node in sorted(members)])
    return replace(
        ensemble,
        sets=replace(
            joined, edges=dict(sorted(edges.items())), numbers=sets.numbers | set(columns)
        ),
        last_left=frozen(np.where(chosen, -np.inf, ensemble.last_left)),
    )


def _cells(
    ensemble: Ensemble, nodes: IntArray, low: float, high: float
) -> tuple[FloatArray, BoolArray]:
    """Return the edges of a column's cells, and the cells that go left at each node.

    The latter is bool (n_nodes, n_cells); the last cell is for missing values.
    """
    assert ensemble.default_left is not None
    last = ensemble.last_left[nodes]
    edges = np.unique(np.append(last[np.isfinite(last)], [low, high]))
    ends = np.append(edges, np.inf)
    left = ends <= last[:, None]
    missing_left = ensemble.default_left[nodes][:, None]
    counts = (low < ends) & (ends <= high)
    return frozen(edges), np.hstack([np.where(counts, missing_left, left), missing_left])
