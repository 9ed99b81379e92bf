"""Search for diverse counterfactuals among those of almost minimal cost."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.backends.interface import StopReason
from encoders.core.arrays import FloatArray
from encoders.core.errors import InputError
from encoders.query.query import Query
from portfolio.engine.ask import Asker
from portfolio.engine.findings import MISREAD
from portfolio.engine.interruptible import interruptible
from portfolio.engine.onward import with_onward
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import check_progress
from portfolio.engine.rounder import Rounder
from portfolio.engine.series import LEAST_S, Series
from portfolio.engine.ties import check_countable
from portfolio.engine.verify import priced
from portfolio.engine.warm_up import warm_up
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.goals import goal_of
from portfolio.questions.records import DiverseQuestion
from portfolio.questions.several.dispersion import SAME, Dispersion, OnBounds
from portfolio.questions.several.diverse import Diverse
from portfolio.questions.several.far_rows import CLOSE, far_rows
from portfolio.questions.several.near_rows import NearRows, feature_values, near_rows
from portfolio.questions.several.ruler import Ruler, ruler_of
from portfolio.results.result import Result

MOST = 20  # answers; the search for this many ends without a proof
MOST_LISTED = 100_000  # answers to compare; listing more takes more than ten seconds
LARGEST_SHARE = 1e6  # of ``within``: larger sums lose their digits in float64
LISTING, SEARCHING = 0.3, 0.9  # shares of the time limit at which these phases end
FEW = 1_000  # answers; up to this many, listing may use the time of the search
NONE_FARTHER = (
    f"Replacing one of them by any other answer gains at most {CLOSE - 1:.0%} distance (proved)."
)
TOO_MANY = "More than {:,} answers are within the limit; the others were not listed."


@interruptible
def find_diverse(
    asker: Asker, x: Any, question: DiverseQuestion, on_progress: OnProgress | None = None
) -> Diverse:
    """Find the answers that are farthest apart among those of almost minimal cost."""
    k, within = question.k, question.within
    settings, options = question.settings, question.options
    warm_up("lists")
    _check(k, within)
    check_progress(on_progress)
    asker.check_classes()
    series = Series(asker, asker.read(x), settings, options)
    model = asker.model
    check_countable(model, series.row, settings, "diverse")
    query = settings.query(
        model, series.row, goal_of(model, settings.target, series.row.values, "diverse()")
    )
    ruler = ruler_of(settings, query, model.space)
    first = series.ask_plainly(settings)

    def report(upper: float, lower: float) -> None:
        if on_progress is not None:
            on_progress(series.seconds, upper, lower)

    def past(share: float) -> bool:
        return asker.stopped or series.seconds >= share * options.time_limit_s

    exchanges = not ruler.largest and ruler.keeps_triangles(_corners(model, query, ruler))

    def listed_enough(found: int) -> bool:
        return past(LISTING if found >= FEW and exchanges else SEARCHING)

    search = DiverseSearch(series, query, first, within)
    if first.row is None:
        return search.nothing()
    limit = (1 + within) * first.distance
    near = NearRows(np.empty((0, query.row.size)), np.empty(0), False)
    if not past(1.0):
        near = near_rows(model, query, limit, MOST_LISTED, listed_enough)
    if not near.cost.size and near.whole:  # the list lacks the first answer
        near = replace(near, whole=False, doubt=near.doubt or MISREAD)
    if near.whole:  # the first answer may not be proved
        limit = (1 + within) * float(near.cost[0])
        near = near.up_to(limit)
    values = feature_values(model, near.row)
    if near.whole and near.cost.size < k:
        apart = ruler.least(values)
        report(apart, apart)
        return search.result(limit, near, near.row, apart, apart)
    if near.whole:
        best = Dispersion(ruler, values, k, lambda: past(SEARCHING), lambda: past(1.0), report)
        best.run()
        return search.result(limit, near, near.row[best.cheapest()], best.apart, best.upper)
    return _unlisted(search, near, ruler, k, limit, past, report)


def _unlisted(
    search: "DiverseSearch",
    near: NearRows,
    ruler: Ruler,
    k: int,
    limit: float,
    past: Callable[[float], bool],
    report: OnBounds,
) -> Diverse:
    """Return the farthest of the listed answers, exchanged for farther ones not listed."""
    series, query, model = search.series, search.query, search.series.asker.model
    first = search.first.row
    assert first is not None
    near = near.including(first.values, search.first.distance)
    metric = ruler.keeps_triangles(_corners(model, query, ruler))
    upper = 2 * limit if metric else math.inf
    rows, settled = near.row[:k], False
    if len(rows) == k and not past(SEARCHING):
        values = feature_values(model, near.row)
        best = Dispersion(ruler, values, k, lambda: True, lambda: True)
        rows = near.row[best.cheapest()]
        report(upper, best.apart)
        far = far_rows(model, query, ruler, limit) if metric else None
        if far is not None:
            left_s = SEARCHING * series.options.time_limit_s - series.seconds
            limited = replace(series.options, time_limit_s=max(left_s, LEAST_S))
            request = series.asker.request(limited)
            rows, upper, settled = far.exchanged(rows, upper, request, report)
            near = replace(near, doubt=near.doubt or far.doubt)
    apart = ruler.least(feature_values(model, rows))
    report(upper, apart)
    return search.result(limit, near, rows, apart, upper, settled)


def _corners(model: ExplainedModel, query: Query, ruler: Ruler) -> FloatArray:
    """Return the bounds of each feature, the query, and the query with missing values, as rows."""
    ends = [(feature.lower, feature.upper) for feature in model.space.features]
    before = model.space.values(query.row)
    return np.vstack([np.array(ends).T, before, np.where(ruler.lacking, np.nan, before)])


def _check(k: int, within: float) -> None:
    if not isinstance(k, int) or isinstance(k, bool) or not 2 <= k <= MOST:
        raise InputError(f"k must be a whole number from 2 to {MOST}, got {k!r}.")
    number = isinstance(within, int | float | np.number) and not isinstance(within, bool)
    if not (number and 0 <= within <= LARGEST_SHARE):
        raise InputError(f"within must be a number from 0 to {LARGEST_SHARE:g}, got {within!r}.")


@dataclass(frozen=True, eq=False)
class DiverseSearch:
    """Query and its cheapest answer; builds the final result."""

    series: Series  # the row, the question and its limits
    query: Query
    first: Result  # the cheapest answer
    within: float  # as in :class:`Diverse`

    def nothing(self) -> Diverse:
        """Return the result for a query without an answer, or if none was found."""
        none = self.first.status == "infeasible"
        return Diverse(
            status=self.first.status,
            stop_reason=self.first.stop_reason,
            answers=(),
            within=self.within,
            limit=math.inf,
            apart=math.inf,
            upper_bound=math.inf,
            complete=none,
            listed=0 if none else None,
            target=self.first.target,
            seconds=self.series.seconds,
            message=self.first.message,
        )

    def result(
        self,
        limit: float,
        near: NearRows,
        rows: FloatArray,
        apart: float,
        upper: float,
        settled: bool = False,
    ) -> Diverse:
        """Return the result for answers that were found."""
        verified = [answer for row in rows if (answer := self._answer(row)) is not None]
        answers = tuple(sorted(verified, key=lambda answer: answer.distance))
        doubt = near.doubt or ("" if len(answers) == len(rows) else MISREAD)
        complete = near.whole and not doubt and len(rows) == near.cost.size
        proved = complete or (near.whole and not doubt and upper <= apart * (1 + SAME))
        over = not settled and (self.series.over or not near.full)
        cut: StopReason = self.series.asker.why if over else "gap"
        many = TOO_MANY.format(near.cost.size) if near.full and not over else ""
        many = " ".join(filter(None, [many, NONE_FARTHER if settled and not proved else ""]))
        return Diverse(
            status="optimal" if proved else "feasible",
            stop_reason="proved" if proved else "error" if doubt else cut,
            answers=answers,
            within=self.within,
            limit=limit,
            apart=apart,
            upper_bound=math.inf if doubt else upper,
            complete=complete,
            listed=near.cost.size if near.whole and not doubt else None,
            target=self.first.target,
            seconds=self.series.seconds,
            message=doubt or many,
        )

    def _answer(self, row: FloatArray) -> Result | None:
        """Return a row as a verified answer; None if the model rejects it."""
        asker, first, query_row = self.series.asker, self.first, self.series.row
        model, goal = asker.model, self.query.goal
        oracle = replace(model.oracle(goal.target), margin=self.query.margin)
        verified = priced(row, self.query, model.space)
        if verified is None or not oracle.accepts_with(row, goal, self.query.margin):
            return None
        ensemble = oracle.ensemble
        onward = with_onward(verified.changed, row, self.query, model.space, ensemble)
        verified = replace(verified, changed=onward)
        changed = tuple(change.feature for change in verified.changed)
        answer_row, regional = query_row.holding(row), asker.regional
        cheapest = verified.distance <= first.lower_bound * (1 + SAME)
        return replace(
            first,
            status="optimal" if cheapest else "feasible",
            distance=verified.distance,
            changed=verified.changed,
            row=answer_row,
            scoring=None if first.scoring is None else replace(first.scoring, after=row),
            rounder=Rounder(self.query, model.space, oracle, verified, query_row),
            regional=regional and regional(asker, answer_row, goal, first.target, changed),
        )
