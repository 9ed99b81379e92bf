"""Proofs that others can check: a second search that records its steps, given the bound."""

import base64
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.core.arrays import FloatArray, IntArray, NarrowArray, frozen
from encoders.formulation.pose import Posed, pose
from encoders.presolve.bounds.prices import Prices
from encoders.presolve.bounds.row_prices import row_prices
from encoders.problem.flat_problem import Tables
from encoders.problem.problem import LevelRow, Problem
from encoders.query.features import FeatureSpace
from encoders.query.goal import ClassGoal
from encoders.query.query import Query
from encoders.search.cover import cover
from encoders.search.trace import CUT, SPLIT
from portfolio.checker import DEAREST, ONE
from portfolio.model.explained_model import ClassView, ExplainedModel
from portfolio.proofs.columns import columns_of
from portfolio.proofs.trees_read import trees_read

GRAIN = (
    10_000  # in the checker's units of cost; prices are multiples of it, which keeps records short
)


@dataclass(frozen=True)
class Cover:
    """A proof for one class.

    Attributes
    ----------
    refused : tuple of rows, rows near a tie that the model itself does not predict as the class.
    prices : tuple of (tree, column, first level, last level, price in units of cost).
    worth : tuple of int, price of each lead, in units of cost per 2^58 units of score; empty
        without prices.
    steps : bytes, compressed steps of the search tree.
    n_steps : int, number of steps.
    """

    refused: tuple[tuple[float, ...], ...]
    prices: tuple[tuple[int, ...], ...]
    worth: tuple[int, ...]
    steps: bytes
    n_steps: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in a record."""
        return {
            "refused": [list(row) for row in self.refused],
            "prices": [list(each) for each in self.prices],
            "worth": list(self.worth),
            "steps": base64.b64encode(self.steps).decode(),
        }


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits on the size of a proof and the time to write it."""

    n_bytes: float  # maximum size of the compressed steps
    deadline: float  # latest ``time.perf_counter()``
    over: Callable[[], bool]  # returns True once the user has interrupted

    def ended(self) -> str:
        """Return the reason why no time is left, or "" if there is some."""
        if self.over():
            return "it was interrupted"
        return "the time limit was reached" if time.perf_counter() >= self.deadline else ""

    def full(self, n_bytes: int) -> str:
        """Return the reason if the compressed steps are too large, else ""."""
        return "its steps exceed the size limit" if n_bytes > self.n_bytes else ""


class _Writer:
    """A writer that compresses steps as they arrive."""

    def __init__(self, limits: Limits) -> None:
        self.packer = zlib.compressobj(9, wbits=zlib.MAX_WBITS | 16)  # gzip format
        self.limits, self.parts, self.count, self.size = limits, [b""], 0, 0

    def write(self, steps: NarrowArray) -> bool:
        """Add steps of :func:`encoders.search.cover.cover`; return False to stop."""
        self.parts.append(self.packer.compress(_text(steps.tolist()).encode("ascii")))
        self.size += len(self.parts[-1])
        self.count += len(steps)
        return not (self.limits.ended() or self.limits.full(self.size))

    def packed(self) -> bytes:
        """Return all steps, compressed."""
        return b"".join([*self.parts, self.packer.flush()])


def _text(steps: list[list[int]]) -> str:
    """Return steps as lines; a cut becomes a split whose cut part is closed at once."""
    lines = []
    for what, axis, level, side in steps:
        if what == SPLIT:
            lines.append(f"split {axis} {level} {side ^ 1}\n")
        elif what == CUT:
            lines.append(f"split {axis} {level} {side}\nclose\n")
        else:
            lines.append("close\n")
    return "".join(lines)


