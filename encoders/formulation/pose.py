"""Ensemble + query -> :class:`Problem`, and a choice of levels -> row."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from encoders.core.arrays import BoolArray, FloatArray, IntArray, frozen, owners, starts
from encoders.core.errors import Over, look, never
from encoders.formulation.companion_rows import companion_rows
from encoders.formulation.goal_rows import goal_rows, relaxation_of, tangent
from encoders.formulation.layout import Layout, Nearest, make_layout
from encoders.formulation.literals import Literals, place_literals
from encoders.formulation.related_levels import RelatedLevels, relate_levels
from encoders.formulation.relaxation import Relaxation
from encoders.formulation.requirements import Part
from encoders.formulation.sum_levels import Settled
from encoders.problem.problem import LeafRow, LevelRow, Problem
from encoders.query.features import FeatureSpace
from encoders.query.query import Query
from encoders.trees.cells import Cells
from encoders.trees.ensemble import Ensemble


@dataclass(frozen=True, eq=False)
class Posed:
    """Problem of a query, and the meaning of its levels.

    Attributes
    ----------
    problem : axes in the order of the columns.
    value : float64 (n_levels,), column value of each level.
    nearest : function of each axis from codes of its column to the nearest level.
    column : int64 (n_axes,), the column of each axis.
    cut : function of problem and choice that returns a row which every answer keeps and the choice
        does not, or None.
    source : int64 (n_leaves,), index of each leaf among the cells' leaves.
    says : bool (n_levels,), whether a level determines its column's value; None: all do.
    related : relations between features, or None; their axes come after the columns'.
    relaxation : rows of parts of the goal; the problem has those of the whole. None if the rows are
        the goal but for rounding.
    goal_rows : number of the goal's rows, which are the first leaf rows.
    parted : function that adds the leaves of choices with higher cost, so that trees partition the
        space, unless its argument returns that time is up; None where they do.
    additive : whether walks over the terms of an additive model found a choice, so that walks from
        training rows find no cheaper one.
    """

    problem: Problem
    value: FloatArray
    nearest: tuple[Nearest, ...]
    column: IntArray
    cut: Callable[[Problem, IntArray], LeafRow | None]
    source: IntArray
    says: BoolArray | None = None
    related: RelatedLevels | None = None
    relaxation: Relaxation | None = None
    goal_rows: int = 0
    parted: Callable[[Over], "Posed | None"] | None = None
    additive: bool = False

    def all_leaves(self, over: Over = never) -> Problem:
        """Return the problem with leaves of costlier choices too: its trees partition the space."""
        parted = None if self.parted is None else self.parted(over)
        return self.problem if parted is None else parted.problem

    def within(self, part: Part) -> "Posed":
        """Return the encoding with the rows of a part of the goal."""
        relaxation = self.relaxation
        assert relaxation is not None
        rows = relaxation.rows(part) + self.problem.leaf_rows[self.goal_rows :]
        return replace(
            self,
            problem=replace(self.problem, leaf_rows=rows),
            cut=partial(relaxation.cut, part),
            goal_rows=len(rows) - len(self.problem.leaf_rows) + self.goal_rows,
        )

    def only(self, alive: BoolArray) -> "Posed":
        """Return the encoding with fewer leaves: choices in the others are not answers."""
        relaxation = None if self.relaxation is None else self.relaxation.only(alive)
        problem = self.problem.only(alive)
        return replace(self, problem=problem, source=self.source[alive], relaxation=relaxation)

    def decode(self, levels: IntArray) -> FloatArray:
        """Return the row of a choice of levels, float64 (n_columns,)."""
        chosen = self.problem.level_start[: self.column.size] + levels[: self.column.size]
        row: FloatArray = self.value[chosen]
        if self.says is None:
            return row
        telling = self.says[chosen]
        found = np.empty(int(self.column[-1]) + 1)
        found[self.column[telling]] = row[telling]
        return found

    def decode_related(self, levels: IntArray) -> tuple[FloatArray, list[Settled]]:
        """Return a row whose numbers are moved within cells to keep sums, and outcomes of sums."""
        row = self.decode(levels)
        if self.related is None:
            return row, []
        parts = self.related.sums.settle(levels)
        for part in parts:
            for index, value in (part.values or {}).items():
                row[self.related.sums.space.features[index].column] = value
        return row, parts

    def settled(self, problem: Problem, levels: IntArray, part: Settled) -> Problem:
        """Return a problem that forbids the cells of a settled sum, or adds their joint cost."""
        assert self.related is not None
        return self.related.sums.cut(problem, levels, part)

    def bounded(self, problem: Problem, upper: float) -> Problem:
        """Return the problem with sums restricted by the cost limit; see :class:`SumLevels`."""
        if self.related is None:
            return problem
        return self.related.sums.bounded(problem, self.problem, upper)

    def completed(self, problem: Problem, choices: IntArray) -> IntArray:
        """Choices of the first axes with levels of those that relations have added since."""
        if len(choices) == 0:
            return np.empty((0, problem.n_axes), dtype=np.int64)
        if self.related is None or choices.shape[1] == problem.n_axes:
            return choices
        return np.array([self.related.complete(problem, levels) for levels in choices])

    def without(self, problem: Problem, levels: IntArray) -> Problem:
        """Return a problem without a rejected choice and all others rejected for its reason."""
        row = self.cut(problem, levels)
        rows = problem.leaf_rows if row is None else (*problem.leaf_rows, row)
        return replace(problem.without(levels), leaf_rows=rows)

    def closest(self, codes: IntArray, count: int) -> IntArray:
        """Return the cheapest of many rows as choices of levels, int64 (at most count, n_axes).

        ``codes`` are rows as in :class:`encoders.formulation.starting_points.Reference`.
        """
        cost = np.zeros(len(codes))
        for axis, (column, nearest) in enumerate(zip(self.column, self.nearest, strict=True)):
            own = self.problem.cost[self.problem.level_start[axis] :]
            price = nearest.prices(codes[:, column], own)
            cost = cost + price if self.problem.aggregate == "sum" else np.maximum(cost, price)
        cheapest = codes[np.argsort(cost, kind="stable")[:count]]
        levels = np.empty((len(cheapest), self.column.size), dtype=np.int64)
        for axis, (column, nearest) in enumerate(zip(self.column, self.nearest, strict=True)):
            levels[:, axis] = nearest.levels(cheapest[:, column])
        return self.completed(self.problem, levels)


def pose(
    ensemble: Ensemble,
    cells: Cells,
    space: FeatureSpace,
    query: Query,
    within: Mapping[int, BoolArray] | None = None,
    over: Over = never,
) -> Posed:
    """Give every option its cost and drop what the constraints rule out.

    One axis per column, in order, and one per class of a column that is split into sets. Pure and
    thread safe.
    """
    layout = make_layout(ensemble, cells, space, query, within or {}, over)
    return pose_layout(ensemble, cells, space, query, layout, over=over)


def pose_layout(
    ensemble: Ensemble,
    cells: Cells,
    space: FeatureSpace,
    query: Query,
    layout: Layout,
    placed: Literals | None = None,
    over: Over = never,
) -> Posed:
    """Encode a query whose axes are known."""
    placed = placed or place_literals(cells, layout, over)
    look(over)
    tree = owners(cells.tree_start)[placed.source]
    tree_start = starts(np.bincount(tree, minlength=cells.tree_start.size - 1))
    asked = _rows(ensemble, cells, placed.source, tree_start, query)
    look(over)
    problem = Problem(
        level_start=frozen(layout.level_start),
        cost=frozen(np.concatenate([axis.cost for axis in layout.axes])),
        aggregate=query.cost.aggregate,
        one_hot=tuple(layout.exactly_one()),
        tree_start=frozen(tree_start),
        leaf_start=frozen(placed.leaf_start),
        axis=frozen(placed.axis),
        lo=frozen(placed.lo),
        hi=frozen(placed.hi),
        leaf_rows=asked.rows,
        level_rows=sparsity(layout, query, space),
        exact=asked.exact,
    )
    related = None
    if query.related is not None:
        related = relate_levels(query.related, layout, cells.boundary, ensemble, query, space)
        problem = related.posed(problem, over)
    return Posed(
        problem,
        value=frozen(layout.value),
        nearest=tuple(layout.nearest(cells)),
        column=frozen(layout.column),
        cut=asked.cut,
        source=frozen(placed.source),
        says=None if layout.one_per_column and not layout.classes else frozen(layout.says),
        related=related,
        relaxation=asked.relaxation,
        goal_rows=asked.of_goal,
    )


class _Rows(NamedTuple):
    """Leaf rows of a goal; see :class:`Posed` and :class:`Problem`."""

    rows: tuple[LeafRow, ...]
    exact: bool
    cut: Callable[[Problem, IntArray], LeafRow | None]
    relaxation: Relaxation | None
    of_goal: int


def _rows(
    ensemble: Ensemble, cells: Cells, source: IntArray, tree_start: IntArray, query: Query
) -> _Rows:
    score = cells.score(source)
    asked = (score, tree_start, ensemble, query.goal, query.margin)
    relaxation = relaxation_of(*asked)
    cut: Callable[[Problem, IntArray], LeafRow | None]
    if relaxation is None:
        (rows, exact), cut = goal_rows(*asked), partial(tangent, score, ensemble, query.goal)
    else:
        whole = relaxation.whole
        (rows, exact), cut = (relaxation.rows(whole), True), partial(relaxation.cut, whole)
    of_goal = len(rows)
    for companion in ensemble.companions:
        rows += companion_rows(companion, cells.node[source], tree_start, query.goal)
    return _Rows(rows, exact, cut, relaxation, of_goal)


def pose_another(posed: Posed, ensemble: Ensemble, cells: Cells, query: Query) -> Posed:
    """Replace the goal; axes stay as costs and constraints define them."""
    assert posed.related is None
    problem = posed.problem
    asked = _rows(ensemble, cells, posed.source, problem.tree_start, query)
    return replace(
        posed,
        problem=replace(problem, leaf_rows=asked.rows, exact=asked.exact),
        cut=asked.cut,
        relaxation=asked.relaxation,
        goal_rows=asked.of_goal,
    )


def sparsity(layout: Layout, query: Query, space: FeatureSpace) -> tuple[LevelRow, ...]:
    """Return one row per limit on the number of changed features."""
    rows = []
    changed = np.concatenate([axis.changed for axis in layout.axes])
    for limit in query.max_changes:
        counted = changed
        if limit.features is not None:
            columns = [c for index in limit.features for c in space.features[index].columns]
            of_level = layout.column[owners(layout.level_start)]
            counted = changed & np.isin(of_level, columns)
        rows.append(LevelRow(frozen(counted.astype(np.int64)), limit.count))
    return tuple(rows)
