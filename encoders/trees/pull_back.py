"""Conversion of trees over the outputs of a pipeline to trees over the user's columns.

A split tests whether an input is at most a threshold. Each input is a function of one column, so
the split is a test of that column. For numbers it is a threshold, found by a search over all
float64 with the native transformer itself. For categories it is a set of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.core.errors import UnsupportedModelError
from encoders.trees.crossings import (
    Crossings,
    LimitTests,
    OutputsOf,
    find_crossings,
    unsure_around,
)
from encoders.trees.ensemble import Ensemble
from encoders.trees.floats import Stretches, last_read_as
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
ROWS_AT_ONCE = 4096  # rows that are transformed in one call: fewer need less memory
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


def pull_back(
    ensemble: Ensemble, raw: RawColumns, transform: Transform, of_numbers: Transform | None = None
) -> Ensemble:
    """Return the trees with splits on the user's columns, whose values are read as float64.

    ``of_numbers`` transforms rows that differ from the template only in columns without codes.
    """
    return _PullBack(ensemble, raw, transform, of_numbers or transform).converted()


@dataclass(frozen=True, eq=False)
class _Function:
    """Number that depends on one column: an input, or the rank of the bin among some inputs."""

    column: int
    inputs: IntArray
    ranks: FloatArray
    rough: bool


def _functions(raw: RawColumns) -> tuple[list[_Function], list[_Function]]:
    """Return the monotone inputs of columns without codes, and the bins of each discretizer."""
    inputs, bins = [], dict[int, list[int]]()
    for at, source in enumerate(raw.sources):
        if source.column not in raw.n_codes and source.kind == "monotone":
            inputs.append(_Function(source.column, np.array([at]), np.ones(1), source.rough))
        if source.column not in raw.n_codes and source.kind == "bins":
            bins.setdefault(source.block, []).append(at)
    ranks = []
    for block in bins.values():
        first, rank = raw.sources[block[0]], [float(raw.sources[at].rank) for at in block]
        ranks.append(_Function(first.column, np.array(block), np.array(rank), first.rough))
    return inputs, ranks


class _PullBack:
    """Conversion of one ensemble."""

    def __init__(
        self, ensemble: Ensemble, raw: RawColumns, transform: Transform, of_numbers: Transform
    ) -> None:
        self._ensemble, self._raw, self._transform = ensemble, raw, transform
        self._of_numbers = of_numbers
        self._inner = np.flatnonzero(ensemble.column >= 0)
        source = np.array([s.column for s in raw.sources], dtype=np.int64)
        self._of_node = np.full(ensemble.column.size, -1, dtype=np.int64)
        self._of_node[self._inner] = source[ensemble.column[self._inner]]
        self._nodes, self._split = _distinct_splits(ensemble, self._inner)
        self._inputs, self._ranks = _functions(raw)
        # By column: uncertain intervals, ends of the numbers that count as missing, edges of bins.
        self._unsure: dict[int, list[FloatArray]] = {}
        self._missing_ends: dict[int, list[float]] = {}
        self._bin_edges: dict[int, list[float]] = {}
        self._last, self._falls = self._crossings()
        bins = {each.column for each in raw.sources if each.kind in ("bins", "steps")}
        self._grouped = frozenset(raw.n_codes) | bins | frozenset(self._missing_ends)

    def converted(self) -> Ensemble:
        """Return the ensemble over the user's columns."""
        ensemble, inner, split = self._ensemble, self._inner, self._split
        sets = self._sets()
        swap = np.zeros(ensemble.column.size, dtype=np.bool_)
        swap[inner] = self._falls[split] & ~np.isin(self._of_node[inner], list(self._grouped))
        last_left = np.full(ensemble.column.size, -np.inf)
        last_left[inner] = self._last[split]
        if sets is not None:
            last_left[sets.of_node >= 0] = -np.inf
        missing_left = np.zeros(ensemble.column.size, dtype=np.bool_)
        missing_left[inner] = self._missing_left[split]
        return replace(
            ensemble,
            n_columns=self._raw.template.size,
            column=frozen(self._of_node),
            last_left=frozen(last_left),
            left=frozen(np.where(swap, ensemble.right, ensemble.left)),
            right=frozen(np.where(swap, ensemble.left, ensemble.right)),
            dtype=np.dtype(np.float64),
            default_left=frozen(missing_left != swap),
            sets=sets,
            unsure=self._stretches() or None,
        )

    def _read(self, rows: FloatArray, keep_zeros: bool = False) -> FloatArray:
        """Return the model's inputs for rows of the user's columns, float64 (n_rows, n_inputs)."""
        with np.errstate(over="ignore"):
            return self._transform(rows, keep_zeros).astype(self._ensemble.dtype).astype(np.float64)

    def _crossings(self) -> tuple[FloatArray, BoolArray]:
        """Return each split's last number before its answer changes, and if it becomes yes.

        A number is infinite if the answer never changes; inputs that are not monotone are skipped.
        The same search finds the ends of numbers that count as missing, and the edges of bins.
        """
        ensemble, nodes, n_inputs = self._ensemble, self._nodes, len(self._inputs)
        number = np.full(ensemble.n_columns, -1, dtype=np.int64)  # of the function of each input
        number[[int(each.inputs[0]) for each in self._inputs]] = np.arange(n_inputs)
        splits = np.flatnonzero(number[ensemble.column[nodes]] >= 0)
        threshold = ensemble.last_left[nodes[splits]]
        tests = [(number[ensemble.column[nodes[splits]]], last_read_as(threshold, ensemble.dtype))]
        if self._raw.zeros_missing:  # exact zeros, before the model rounds its input
            zeros = np.array([np.nextafter(0.0, -1.0), 0.0])
            tests.append((np.repeat(np.arange(n_inputs), 2), np.tile(zeros, n_inputs)))
        sets = ensemble.sets
        for each in sorted(() if sets is None else sets.numbers):
            if sets is not None and number[each] >= 0:
                edges = sets.edges[each]
                tests.append(
                    (np.full(edges.size, number[each]), last_read_as(edges, ensemble.dtype))
                )
        for at, bins in enumerate(self._ranks, start=n_inputs):
            # One test for each bin but the last: is a number in this bin or in one before it?
            before = np.arange(bins.ranks.size - 1.0)
            tests.append((np.full(before.size, at), before))
        function, limit = (np.concatenate(part) for part in zip(*tests, strict=True))
        crossings = self._cross(function, limit)
        others = (function[splits.size :].tolist(), crossings.last[splits.size :].tolist())
        for at, end in zip(*others, strict=True):
            if np.isfinite(end):
                ends = self._missing_ends if at < n_inputs else self._bin_edges
                column = [*self._inputs, *self._ranks][at].column
                ends.setdefault(column, []).append(end)
        last, falls = np.full(nodes.size, -np.inf), np.zeros(nodes.size, dtype=np.bool_)
        last[splits] = crossings.last[: splits.size]
        falls[splits] = crossings.falls[: splits.size]
        return last, falls

    def _cross(self, function: IntArray, limit: FloatArray) -> Crossings:
        """Return where functions cross limits, and note the uncertain intervals of rough ones."""
        raw, of_column, place = self._raw, dict[int, list[_Function]](), []
        every = [*self._inputs, *self._ranks]
        for each in every:
            others = of_column.setdefault(each.column, [])
            place.append(len(others))
            others.append(each)
        column = np.array([each.column for each in every], dtype=np.int64)
        tests = LimitTests(column[function], np.array(place, dtype=np.int64)[function], limit)
        inputs = {
            at: np.concatenate([each.inputs for each in some]) for at, some in of_column.items()
        }
        inputs_of = inputs_by_column(raw, self._of_numbers, inputs)

        def outputs_of(numbers: Mapping[int, FloatArray]) -> dict[int, FloatArray]:
            return {at: _outputs(of_column[at], each) for at, each in inputs_of(numbers).items()}

        starts = {at: self._starts(at) for at in np.unique(tests.column).tolist()}
        crossings = find_crossings(outputs_of, tests, starts)
        rough = np.array([each.rough for each in every], dtype=np.bool_)
        at = np.flatnonzero(rough[function])
        if at.size == 0:
            return crossings
        tests, some = tests.only(at), Crossings(crossings.last[at], crossings.falls[at])
        after, until, wide = unsure_around(outputs_of, tests, some, starts)
        if wide.any():
            first = int(tests.column[wide][0])
            raise UnsupportedModelError(
                f"the pipeline's output is not monotone in {raw.names[first]!r}, so "
                "splits cannot be converted to this column. Pass 'by value' for this step in "
                "steps=, or compute the column before the pipeline."
            )
        for each, begin, end in zip(tests.column.tolist(), after, until, strict=True):
            self._unsure.setdefault(each, []).append(np.array([begin, end]))
        return crossings

    def _starts(self, column: int) -> FloatArray:
        """Return the numbers of a column that are evaluated first, ascending.

        They are the ends of its range, training values, and the known limits of its bins.
        """
        raw = self._raw
        low, high = raw.low[column], raw.high[column]
        cuts = np.unique([cut for s in raw.sources if s.column == column for cut in s.cuts or ()])
        beside = (np.nextafter(cuts, -np.inf), np.nextafter(cuts, np.inf))
        numbers = np.concatenate([[low, high], raw.seen[:, column], cuts, *beside])
        return np.unique(numbers[(numbers >= low) & (numbers <= high)])

    def _stretches(self) -> dict[int, Stretches]:
        """Return the uncertain intervals by column; no answer may lie in them."""
        joined = {
            column: Stretches.joined(*np.array(ends).T) for column, ends in self._unsure.items()
        }
        return {column: each for column, each in sorted(joined.items()) if each.after.size}

    @cached_property
    def _missing_left(self) -> BoolArray:
        """Flags of the splits that send a missing value of the user's column left, (n_splits,)."""
        nodes, missing = self._nodes, self._raw.missing
        left = np.zeros(nodes.size, dtype=np.bool_)
        if not missing.any():
            return left
        row = np.where(missing, np.nan, self._raw.template)[None, :]
        refused = self._ensemble.default_left is None
        inputs = self._read(row, keep_zeros=refused)
        if refused and np.isnan(inputs).any():
            raise UnsupportedModelError(
                "the pipeline passes missing values to a model that does not accept them. Add a "
                "SimpleImputer before the model."
            )
        at = np.flatnonzero(missing[self._of_node[nodes]])
        left[at] = ~self._ensemble.turn_right(nodes[at], inputs, np.zeros_like(at))
        return left

    def _sets(self) -> SetSplits | None:
        """Return set splits of columns with categories, bins or numbers that count as missing."""
        if not self._grouped:
            return None
        column = self._of_node[self._nodes]
        set_of_split = np.full(column.size, -1, dtype=np.int64)
        edges, points = {}, {}
        for each in sorted(self._grouped):
            edges[each], points[each] = self._points(each, self._last[column == each])
        members: list[BoolArray] = []
        for mine, goes_left in self._members(points):
            distinct, index = np.unique(goes_left, axis=0, return_inverse=True)
            set_of_split[mine] = len(members) + np.ravel(index)
            members += list(distinct)
        of_node = np.full(self._ensemble.column.size, -1, dtype=np.int64)
        of_node[self._inner] = set_of_split[self._split]
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
            return frozen(codes[:-1]), codes
        ends, bins = self._missing_ends.get(column, []), self._bin_edges.get(column, [])
        every = np.unique(np.concatenate([last, bins, ends, self._raw.cuts.get(column, last[:0])]))
        low, high = self._raw.low[column], self._raw.high[column]
        cuts = every[(every >= low) & (every < high)]
        points = np.append(cuts, high)
        sure = Stretches.joined(*np.array(self._unsure.get(column, np.zeros((0, 2)))).T)
        below = sure.down(points)
        return frozen(cuts), np.where(below > np.append(-np.inf, cuts), below, points)

    def _members(self, points: Mapping[int, FloatArray]) -> Iterator[tuple[IntArray, BoolArray]]:
        """Yield the splits of each column, and the cells that go left at them.

        The latter is bool (n_splits, n_cells), given a value in each cell; the last is missing.
        """
        inputs = self._read(rows_with(self._raw, points))
        column = self._of_node[self._nodes]
        splits = [np.flatnonzero(column == each) for each in points]
        sizes = [part.size for part in points.values()]
        pairs = list(zip(splits, sizes, strict=True))
        node = np.concatenate([np.repeat(self._nodes[mine], size) for mine, size in pairs])
        row = np.concatenate([np.tile(np.arange(size), mine.size) for mine, size in pairs])
        left = ~self._ensemble.turn_right(node, inputs, row)
        ends = np.cumsum([mine.size * size for mine, size in pairs])
        for (mine, size), part in zip(pairs, np.split(left, ends[:-1]), strict=True):
            yield mine, np.hstack([part.reshape(-1, size), self._missing_left[mine][:, None]])


