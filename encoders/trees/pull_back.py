"""Trees over what a pipeline makes of the user's columns -> the same trees over those columns.

A split asks whether an input is at most a threshold. As each input follows from one column, it asks
something of that column alone: whether a number is at most the last one that still does, which is
found by a search over all float64 on the native transformer itself, or whether a category is one
of those that do.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from encoders.arrays import BoolArray, FloatArray, IntArray, frozen, starts
from encoders.errors import UnsupportedModelError
from encoders.trees.crossings import AT_ONCE, Ask, Crossings, find_crossings, unsure_around
from encoders.trees.ensemble import Ensemble
from encoders.trees.set_splits import SetSplits
from encoders.trees.sources import Source
from encoders.trees.stretches import Stretches

# Rows of the user's columns -> inputs; with True a 0 that the library takes for missing stays 0.
Transform = Callable[[FloatArray, bool], FloatArray]


@dataclass(frozen=True, eq=False)
class RawColumns:
    """What is known of the user's columns before the trees are looked at.

    Attributes
    ----------
    sources : one per input of the model
    names : of the columns
    n_codes : by column that holds category codes, how many
    low, high : float64 (n_columns,), numbers between which the transformer is defined
    missing : bool (n_columns,), whether a value may be missing
    template : float64 (n_columns,), a row of which single values are changed
    seen : float64 (n_seen, n_columns), numbers of each column that the training data has
    zeros_missing : whether the library takes an input of 0 for missing
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


def pull_back(ensemble: Ensemble, raw: RawColumns, transform: Transform) -> Ensemble:
    """The same trees, split on the user's columns; values are read as float64."""
    return _PullBack(ensemble, raw, transform).done()