def _as_checked(problem: Problem, space: FeatureSpace, query: Query) -> Problem:
    """Return the problem as the checker sees it, without one-hot groups of priced categories.

    The search bounds a group by its cheapest remaining category. The checker knows columns only.
    """
    cost, groups, rows = problem.cost.copy(), list(problem.one_hot), list(problem.level_rows)
    priced = [f for k, f in enumerate(space.features) if f.one_hot and query.cost.table(k)]
    columns = columns_of(space, query) if priced else []
    for axis in (column for feature in priced for column in feature.columns):
        entry = columns[axis]
        first, end = problem.level_start[axis : axis + 2]
        cost[first:end] = entry["weight"] * np.array(entry["prices"])
    for feature in priced:
        axes = np.array(feature.columns)
        here = np.isin(problem.axis_of, axes)
        group = next(group for group in groups if here[group].all())
        yes = np.isin(np.arange(cost.size), group)
        rows.append(LevelRow(frozen(yes.astype(np.int64)), 1))
        rows.append(LevelRow(frozen((here & ~yes).astype(np.int64)), axes.size - 1))
        groups = [other for other in groups if other is not group]
    return replace(problem, cost=frozen(cost), one_hot=tuple(groups), level_rows=tuple(rows))


def _units_of_score(posed: Posed, view: ClassView, goal: ClassGoal) -> FloatArray:
    """Return, for each leaf row, its units per unit of score (float array)."""
    begin, node = posed.problem.tree_start, view.cells.node[posed.source]
    scores = [(view.cells.score(posed.source), goal.target)]
    for companion in view.ensemble.companions:  # further outputs
        assert isinstance(companion.goal, ClassGoal)
        scores.append((companion.scores_at(node), companion.goal.target))
    leads = [score[:, [at]] - np.delete(score, at, axis=1) for score, at in scores]
    lead = np.concatenate(leads, axis=1)
    least = np.repeat(np.minimum.reduceat(lead, begin[:-1]), np.diff(begin), axis=0)
    weight = np.array([row.weight.sum() for row in posed.problem.leaf_rows], dtype=np.float64)
    spread = (lead - least).sum(axis=0)
    units: FloatArray = np.divide(weight, spread, out=np.zeros_like(weight), where=spread > 0)
    return units


def prove(
    model: ExplainedModel,
    query: Query,
    goal: ClassGoal,
    upper: float,
    below: float | None,
    limits: Limits,
) -> Cover | str:
    """Return the proof for one class, or the reason why there is none."""
    if why := limits.ended():
        return why
    class_query, view = replace(query, goal=goal), model.views[goal.target]
    posed = pose(view.ensemble, view.cells, model.space, class_query)
    oracle, read = replace(model.oracle(goal.target), margin=query.margin), model.once(trees_read)
    refused: list[tuple[float, ...]] = []
    prices: list[tuple[int, ...]] = []
    worth: list[int] = []

    def without(problem: Problem, levels: IntArray) -> Problem | None:
        row = posed.decode(levels)
        if oracle.accepts(row, goal):
            return None
        refused.append(tuple(row.tolist()))
        return problem.without(levels)

    def charge(tables: Tables) -> Prices:
        cost = np.minimum(tables.cost, DEAREST * unit)
        charges = row_prices(tables._replace(cost=cost), upper, GRAIN * unit)
        price = np.rint(charges.price / (GRAIN * unit)).astype(np.int64) * GRAIN
        tree = read.places(charges.tree, view.ensemble.root.size)
        rows = np.stack([tree, charges.axis, charges.first, charges.last, price], axis=1)
        prices.extend(map(tuple, rows.tolist()))
        per_unit = _units_of_score(posed, view, goal) / read.scale
        worth.extend(
            np.rint(np.ldexp(charges.worth * per_unit / unit, 58)).astype(np.int64).tolist()
        )
        return charges.prices

    writer, unit = _Writer(limits), (below or np.inf) / ONE
    problem = _as_checked(posed.problem, model.space, query)
    end = cover(problem, upper, without, writer.write, charge)
    if end == "refuted":
        return "a cheaper answer was found while the proof was written"
    steps = writer.packed()
    full = limits.full(len(steps))
    if why := full or ("" if end == "proved" else limits.ended()):
        return why
    return Cover(tuple(refused), tuple(prices), tuple(worth), steps, writer.count)
