"""All answers up to a cost: one row for each choice, as the model itself confirms them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from encoders.arrays import FloatArray, IntArray
from encoders.backends.search.listing import every_choice
from encoders.errors import BrokenProblemError
from encoders.posing.pose import Posed, pose
from encoders.posing.wide_columns import wide_columns
from encoders.query.features import same
from encoders.query.query import Query
from encoders.reduce.near import choices_within
from portfolio.model.explained_model import ExplainedModel
from portfolio.solving.findings import BROKEN, INEXACT, MISREAD
from portfolio.solving.verify import priced

KEPT = 1e-9  # relative; a limit on the cost counts as kept up to this


@dataclass(frozen=True, eq=False)
class NearRows:
    """Answers that cost at most so much.

    Attributes
    ----------
    row : float64 (n_rows, n_columns), the cheapest first
    cost : float64 (n_rows,)
    whole : whether these are all
    full : whether there were too many to list
    doubt : why nothing is proved, "" if proofs hold
    """

    row: FloatArray
    cost: FloatArray
    whole: bool
    full: bool = False
    doubt: str = ""

    def including(self, row: FloatArray, cost: float) -> "NearRows":
        """The same, and an answer that is known besides."""
        if any(same(each, row).all() for each in self.row):
            return self
        at = int(np.searchsorted(self.cost, cost))
        return replace(
            self, row=np.insert(self.row, at, row, axis=0), cost=np.insert(self.cost, at, cost)
        )

    def up_to(self, limit: float) -> "NearRows":
        """Those that cost at most so much."""
        kept = self.cost <= limit * (1 + KEPT)
        return replace(self, row=self.row[kept], cost=self.cost[kept])


def near_rows(
    model: ExplainedModel, query: Query, limit: float, most: int, over: Callable[[int], bool]
) -> NearRows:
    """List answers, the cheapest of each part of the question first."""
    rows: list[FloatArray] = []
    costs: list[FloatArray] = []
    looked, whole, doubt = 0, True, ""
    for posed in _parts(model, query, limit):
        doubt = doubt or _doubt(posed)
        upper = above(limit, posed.problem.cost)
        left = choices_within(posed.problem, upper)
        if left is None:
            continue
        found, whole = every_choice(left[0], upper, most - looked, partial(_more, over, looked))
        looked += len(found)
        row, cost = _decoded(model, query, posed, [left[1].up(levels) for levels in found])
        rows.append(row)
        costs.append(cost)
        if not whole:
            break
    row = np.concatenate([np.empty((0, query.row.size)), *rows])
    cost = np.concatenate([np.empty(0), *costs])
    oracle = replace(model.oracle(query.goal.target), margin=query.margin)
    taken = oracle.accepted(row, query.goal, query.margin)
    if any(oracle.contradicts_the_trees(each, query.goal) for each in row[~taken]):
        doubt = doubt or MISREAD
    order = np.flatnonzero(taken)[np.argsort(cost[taken], kind="stable")]
    full = not whole and not over(looked)
    return NearRows(row[order], cost[order], whole, full, doubt).up_to(limit)


def _more(over: Callable[[int], bool], before: int, found: int) -> bool:
    return over(before + found)


def _parts(model: ExplainedModel, query: Query, limit: float) -> Iterator[Posed]:
    """The question as posed; where a column has very many classes, those that matter, in parts."""
    view, space = model.views[query.goal.target], model.space
    given = (view.ensemble, view.cells, space, query)
    wide = None if query.related is not None else wide_columns(*given)
    if wide is None:
        yield pose(*given)
        return
    waiting = [wide.everything]
    while waiting:
        region = wide.narrowed(waiting.pop(), above(limit, wide.tables.cost))
        if region is not None:
            best, rest = wide.part(region)
            waiting += rest
            yield pose(*given, best)


def above(limit: float, cost: FloatArray) -> float:
    """What costs at most the limit, rounding included, costs less than this."""
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
    """The rows of choices and their costs; those that break a relation are left out."""
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
    """One value per feature, as of :meth:`FeatureSpace.values`, float64 (n_rows, n_features)."""
    return model.space.values_of_rows(rows)
