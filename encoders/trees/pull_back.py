"""Conversion of trees over the outputs of a pipeline to trees over the user's columns.

A split tests whether an input is at most a threshold. Each input is a function of one column, so
the split is a test of that column. For numbers it is a threshold, found by a search over all
float64 with the native transformer itself. For categories it is a set of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.core.errors import UnsupportedModelError
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import (
    AT_ONCE,
    Crossings,
    Excess,
    Predicate,
    Stretches,
    bracket_zeros,
    find_crossings,
    last_read_as,
    unsure_around,
)
from encoders.trees.set_splits import SetSplits

SourceKind = Literal["monotone", "discrete", "bins", "steps"]


@dataclass(frozen=True)
class Source:
    """User's column on which an input of the model depends.

    :attr:`told` is True if the user declared the input to be monotone for the training data.

    Attributes
    ----------
    column : index of the column.
    kind : kind of dependence. A "monotone" input rises or falls with the number. A "discrete" input
        has an unrelated number per value, as from an encoder of categories. An input of kind "bins"
        is 1 within an interval and 0 elsewhere. An input of kind "steps" is constant between cuts.
    rank : rank of the input's interval among the bins of a block.
    block : number shared by the bins of one discretizer and column, -1 otherwise.
    rough : whether rounding may break monotonicity in the last bits.
    changed : whether the input is another number than the column's own.
    cuts : limits of bins outside of which the input never changes, if they are known.
    """

    column: int
    kind: SourceKind = "monotone"
    rank: int = 0
    block: int = -1
    rough: bool = False
    told: bool = False
    changed: bool = False
    cuts: tuple[float, ...] | None = None

    @property
    def encoded(self) -> "Source":
        """Source of the same column after an encoder of its values: of bins if it has such."""
        if self.kind == "steps":
            return self
        if self.cuts is not None and not self.rough:
            return self.stepped
        return Source(self.column, "discrete")

    @property
    def stepped(self) -> "Source":
        """Source of the same column after a step that is constant between cuts."""
        if self.kind == "discrete":
            return self
        return Source(self.column, "steps", told=self.told, changed=True, cuts=self.cuts)

    def binned(self, cuts: Sequence[float]) -> "Source":
        """Return the source after a step that bins it at cuts, and gives ascending numbers."""
        if self.kind == "discrete":
            return self
        limits = self.cuts if self.changed else tuple(cuts)
        return replace(self, changed=True, cuts=limits)


BINNED_GROUP = (
    "the pipeline puts the numbers of {!r}, a column of a one-hot group, into several bins. Leave "
    "such columns out of the discretizer."
)
MANY = 200  # tests from which on their crossings are interpolated
# Rows of the user's columns -> inputs; with True, a 0 that the library treats as missing stays 0.
Transform = Callable[[FloatArray, bool], FloatArray]


@dataclass(frozen=True, eq=False)
class RawColumns:
    """Properties of the user's columns that do not depend on the trees.

    Attributes
    ----------
    sources : one Source per input of the model.
    names : names of the columns.
    n_codes : number of category codes by column, for columns with codes.
    low, high : ends of the numbers for which the transformer is defined, float64 (n_columns,).
    missing : whether a value may be missing, bool (n_columns,).
    template : row of which single values are changed, float64 (n_columns,).
    seen : values of each column in the training data, float64 (n_seen, n_columns).
    zeros_missing : whether the library treats an input of 0 as missing.
    cuts : last numbers before the inputs of kind "steps" change, by column, float64, ascending.
    """

    sources: Sequence[Source]
    names: Sequence[str]
    n_codes: Mapping[int, int]
    low: FloatArray
    high: FloatArray
    missing: BoolArray
    template: FloatArray
    seen: FloatArray
    zeros_missing: bool = False
    cuts: Mapping[int, FloatArray] = field(default_factory=dict)


def pull_back(ensemble: Ensemble, raw: RawColumns, transform: Transform) -> Ensemble:
    """Return the trees with splits on the user's columns, whose values are read as float64."""
    return _PullBack(ensemble, raw, transform).converted()