class _PullBack:
    def __init__(self, ensemble: Ensemble, raw: RawColumns, transform: Transform) -> None:
        self._ensemble, self._raw, self._transform = ensemble, raw, transform
        self._inner = np.flatnonzero(ensemble.column >= 0)
        source = np.array([s.column for s in raw.sources], dtype=np.int64)
        self._of_node = np.full(ensemble.column.size, -1, dtype=np.int64)
        self._of_node[self._inner] = source[ensemble.column[self._inner]]
        bins = {own.column for own in raw.sources if own.kind == "bins"}
        self._unsure: dict[int, list[FloatArray]] = {}
        self._grouped = frozenset(raw.n_codes) | bins | frozenset(self._missing_ends)

    def done(self) -> Ensemble:
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
        """Whether rows of the user's go left at nodes, bool (n,)."""
        left: BoolArray = ~self._ensemble.turn_right(node, self._read(rows), row)
        return left

    def _read(self, rows: FloatArray, keep_zeros: bool = False) -> FloatArray:
        """What the model sees of rows of the user's, float64 (n_rows, n_inputs)."""
        with np.errstate(over="ignore"):
            return self._transform(rows, keep_zeros).astype(self._ensemble.dtype).astype(np.float64)

    def _crossings(self) -> tuple[FloatArray, BoolArray]:
        """For each inner node the last number before its answer changes, and if from no to yes."""
        ensemble, inner = self._ensemble, self._inner
        asked = np.stack([ensemble.column[inner].astype(np.float64), ensemble.last_left[inner]])
        asked, same = np.unique(asked, axis=1, return_inverse=True)
        last, falls = self._turns(asked[0].astype(np.int64), asked[1])
        return last[np.ravel(same)], falls[np.ravel(same)]

    def _turns(
        self, inputs: IntArray, threshold: FloatArray, cast: bool = True
    ) -> tuple[FloatArray, BoolArray]:
        """The last number before "is the input at most this?" is answered otherwise, and whether
        the answer becomes yes; infinite where it never does.

        Those of different columns are asked in the same rows; categories are not asked. ``cast``
        is for inputs as the model reads them, and not as the steps before give them.
        """
        column = np.array([source.column for source in self._raw.sources], dtype=np.int64)[inputs]
        last, falls = np.full(inputs.size, -np.inf), np.zeros(inputs.size, dtype=np.bool_)
        asked = np.flatnonzero(~np.isin(column, list(self._raw.n_codes)))
        if asked.size == 0:
            return last, falls
        column, inputs, threshold = column[asked], inputs[asked], threshold[asked]

        def questions(at: IntArray) -> Ask:
            return lambda values: self._inputs(inputs[at], values, cast) <= threshold[at]

        # Which bin holds a number rises and falls again; edges of bins are asked for by their rank.
        rough = np.array([s.rough and s.kind != "bins" for s in self._raw.sources])[inputs]
        found = self._cross(questions, column, rough)
        last[asked], falls[asked] = found.last, found.falls
        return last, falls

    def _inputs(self, inputs: IntArray, values: FloatArray, cast: bool) -> FloatArray:
        """What inputs become where their columns hold numbers, float64 (n_times, n).

        Those of different columns are made in the same rows.
        """
        raw = self._raw
        column = np.array([source.column for source in raw.sources], dtype=np.int64)[inputs]
        rank = _ranks(column)
        height = int(rank.max()) + 1
        rows = np.tile(raw.template, (len(values) * height, 1))
        row = (np.arange(len(values)) * height)[:, None] + rank
        rows[row, column] = values
        made = self._read(rows, True) if cast else self._transform(rows, True)
        found: FloatArray = made[row, inputs]
        return found

    def _cross(
        self, questions: Callable[[IntArray], Ask], column: IntArray, rough: BoolArray
    ) -> Crossings:
        """Find crossings; around those that may be rough, also where they are not sure."""
        raw = self._raw
        found = find_crossings(questions(np.arange(column.size)), raw.low[column], raw.high[column])
        at = np.flatnonzero(rough)
        if at.size == 0:
            return found
        ask, column, some = questions(at), column[at], Crossings(found.last[at], found.falls[at])
        after, until, wrong = unsure_around(ask, some, raw.low[column], raw.high[column])
        for chunk in np.array_split(raw.seen[:, column], -(-len(raw.seen) // AT_ONCE)):
            other = (ask(chunk) != some.expected(chunk)) & ((chunk <= after) | (chunk > until))
            wrong |= other.any(axis=0)
        if wrong.any():
            first = int(np.flatnonzero(wrong)[0])
            raise UnsupportedModelError(
                f"what the pipeline makes of {raw.names[int(column[first])]!r} rises and falls "
                "again, so that its splits can't be followed; say that the step takes it 'by "
                "value', or compute the column before the pipeline."
            )
        for own, begin, end in zip(column.tolist(), after, until, strict=True):
            self._unsure.setdefault(own, []).append(np.array([begin, end]))
        return found

    def _stretches(self) -> dict[int, Stretches]:
        """By column, where no answer is to lie."""
        joined = {
            column: Stretches.joined(*np.array(ends).T) for column, ends in self._unsure.items()
        }
        return {column: own for column, own in sorted(joined.items()) if own.after.size}

    @cached_property
    def _missing_ends(self) -> Mapping[int, FloatArray]:
        """Columns of which some numbers count as missing: where their cells end."""
        sources, ends = self._raw.sources, []
        if self._raw.zeros_missing:  # exact ones, before the model rounds what it reads
            inputs = np.repeat(np.arange(len(sources)), 2)
            zeros = np.tile([float(np.nextafter(0.0, -1.0)), 0.0], len(sources))
            ends.append((inputs, self._turns(inputs, zeros, cast=False)[0]))
        sets = self._ensemble.sets
        numbers = {} if sets is None else {own: sets.edges[own] for own in sorted(sets.numbers)}
        for own, edges in numbers.items():
            inputs = np.full(edges.size, own)
            ends.append((inputs, self._turns(inputs, edges)[0]))
        found: dict[int, list[float]] = {}
        for inputs, last in ends:
            for own, end in zip(inputs.tolist(), last.tolist(), strict=True):
                if np.isfinite(end) and sources[own].kind == "monotone":
                    found.setdefault(sources[own].column, []).append(end)
        return {column: np.array(places) for column, places in found.items()}

    @cached_property
    def _missing_left(self) -> BoolArray:
        """Where a missing value of the user's goes, bool (n_nodes,)."""
        left = np.zeros(self._ensemble.column.size, dtype=np.bool_)
        missing = self._raw.missing
        if not missing.any():
            return left
        row = np.where(missing, np.nan, self._raw.template)[None, :]
        held = np.isnan(self._transform(row, True)[0])
        if self._ensemble.default_left is None and held.any():
            raise UnsupportedModelError(
                "the pipeline passes missing values on to a model that takes none; put a "
                "SimpleImputer before it."
            )
        node = self._inner[missing[self._of_node[self._inner]]]
        left[node] = self._goes_left(row, np.zeros(node.size, dtype=np.int64), node)
        return left

    def _sets(self, last: FloatArray, falls: BoolArray) -> SetSplits | None:
        """Splits on columns of categories, and on those where an interval may go one way."""
        if not self._grouped:
            return None
        inner, column = self._inner, self._of_node[self._inner]
        of_node = np.full(self._ensemble.column.size, -1, dtype=np.int64)
        edges, members, count = {}, [], 0
        for own in sorted(self._grouped):
            mine = column == own
            cuts, points = self._points(own, last[mine])
            edges[own] = frozen(cuts)
            held = self._members(own, inner[mine], points)
            alike, index = np.unique(held, axis=0, return_inverse=True)
            of_node[inner[mine]] = count + np.ravel(index)
            members += list(alike)
            count += len(alike)
        return SetSplits(
            frozen(of_node),
            frozen(starts(np.array([m.size for m in members], dtype=np.int64))[:-1]),
            frozen(np.concatenate(members) if members else np.zeros(0, dtype=np.bool_)),
            edges,
            numbers=self._grouped - frozenset(self._raw.n_codes),
        )

    def _points(self, column: int, last: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The edges of a column's cells, and a value of each cell."""
        if column in self._raw.n_codes:
            codes = np.arange(float(self._raw.n_codes[column]))
            return codes[:-1], codes
        ends = self._missing_ends.get(column, last[:0])
        found = np.unique(np.concatenate([last, self._bin_edges(column), ends]))
        low, high = self._raw.low[column], self._raw.high[column]
        cuts = found[(found >= low) & (found < high)]
        points = np.append(cuts, high)
        sure = Stretches.joined(*np.array(self._unsure.get(column, np.zeros((0, 2)))).T)
        below = sure.down(points)
        return cuts, np.where(below > np.append(-np.inf, cuts), below, points)

    def _bin_edges(self, column: int) -> FloatArray:
        """The last number of each bin, found by a search on the number of the bin."""
        raw, edges = self._raw, [np.zeros(0)]
        blocks = {s.block for s in raw.sources if s.column == column and s.kind == "bins"}
        for block in sorted(blocks):
            inputs = [at for at, s in enumerate(raw.sources) if s.block == block]
            ranks = np.array([raw.sources[at].rank for at in inputs], dtype=np.float64)
            wanted = np.arange(ranks.size - 1)
            if wanted.size == 0:
                continue
            rough = np.full(wanted.size, raw.sources[inputs[0]].rough)
            questions = self._bins(column, inputs, ranks)
            edges.append(self._cross(questions, np.full(wanted.size, column), rough).last)
        found = np.concatenate(edges)
        return found[np.isfinite(found)]

    def _bins(self, column: int, inputs: list[int], ranks: FloatArray) -> Callable[[IntArray], Ask]:
        """What asks whether numbers of a column fall in one of the first bins."""

        def questions(wanted: IntArray) -> Ask:
            def ask(values: FloatArray) -> BoolArray:
                rows = np.tile(self._raw.template, (values.size, 1))
                rows[:, column] = values.ravel()
                bins = self._transform(rows, True)[:, inputs] @ ranks
                answers: BoolArray = bins.reshape(values.shape) <= wanted
                return answers

            return ask

        return questions

    def _members(self, column: int, node: IntArray, points: FloatArray) -> BoolArray:
        """Which cells go left at each node, bool (n_nodes, n_cells); the last is for missing."""
        raw = self._raw
        rows = np.tile(raw.template, (points.size, 1))
        rows[:, column] = points
        each = np.repeat(node, points.size)
        row = np.tile(np.arange(points.size), node.size)
        right = self._ensemble.turn_right(each, self._read(rows), row)
        left = ~right.reshape(node.size, points.size)
        gone = self._missing_left[node][:, None]
        return np.hstack([left, gone])


def _ranks(column: IntArray) -> IntArray:
    """0, 1, ... within each column, int64 (n,)."""
    order = np.argsort(column, kind="stable")
    first = np.searchsorted(column[order], column[order])
    ranks = np.empty_like(column)
    ranks[order] = np.arange(column.size) - first
    return ranks