def _distinct_splits(ensemble: Ensemble, inner: IntArray) -> tuple[IntArray, IntArray]:
    """Return a node for each distinct split, and the index of the split of each inner node."""
    keys: list[Any] = [ensemble.last_left[inner], ensemble.column[inner]]
    if ensemble.default_left is not None:
        keys.insert(0, ensemble.default_left[inner])
    if ensemble.sets is not None:
        keys.insert(0, ensemble.sets.of_node[inner])
    order = np.lexsort(keys)
    begins = np.ones(order.size, dtype=np.bool_)
    begins[1:] = np.any([key[order][1:] != key[order][:-1] for key in keys], axis=0)
    split = np.empty_like(order)
    split[order] = np.cumsum(begins) - 1
    return inner[order[begins]], split


def _outputs(functions: Sequence[_Function], inputs: FloatArray) -> FloatArray:
    """Return functions of the concatenated inputs of each, float64 (n_rows, n_functions)."""
    ends = np.cumsum([each.inputs.size for each in functions])
    parts = np.split(inputs, ends[:-1], axis=1)
    return np.stack([p @ f.ranks for p, f in zip(parts, functions, strict=True)], axis=1)


def rows_with(raw: RawColumns, values: Mapping[int, FloatArray]) -> FloatArray:
    """Return rows with given values of some columns, which are put in the same rows."""
    rows = np.tile(raw.template, (max((part.size for part in values.values()), default=0), 1))
    for column, part in values.items():
        rows[: part.size, column] = part
    return rows


def inputs_by_column(
    raw: RawColumns, transform: Transform, inputs: Mapping[int, IntArray]
) -> OutputsOf:
    """Return a function that computes inputs of columns, whose values are put in the same rows."""

    def inputs_of(values: Mapping[int, FloatArray]) -> dict[int, FloatArray]:
        rows = rows_with(raw, values)
        outputs = {at: np.empty((part.size, inputs[at].size)) for at, part in values.items()}
        for first in range(0, len(rows), ROWS_AT_ONCE):
            several = transform(rows[first : first + ROWS_AT_ONCE], True)
            for at, part in outputs.items():
                some = part[first : first + ROWS_AT_ONCE]
                some[:] = several[: len(some), inputs[at]]
        return outputs

    return inputs_of


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