class _PullBack:
    """Conversion of one ensemble."""

    def __init__(self, ensemble: Ensemble, raw: RawColumns, transform: Transform) -> None:
        self._ensemble, self._raw, self._transform = ensemble, raw, transform
        self._inner = np.flatnonzero(ensemble.column >= 0)
        source = np.array([s.column for s in raw.sources], dtype=np.int64)
        self._of_node = np.full(ensemble.column.size, -1, dtype=np.int64)
        self._of_node[self._inner] = source[ensemble.column[self._inner]]
        bins = {each.column for each in raw.sources if each.kind in ("bins", "steps")}
        self._unsure: dict[int, list[FloatArray]] = {}
        self._grouped = frozenset(raw.n_codes) | bins | frozenset(self._missing_ends)

    def converted(self) -> Ensemble:
        """Return the ensemble over the user's columns."""
        ensemble, inner = self._ensemble, self._inner
        last, falls = self._crossings()
        sets = self._sets(last, falls)
        swap = np.zeros(ensemble.column.size, dtype=np.bool_)
        swap[inner] = falls & ~np.isin(self._of_node[inner], list(self._grouped))
        last_left = np.full(ensemble.column.size, -np.inf)
        last_left[inner] = last
        if sets is not None:
            last_left[sets.of_node >= 0] = -np.inf
        return replace(
            ensemble,
            n_columns=self._raw.template.size,
            column=frozen(self._of_node),
            last_left=frozen(last_left),
            left=frozen(np.where(swap, ensemble.right, ensemble.left)),
            right=frozen(np.where(swap, ensemble.left, ensemble.right)),
            dtype=np.dtype(np.float64),
            default_left=frozen(self._missing_left != swap),
            sets=sets,
            unsure=self._stretches() or None,
        )

    def _goes_left(self, rows: FloatArray, row: IntArray, node: IntArray) -> BoolArray:
        """Return whether rows of the user's columns go left at nodes, bool (n,)."""
        left: BoolArray = ~self._ensemble.turn_right(node, self._read(rows), row)
        return left

    def _read(self, rows: FloatArray, keep_zeros: bool = False) -> FloatArray:
        """Return the model's inputs for rows of the user's columns, float64 (n_rows, n_inputs)."""
        with np.errstate(over="ignore"):
            return self._transform(rows, keep_zeros).astype(self._ensemble.dtype).astype(np.float64)

    def _crossings(self) -> tuple[FloatArray, BoolArray]:
        """Return each inner node's last number before its answer changes, and if it becomes yes."""
        ensemble, inner = self._ensemble, self._inner
        column, threshold = ensemble.column[inner], ensemble.last_left[inner]
        order = np.lexsort((threshold, column))
        column, threshold = column[order], threshold[order]
        begins = np.ones(order.size, dtype=np.bool_)
        begins[1:] = (np.diff(column) > 0) | (np.diff(threshold) > 0)
        last, falls = self._turns(column[begins], threshold[begins])
        same = np.empty_like(order)
        same[order] = np.cumsum(begins) - 1
        return last[same], falls[same]

    def _turns(
        self, inputs: IntArray, threshold: FloatArray, cast: bool = True
    ) -> tuple[FloatArray, BoolArray]:
        """Return the last numbers before tests ``input <= threshold`` change, and if to yes.

        A number is infinite if the test never changes; inputs that are not monotone are skipped.
        Tests of different columns are evaluated in the same rows. With ``cast``, inputs are rounded
        as the model reads them; without, they are the output of the steps.
        """
        column = np.array([source.column for source in self._raw.sources], dtype=np.int64)[inputs]
        last, falls = np.full(inputs.size, -np.inf), np.zeros(inputs.size, dtype=np.bool_)
        steps = np.array([source.kind == "steps" for source in self._raw.sources])[inputs]
        numeric = np.flatnonzero(~np.isin(column, list(self._raw.n_codes)) & ~steps)
        if numeric.size == 0:
            return last, falls
        column, inputs, threshold = column[numeric], inputs[numeric], threshold[numeric]

        def tests(at: IntArray) -> Predicate:
            return lambda values: self._inputs(inputs[at], values, cast) <= threshold[at]

        limit = last_read_as(threshold, self._ensemble.dtype) if cast else threshold

        def excess(values: FloatArray) -> FloatArray:
            with np.errstate(invalid="ignore"):  # inf less inf
                return self._inputs(inputs, values, cast=False) - limit

        # The indicator of a bin is not monotone; _bin_edges searches by the rank of the bin.
        rough = np.array([s.rough and s.kind != "bins" for s in self._raw.sources])[inputs]
        crossings = self._cross(tests, column, rough, excess)
        last[numeric], falls[numeric] = crossings.last, crossings.falls
        return last, falls

    def _inputs(self, inputs: IntArray, values: FloatArray, cast: bool) -> FloatArray:
        """Return inputs for given values of their columns, float64 (n_times, n).

        Inputs of different columns are computed in the same rows.
        """
        column = np.array([source.column for source in self._raw.sources], dtype=np.int64)[inputs]
        rows, row = self._rows_with(column, values)
        outputs = self._read(rows, True) if cast else self._transform(rows, True)
        chosen: FloatArray = outputs[row, inputs]
        return chosen

    def _cross(
        self,
        tests: Callable[[IntArray], Predicate],
        column: IntArray,
        rough: BoolArray,
        excess: Excess | None = None,
    ) -> Crossings:
        """Return the crossings of tests, and note the uncertain intervals around rough ones."""
        raw = self._raw
        crossings = self._find(tests, raw.low[column], raw.high[column], excess)
        at = np.flatnonzero(rough)
        if at.size == 0:
            return crossings
        predicate, column = tests(at), column[at]
        some = Crossings(crossings.last[at], crossings.falls[at])
        after, until, wrong = unsure_around(predicate, some, raw.low[column], raw.high[column])
        for chunk in np.array_split(raw.seen[:, column], -(-len(raw.seen) // AT_ONCE)):
            other = (predicate(chunk) != some.expected(chunk)) & (
                (chunk <= after) | (chunk > until)
            )
            wrong |= other.any(axis=0)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise UnsupportedModelError(
                f"the pipeline's output is not monotone in {raw.names[int(column[first])]!r}, so "
                "splits cannot be converted to this column. Pass 'by value' for this step in "
                "steps=, or compute the column before the pipeline."
            )
        for each, begin, end in zip(column.tolist(), after, until, strict=True):
            self._unsure.setdefault(each, []).append(np.array([begin, end]))
        return crossings

    def _find(
        self,
        tests: Callable[[IntArray], Predicate],
        low: FloatArray,
        high: FloatArray,
        excess: Excess | None,
    ) -> Crossings:
        """Return the crossings of tests; many of them are interpolated first."""
        every = np.arange(low.size)
        if excess is None or low.size < MANY:
            return find_crossings(tests(every), low, high)
        below, above, near = bracket_zeros(excess, low, high)
        last, falls = np.full(low.size, np.inf), np.zeros(low.size, dtype=np.bool_)
        for at in (every[near], every[~near]):
            if at.size:
                crossings = find_crossings(tests(at), below[at], above[at])
                last[at], falls[at] = crossings.last, crossings.falls
        # An interpolated interval contains no crossing if the model reads other numbers there.
        again = np.flatnonzero(near & np.isinf(last))
        if again.size:
            crossings = find_crossings(tests(again), low[again], high[again])
            last[again], falls[again] = crossings.last, crossings.falls
        return Crossings(last, falls)

    def _stretches(self) -> dict[int, Stretches]:
        """Return the uncertain intervals by column; no answer may lie in them."""
        joined = {
            column: Stretches.joined(*np.array(ends).T) for column, ends in self._unsure.items()
        }
        return {column: each for column, each in sorted(joined.items()) if each.after.size}

    @cached_property
    def _missing_ends(self) -> Mapping[int, FloatArray]:
        """Ends of the intervals of numbers that count as missing, by column."""
        sources, ends = self._raw.sources, []
        if self._raw.zeros_missing:  # exact zeros, before the model rounds its input
            inputs = np.repeat(np.arange(len(sources)), 2)
            zeros = np.tile([float(np.nextafter(0.0, -1.0)), 0.0], len(sources))
            ends.append((inputs, self._turns(inputs, zeros, cast=False)[0]))
        sets = self._ensemble.sets
        numbers = {} if sets is None else {each: sets.edges[each] for each in sorted(sets.numbers)}
        for each, edges in numbers.items():
            inputs = np.full(edges.size, each)
            ends.append((inputs, self._turns(inputs, edges)[0]))
        by_column: dict[int, list[float]] = {}
        for inputs, last in ends:
            for each, end in zip(inputs.tolist(), last.tolist(), strict=True):
                if np.isfinite(end) and sources[each].kind == "monotone":
                    by_column.setdefault(sources[each].column, []).append(end)
        return {column: np.array(places) for column, places in by_column.items()}

    @cached_property
    def _missing_left(self) -> BoolArray:
        """Flags of the nodes that send a missing value of the user's column left, (n_nodes,)."""
        left = np.zeros(self._ensemble.column.size, dtype=np.bool_)
        missing = self._raw.missing
        if not missing.any():
            return left
        row = np.where(missing, np.nan, self._raw.template)[None, :]
        passed = np.isnan(self._transform(row, True)[0])
        if self._ensemble.default_left is None and passed.any():
            raise UnsupportedModelError(
                "the pipeline passes missing values to a model that does not accept them. Add a "
                "SimpleImputer before the model."
            )
        node = self._inner[missing[self._of_node[self._inner]]]
        left[node] = self._goes_left(row, np.zeros(node.size, dtype=np.int64), node)
        return left

    def _sets(self, last: FloatArray, falls: BoolArray) -> SetSplits | None:
        """Return set splits of columns with categories, bins or numbers that count as missing."""
        if not self._grouped:
            return None
        inner, column = self._inner, self._of_node[self._inner]
        of_node = np.full(self._ensemble.column.size, -1, dtype=np.int64)
        edges, members, count = {}, [], 0
        for each in sorted(self._grouped):
            mine = column == each
            cuts, points = self._points(each, last[mine])
            edges[each] = frozen(cuts)
            goes_left = self._members(each, inner[mine], points)
            distinct, index = np.unique(goes_left, axis=0, return_inverse=True)
            of_node[inner[mine]] = count + np.ravel(index)
            members += list(distinct)
            count += len(distinct)
        return SetSplits(
            frozen(of_node),
            frozen(starts(np.array([m.size for m in members], dtype=np.int64))[:-1]),
            frozen(np.concatenate(members) if members else np.zeros(0, dtype=np.bool_)),
            edges,
            numbers=self._grouped - frozenset(self._raw.n_codes),
        )

    def _points(self, column: int, last: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the edges of a column's cells, and a value in each cell."""
        if column in self._raw.n_codes:
            codes = np.arange(float(self._raw.n_codes[column]))
            return codes[:-1], codes
        ends = self._missing_ends.get(column, last[:0])
        cuts = self._raw.cuts.get(column, last[:0])
        every = np.unique(np.concatenate([last, self._bin_edges.get(column, cuts[:0]), ends, cuts]))
        low, high = self._raw.low[column], self._raw.high[column]
        cuts = every[(every >= low) & (every < high)]
        points = np.append(cuts, high)
        sure = Stretches.joined(*np.array(self._unsure.get(column, np.zeros((0, 2)))).T)
        below = sure.down(points)
        return cuts, np.where(below > np.append(-np.inf, cuts), below, points)

    @cached_property
    def _bin_edges(self) -> Mapping[int, FloatArray]:
        """Last number of each bin by column, found by a search on the rank of the bin."""
        sources, blocks = self._raw.sources, dict[int, list[int]]()
        for at, source in enumerate(sources):
            if source.kind == "bins":
                blocks.setdefault(source.block, []).append(at)
        # One test for each bin but the last: is a number in this bin or in one before it?
        limits = [np.arange(len(inputs) - 1) for inputs in blocks.values()]
        block = np.repeat(np.arange(len(limits)), [bins_of.size for bins_of in limits])
        if block.size == 0:
            return {}
        limit, inputs = np.concatenate(limits), list(blocks.values())
        first = [sources[bins_of[0]] for bins_of in inputs]
        column = np.array([source.column for source in first])[block]
        rough = np.array([source.rough for source in first])[block]

        def tests(at: IntArray) -> Predicate:
            return lambda values: self._bins(inputs, block[at], values) <= limit[at]

        last = self._cross(tests, column, rough).last
        return {at: last[(column == at) & np.isfinite(last)] for at in np.unique(column).tolist()}

    def _bins(self, inputs: list[list[int]], block: IntArray, values: FloatArray) -> FloatArray:
        """Return the ranks of the bins of numbers, given their blocks, float64 (n_times, n)."""
        sources = self._raw.sources
        column = np.array([sources[bins_of[0]].column for bins_of in inputs])[block]
        rows, row = self._rows_with(column, values)
        outputs, ranks = self._transform(rows, True), np.empty(row.shape)
        for each in np.unique(block).tolist():
            bins_of = inputs[each]
            bins = outputs[:, bins_of] @ np.array([float(sources[at].rank) for at in bins_of])
            ranks[:, block == each] = bins[row[:, block == each]]
        return ranks

    def _rows_with(self, column: IntArray, values: FloatArray) -> tuple[FloatArray, IntArray]:
        """Return rows in which columns have given values, and the row of each, (n_times, n).

        Values of different columns are in the same rows.
        """
        rank = _ranks(column)
        height = int(rank.max()) + 1
        rows = np.tile(self._raw.template, (len(values) * height, 1))
        row = (np.arange(len(values)) * height)[:, None] + rank
        rows[row, column] = values
        return rows, row

    def _members(self, column: int, node: IntArray, points: FloatArray) -> BoolArray:
        """Return the cells that go left at nodes, bool (n_nodes, n_cells); the last is missing."""
        raw = self._raw
        rows = np.tile(raw.template, (points.size, 1))
        rows[:, column] = points
        each = np.repeat(node, points.size)
        row = np.tile(np.arange(points.size), node.size)
        right = self._ensemble.turn_right(each, self._read(rows), row)
        left = ~right.reshape(node.size, points.size)
        gone = self._missing_left[node][:, None]
        return np.hstack([left, gone])


def with_thresholds(ensemble: Ensemble, columns: Sequence[int], names: Sequence[str]) -> Ensemble:
    """Return the trees with thresholds in place of sets on some columns of numbers.

    Columns of a one-hot group have thresholds only. A set with several intervals is
    refused.
    """
    sets = ensemble.sets
    nodes = np.flatnonzero(np.isin(ensemble.column, columns))
    if sets is None or not sets.numbers.intersection(columns):
        return ensemble
    nodes = nodes[sets.of_node[nodes] >= 0]
    last, swap = ensemble.last_left.copy(), np.zeros(ensemble.column.size, dtype=np.bool_)
    missing_left = np.zeros(ensemble.column.size, dtype=np.bool_)
    if ensemble.default_left is not None:
        missing_left |= ensemble.default_left
    for node in nodes.tolist():
        column = int(ensemble.column[node])
        goes_left = sets.members(column, sets.of_node[[node]])[0]
        turns = np.flatnonzero(np.diff(goes_left[:-1]))
        if turns.size > 1:
            raise UnsupportedModelError(BINNED_GROUP.format(names[column]))
        swap[node] = not goes_left[0]
        last[node] = sets.edges[column][turns[0]] if turns.size else np.inf
        missing_left[node] = goes_left[-1] != swap[node]
    of_node = np.where(np.isin(np.arange(ensemble.column.size), nodes), -1, sets.of_node)
    return replace(
        ensemble,
        last_left=frozen(last),
        left=frozen(np.where(swap, ensemble.right, ensemble.left)),
        right=frozen(np.where(swap, ensemble.left, ensemble.right)),
        default_left=frozen(missing_left),
        sets=replace(sets, of_node=frozen(of_node)).without(columns),
    )


def _ranks(column: IntArray) -> IntArray:
    """Return ranks 0, 1, ... within each column, int64 (n,)."""
    order = np.argsort(column, kind="stable")
    first = np.searchsorted(column[order], column[order])
    ranks = np.empty_like(column)
    ranks[order] = np.arange(column.size) - first
    return ranks
