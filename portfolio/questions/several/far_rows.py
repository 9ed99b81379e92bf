"""Search for counterfactuals far from others if there are too many to list."""

import time
from dataclasses import dataclass, replace

import numpy as np

from encoders.backends.interface import Request
from encoders.core.arrays import FloatArray, IntArray
from encoders.formulation.pose import Posed, pose
from encoders.formulation.wide_columns import wide_columns
from encoders.presolve.compress import Lift
from encoders.presolve.near import choices_within
from encoders.problem.problem import Box, LevelRow, Problem
from encoders.query.query import Query
from portfolio.engine.findings import MISREAD
from portfolio.engine.verify import priced
from portfolio.model.explained_model import ExplainedModel
from portfolio.questions.any_choice import find_accepted
from portfolio.questions.several.dispersion import SAME, OnBounds
from portfolio.questions.several.near_rows import KEPT, above, feature_values
from portfolio.questions.several.ruler import Ruler

GAP_UNITS = 2.0**40  # integer units of a distance; gaps are rounded down to them
CLOSE = 1.05  # smallest factor of a distance that is searched for
SHARE = 0.3  # share of the remaining time for one query
MOST_REFUSED = 20  # choices that the model rejects before a query counts as undecided


@dataclass(eq=False)
class FarRows:
    """Counterfactuals up to a cost.

    Attributes
    ----------
    model, query, ruler : model, query and distance; the distance is a sum over features.
    limit : float, limit on the cost.
    posed : Posed, encoded query.
    problem : Problem, the same without cells that the model rejected.
    doubt : str, reason why nothing is proved, "" if bounds hold.
    """

    model: ExplainedModel
    query: Query
    ruler: Ruler
    limit: float
    posed: Posed
    problem: Problem
    doubt: str = ""

    def exchanged(
        self, rows: FloatArray, upper: float, request: Request, report: OnBounds
    ) -> tuple[FloatArray, float, bool]:
        """Exchange each row for one farther from the others, as long as there is any.

        Return the rows, an upper bound on the smallest distance, and whether no exchange is left.
        Two of any ``k`` answers are nearest to the same one of ``k - 1`` rows. They are therefore
        at most twice as far apart as the farthest answer is from these rows (Gonzalez, 1985).
        """
        rows, idle, at = rows.copy(), 0, 0
        end = time.perf_counter() + request.time_limit_s
        while idle < len(rows) and not request.stop.is_set() and time.perf_counter() < end:
            others = np.delete(rows, at, axis=0)
            least = self._least(rows[at], others)
            farther, most, settled = self._farther(others, least, request, end)
            upper, idle = min(upper, 2 * most), idle + 1 if settled else 0
            if farther is not None and self._least(farther, others) > least * (1 + SAME):
                rows[at], idle = farther, 0
            at = (at + 1) % len(rows)
            report(upper, self.ruler.least(feature_values(self.model, rows)))
        return rows, upper, idle >= len(rows)

    def _least(self, row: FloatArray, others: FloatArray) -> float:
        one, rest = (feature_values(self.model, each) for each in (row[None, :], others))
        return float(self.ruler.between(one, rest).min())

    def _farther(
        self, others: FloatArray, least: float, request: Request, end: float
    ) -> tuple[FloatArray | None, float, bool]:
        """Return the farthest answer from some rows, up to a factor.

        Also return an upper bound on that distance, and whether it is within the factor.
        """
        gaps = [self._gaps(each) for each in feature_values(self.model, others)]
        best, most = None, 2 * self.limit
        while most > least * CLOSE:
            middle = (least + most) / 2
            left_s = (end - time.perf_counter()) * SHARE
            answer, none = self._beyond(gaps, middle, replace(request, time_limit_s=left_s))
            if answer is not None:
                best, least = answer, max(middle, self._least(answer, others))
            elif none:
                most = middle
            else:
                break
        return best, most, most <= least * CLOSE

    def _beyond(
        self, gaps: list[FloatArray], apart: float, request: Request
    ) -> tuple[FloatArray | None, bool]:
        """Return an answer this far from some rows, or None, and whether none is proved."""
        rows = tuple(_level_row(self.problem, gap, apart) for gap in gaps)
        upper = above(self.limit, self.problem.cost)

        def reduced() -> tuple[Problem, Lift] | None:
            level_rows = (*self.problem.level_rows, *rows)
            return choices_within(replace(self.problem, level_rows=level_rows), upper)

        deadline = time.perf_counter() + request.time_limit_s
        limited = replace(request, cutoff=upper)
        answer, end = find_accepted(reduced, self._accept, limited, deadline, MOST_REFUSED)
        return answer, end == "none"

    def _accept(self, choice: IntArray) -> FloatArray | None:
        """Return the row of a choice; None if it is not an answer, and exclude it."""
        row = self.posed.decode(choice)
        cut = self._refused(row, choice)
        if cut is None:
            return row
        self.problem = cut
        return None

    def _refused(self, row: FloatArray, choice: IntArray) -> Problem | None:
        """Return the problem without a row that is not an answer; None if it is one."""
        verified = priced(row, self.query, self.model.space)
        if verified is None or verified.distance > self.limit * (1 + KEPT):
            alone = Box(np.arange(choice.size), choice, choice)
            return replace(self.problem, forbidden=(*self.problem.forbidden, alone))
        oracle = replace(self.model.oracle(self.query.goal.target), margin=self.query.margin)
        if oracle.accepted(row[None, :], self.query.goal, self.query.margin)[0]:
            return None
        if oracle.contradicts_the_trees(row, self.query.goal):
            self.doubt = MISREAD
        return self.posed.without(self.problem, choice)

    def _gaps(self, values: FloatArray) -> FloatArray:
        """Return the contribution of each level to the distance from a row, float64 (n_levels,)."""
        posed, first = self.posed, self.posed.problem.level_start
        gap = np.zeros(self.problem.cost.size)
        of_column = {
            column: (index, feature)
            for index, feature in enumerate(self.model.space.features)
            for column in feature.columns
        }
        for axis, column in enumerate(posed.column.tolist()):
            levels = slice(int(first[axis]), int(first[axis + 1]))
            index, feature = of_column[column]
            value = posed.value[levels]
            says = np.ones(value.size, dtype=np.bool_) if posed.says is None else posed.says[levels]
            if feature.one_hot:
                category = feature.columns.index(column)
                if axis and posed.column[axis - 1] == column:  # category of a row of zeros
                    category += 1
                says, value = value == 1, np.full(value.size, float(category))
            part = self.ruler.part(index, values[index : index + 1], value)
            gap[levels] = np.where(says, part, 0.0)
        return gap


def _level_row(problem: Problem, gap: FloatArray, apart: float) -> LevelRow:
    """Return the row that requires a distance: the gap to the widest distance is limited."""
    owner = problem.axis_of
    widest = np.maximum.reduceat(gap, problem.level_start[:-1])
    unit = (float(widest.sum()) or 1.0) / GAP_UNITS
    weight = np.floor((widest[owner] - gap) / unit).astype(np.int64)
    return LevelRow(weight, int(np.ceil((widest.sum() - apart) / unit)) + 1)


def far_rows(model: ExplainedModel, query: Query, ruler: Ruler, limit: float) -> FarRows | None:
    """Return the search for answers up to a cost; None for huge columns or the norm "inf"."""
    view, space = model.views[query.goal.target], model.space
    args = (view.ensemble, view.cells, space, query)
    if ruler.largest or (query.related is None and wide_columns(*args) is not None):
        return None
    posed = pose(*args)
    return FarRows(model, query, ruler, limit, posed, posed.problem)
