"""Enumeration of all counterfactuals up to a cost, each verified by the model."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from encoders.core.arrays import FloatArray, IntArray
from encoders.core.errors import BrokenProblemError
from encoders.formulation.pose import Posed, pose
from encoders.formulation.wide_columns import wide_columns
from encoders.presolve.near import choices_within
from encoders.query.features import same
from encoders.query.query import Query
from encoders.search.listing import every_choice
from portfolio.engine.findings import BROKEN, INEXACT, MISREAD
from portfolio.engine.verify import priced
from portfolio.model.explained_model import ExplainedModel

KEPT = 1e-9  # relative tolerance of limits on the cost


@dataclass(frozen=True, eq=False)
class NearRows:
    """Counterfactuals up to a cost."""

    row: FloatArray  # float64 (n_rows, n_columns), the cheapest first
    cost: FloatArray  # float64 (n_rows,)
    whole: bool  # whether these are all
    full: bool = False  # whether there were too many to list
    doubt: str = ""  # reason why nothing is proved, "" if proofs hold

    def including(self, row: FloatArray, cost: float) -> "NearRows":
        """Return the same with another known answer."""
        if any(same(each, row).all() for each in self.row):
            return self
        at = int(np.searchsorted(self.cost, cost))
        return replace(
            self, row=np.insert(self.row, at, row, axis=0), cost=np.insert(self.cost, at, cost)
        )

    def up_to(self, limit: float) -> "NearRows":
        """Return the answers up to a cost."""
        kept = self.cost <= limit * (1 + KEPT)
        return replace(self, row=self.row[kept], cost=self.cost[kept])


def near_rows(
    model: ExplainedModel, query: Query, limit: float, most: int, over: Callable[[int], bool]
) -> NearRows:
    """List answers, the cheapest of each part of the problem first."""
    rows: list[FloatArray] = []
    costs: list[FloatArray] = []
    n_listed, whole, doubt = 0, True, ""
    for posed in _parts(model, query, limit):
        doubt = doubt or _doubt(posed)
        upper = above(limit, posed.problem.cost)
        smaller = choices_within(posed.problem, upper)
        if smaller is None:
            continue
        stop = partial(_more, over, n_listed)
        choices, whole = every_choice(smaller[0], upper, most - n_listed, stop)
        n_listed += len(choices)
        row, cost = _decoded(model, query, posed, [smaller[1].up(levels) for levels in choices])
        rows.append(row)
        costs.append(cost)
        if not whole:
            break
    row = np.concatenate([np.empty((0, query.row.size)), *rows])
    cost = np.concatenate([np.empty(0), *costs])
    oracle = replace(model.oracle(query.goal.target), margin=query.margin)
    accepted = oracle.accepted(row, query.goal, query.margin)
    if any(oracle.contradicts_the_trees(each, query.goal) for each in row[~accepted]):
        doubt = doubt or MISREAD
    order = np.flatnonzero(accepted)[np.argsort(cost[accepted], kind="stable")]
    full = not whole and not over(n_listed)
    return NearRows(row[order], cost[order], whole, full, doubt).up_to(limit)


def _more(over: Callable[[int], bool], before: int, count: int) -> bool:
    return over(before + count)


def _parts(model: ExplainedModel, query: Query, limit: float) -> Iterator[Posed]:
    """Yield the encoded problem; for high-cardinality columns split into parts that matter."""
    view, space = model.views[query.goal.target], model.space
    args = (view.ensemble, view.cells, space, query)
    wide = None if query.related is not None else wide_columns(*args)
    if wide is None:
        yield pose(*args)
        return
    waiting = [wide.everything]
    while waiting:
        region = wide.narrowed(waiting.pop(), above(limit, wide.tables.cost))
        if region is not None:
            best, rest = wide.part(region)
            waiting += rest
            yield pose(*args, best)


def above(limit: float, cost: FloatArray) -> float:
    """Return a cutoff such that everything up to the limit, rounding included, costs less."""
    if limit > 0:
        return limit * (1 + 2 * KEPT)
    return float(cost[cost > 0].min(initial=1.0))


def _doubt(posed: Posed) -> str:
    if not posed.problem.exact:
        return INEXACT
    try:
        posed.problem.check()
    except BrokenProblemError as error:
        return BROKEN.format(error)
    return ""


def _decoded(
    model: ExplainedModel, query: Query, posed: Posed, choices: list[IntArray]
) -> tuple[FloatArray, FloatArray]:
    """Return the rows of choices and their costs, without rows that break a relation."""
    row = np.array([posed.decode(levels) for levels in choices]).reshape(-1, query.row.size)
    if query.related is not None:
        row = np.unique(row[[priced(each, query, model.space) is not None for each in row]], axis=0)
    start, values = model.space.values(query.row), feature_values(model, row)
    parts = [
        query.cost.of(index, feature, float(start[index]), values[:, index], admissible)
        for index, (feature, admissible) in enumerate(
            zip(model.space.features, query.admissible, strict=True)
        )
    ]
    cost = np.column_stack(parts)
    return row, cost.max(axis=1) if query.cost.aggregate == "max" else cost.sum(axis=1)


def feature_values(model: ExplainedModel, rows: FloatArray) -> FloatArray:
    """Return one value per feature, float64 (n_rows, n_features)."""
    return model.space.values_of_rows(rows)
