"""A tree ensemble as flat arrays, with every split in one canonical form."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, read_only
from encoders.trees.blend import Blend
from encoders.trees.input_type import last_read_as
from encoders.trees.link import Link
from encoders.trees.rounding import Rounding
from encoders.trees.set_splits import SetSplits, no_sets
from encoders.trees.stretches import Stretches

if TYPE_CHECKING:  # ways are compiled, and numba takes a while to import
    from encoders.trees.ways import Splits

CHUNK = 2**20  # rows times trees that are scored at once; more take more memory
LARGE = 100_000  # nodes; below it walks are not worth the compiling of a quicker one
LAID_OUT = 4  # nodes that take as long to lay out as a row to walk down a tree


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Nodes of all trees, concatenated; node ids are global.

    A split sends a value ``v`` of the model's input type left iff ``v <= last_left``. Models
    disagree on ``<`` and ``<=`` and on the type of the threshold; the largest representable
    value that goes left says the same for all of them, exactly.

    Attributes
    ----------
    n_columns : int
    root : int64 array (n_trees,)
    column : int64 array (n_nodes,), -1 at a leaf
    last_left : float64 array (n_nodes,), a value of ``dtype`` (or -inf: nothing goes left)
    left, right : int64 array (n_nodes,), -1 at a leaf
    score : float64 array (n_nodes, n_sums), the leaf's contribution to each sum; one per class
        unless ``link`` blends several
    bias : float64 array (n_sums,)
    dtype : the type to which the model rounds its input, float32 or float64
    margin_unit : float
        How much leaf score one unit of the user's score is: the number of trees where the
        model averages (a probability), 1 where it sums or votes.
    votes : bool, True when every leaf holds one vote and scores are whole numbers
    rounding : what separates the model's own decision from the comparison of exact sums; follows
        from the other fields and the library, so it is no part of a fingerprint
    default_left : bool (n_nodes,), whether a missing value goes left; None: none may be missing
    sets : splits that send a set of values left, ``last_left`` is -inf there; None without any
    link : what the library makes of the sums; no part of a fingerprint of classifiers, whose
        decision does not depend on it
    regression : whether the one sum is a prediction, and there are no classes
    unsure : by column, numbers next to a split of which it is not known where they go
    companions : whose trees are among these and add nothing to the sums
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
    link: Link | Blend = field(default=Link(), metadata={"fingerprint": False})
    regression: bool = field(default=False, metadata={"fingerprint": False})
    unsure: Mapping[int, Stretches] | None = None
    companions: tuple["Companion", ...] = ()

    @property
    def n_classes(self) -> int:
        """How many classes there are, two where there is one raw score; 1 for a regressor."""
        return self.link.n_classes if isinstance(self.link, Blend) else self.n_sums

    @property
    def n_sums(self) -> int:
        """How many sums of leaves there are: one per class, or several where these are blended."""
        return int(self.bias.size)

    def outputs(self, sums: FloatArray) -> FloatArray:
        """What is compared to decide for a class, float64 (n_rows, n_classes)."""
        return sums if self.blend is None else self.blend.outputs(sums)

    @property
    def blend(self) -> Blend | None:
        """What makes the numbers that decide of the sums; None where sums themselves do."""
        return self.link if isinstance(self.link, Blend) and self.link.decides else None

    def scores(self, rows: FloatArray) -> FloatArray:
        """Sum of leaf scores and bias in float64, shape (n_rows, n_sums)."""
        step = max(1, CHUNK // self.root.size)
        parts = [self._scores(rows[at : at + step]) for at in range(0, rows.shape[0], step)]
        return np.concatenate(parts)

    def last_left_as(self, dtype: np.dtype[Any]) -> FloatArray:
        """``last_left`` for a reader of another type, which rounds less."""
        return self.last_left if dtype == self.dtype else last_read_as(self.last_left, self.dtype)

    def _scores(self, rows: FloatArray) -> FloatArray:
        return self.sums(self.leaves(rows))

    def sums(self, leaves: IntArray) -> FloatArray:
        """Sum of the scores of leaves, and bias, float64 (n_rows, n_sums)."""
        from encoders.trees.ways import add_up

        total: FloatArray = self.bias + add_up(read_only(self.score), read_only(leaves.T))
        return total

    def leaves(self, rows: FloatArray) -> IntArray:
        """The node that each tree ends in, int64 (n_rows, n_trees), for float64 rows."""
        from encoders.trees.ways import walk_down, walk_down_laid_out

        values = rows.astype(self.dtype).astype(np.float64)
        cells = self._cells(values)
        given = (self.splits, read_only(self.root), read_only(values))
        plain = self.default_left is None and cells.size == 0
        many = len(rows) * self.root.size * LAID_OUT >= self.column.size >= LARGE
        ends: IntArray = (
            walk_down_laid_out(*given) if plain and many else walk_down(*given, read_only(cells))
        )
        return ends.T

    def turn_right(self, node: IntArray, values: FloatArray, row: IntArray) -> BoolArray:
        """Whether rows go right at nodes, bool (n,)."""
        from encoders.trees.ways import turn_right

        column = self.column[node]
        cells = self._cells(values)
        cell = cells[row, column] if cells.size else np.zeros_like(node)
        given = (node, values[row, column], cell)
        right: BoolArray = turn_right(self.splits, *(read_only(part) for part in given))
        return right

    @property
    def splits(self) -> "Splits":
        """What decides where to go, as arrays alone."""
        from encoders.trees.ways import splits_of

        children = (self.left, self.right)
        return splits_of(self.column, self.last_left, children, self.default_left, self.sets)

    def _cells(self, values: FloatArray) -> IntArray:
        """The cells that sets are asked for, (0, 0) without any."""
        if self.sets is None or self.sets.first.size == 0:
            return np.zeros((0, 0), dtype=np.int64)
        return self.sets.cells(values)


@dataclass(frozen=True, eq=False)
class Companion:
    """A further ensemble that has a say about every row: an isolation forest, or another model.

    Attributes
    ----------
    ensemble : as read by itself, over the same columns
    first : its first node among those of all
    classes : its own class for each of the ensemble that it accompanies; one entry for regressors
    always : the class that it has to decide for whatever the goal is; None: what ``classes`` says
    """

    ensemble: Ensemble
    first: int
    classes: tuple[int, ...] = ()
    always: int | None = None

    def scores_at(self, node: IntArray) -> FloatArray:
        """What it adds to its own sums at nodes of all, float64 (n, n_sums); 0 at others' nodes."""
        own = node - self.first
        inside = (own >= 0) & (own < self.ensemble.column.size)
        return np.where(inside[:, None], self.ensemble.score[np.where(inside, own, 0)], 0.0)


def with_codes(ensemble: Ensemble, codes: Mapping[int, FloatArray]) -> Ensemble:
    """The same trees where category columns hold other codes."""
    if not codes:
        return ensemble
    sets = (ensemble.sets or no_sets(ensemble.column.size)).recoded(ensemble.column, codes)
    # Categories that the library takes for ordered numbers are split at thresholds.
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
    """The same trees under hard voting: each leaf votes for its best (lowest) class."""
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
