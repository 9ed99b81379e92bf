"""Lists the answers that cost little more than the cheapest, and looks for those far apart."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from encoders.arrays import FloatArray
from encoders.backends.interface import StopReason
from encoders.errors import InputError
from encoders.query.goal import ClassGoal, Goal
from encoders.query.query import Query
from portfolio.goals import value_goal, wanted_of
from portfolio.model.explained_model import ExplainedModel
from portfolio.model.native import predict_one
from portfolio.question import Options, Question, check_progress
from portfolio.questions.interruptible import interruptible
from portfolio.questions.series import LEAST_S, Series
from portfolio.questions.several.dispersion import SAME, Dispersion, OnBounds
from portfolio.questions.several.diverse import Diverse
from portfolio.questions.several.far_rows import CLOSE, far_rows
from portfolio.questions.several.near_rows import NearRows, feature_values, near_rows
from portfolio.questions.several.ruler import Ruler, ruler_of
from portfolio.questions.several.ties import check_countable
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.findings import MISREAD
from portfolio.solving.onward import with_onward
from portfolio.solving.progress import OnProgress
from portfolio.solving.rounder import Rounder
from portfolio.solving.verify import priced
from portfolio.solving.warm_up import warm_up

MOST = 20  # answers; the search for so many ends without a proof
MOST_LISTED = 100_000  # answers that are compared; listing more takes longer than ten seconds
LARGEST_SHARE = 1e6  # by which answers may cost more: beyond, sums leave what float64 can hold
LISTING, SEARCHING = 0.3, 0.9  # shares of the time limit at which these end
FEW = 1_000  # answers; as long as no more were found, listing takes all the time for searching
NONE_FARTHER = (
    f"No answer in place of one of these is more than {CLOSE - 1:.0%} farther from the others "
    "(proved)."
)
TOO_MANY = "There are more answers so cheap than the {:,} that were listed."


@interruptible
def find_diverse(
    asker: Asker,
    x: Any,
    question: Question,
    options: Options,
    k: int,
    within: float,
    on_progress: OnProgress | None = None,
) -> Diverse:
    """The answers that are farthest apart, of all that cost little more than the cheapest."""
    warm_up("lists")
    _check(k, within)
    check_progress(on_progress)
    asker.check_classes()
    series = Series(asker, asker.read(x), question, options)
    model = asker.model
    check_countable(model, series.row, question, "diverse")
    query = question.query(model, series.row, _goal(model, question.target, series.row.values))
    ruler = ruler_of(question, query, model.space)
    first = series.ask_plainly(question)

    def tell(upper: float, lower: float) -> None:
        if on_progress is not None:
            on_progress(series.seconds, upper, lower)

    def past(share: float) -> bool:
        return asker.stopped or series.seconds >= share * options.time_limit_s

    exchanges = not ruler.largest and ruler.keeps_triangles(_corners(model, query, ruler))

    def listed_enough(found: int) -> bool:
        return past(LISTING if found >= FEW and exchanges else SEARCHING)

    asked = Asked(series, query, first, within)
    if first.row is None:
        return asked.nothing()
    limit = (1 + within) * first.distance
    near = NearRows(np.empty((0, query.row.size)), np.empty(0), False)
    if not past(1.0):
        near = near_rows(model, query, limit, MOST_LISTED, listed_enough)
    if not near.cost.size and near.whole:  # it lacks the first answer
        near = replace(near, whole=False, doubt=near.doubt or MISREAD)
    if near.whole:  # the first answer need not have been proved
        limit = (1 + within) * float(near.cost[0])
        near = near.up_to(limit)
    values = feature_values(model, near.row)
    if near.whole and near.cost.size < k:
        apart = ruler.least(values)
        tell(apart, apart)
        return asked.told(limit, near, near.row, apart, apart)
    if near.whole:
        found = Dispersion(ruler, values, k, lambda: past(SEARCHING), lambda: past(1.0), tell)
        found.run()
        return asked.told(limit, near, near.row[found.cheapest()], found.apart, found.upper)
    return _unlisted(asked, near, ruler, k, limit, past, tell)


def _unlisted(
    asked: "Asked",
    near: NearRows,
    ruler: Ruler,
    k: int,
    limit: float,
    past: Callable[[float], bool],
    tell: OnBounds,
) -> Diverse:
    """The farthest of the answers that were listed, exchanged for farther ones that were not."""
    series, query, model = asked.series, asked.query, asked.series.asker.model
    first = asked.first.row
    assert first is not None
    near = near.including(first.values, asked.first.distance)
    metric = ruler.keeps_triangles(_corners(model, query, ruler))
    upper = 2 * limit if metric else math.inf
    rows, settled = near.row[:k], False
    if len(rows) == k and not past(SEARCHING):
        values = feature_values(model, near.row)
        found = Dispersion(ruler, values, k, lambda: True, lambda: True)
        rows = near.row[found.cheapest()]
        tell(upper, found.apart)
        far = far_rows(model, query, ruler, limit) if metric else None
        if far is not None:
            left_s = SEARCHING * series.options.time_limit_s - series.seconds
            limited = replace(series.options, time_limit_s=max(left_s, LEAST_S))
            request = series.asker.request(limited)
            rows, upper, settled = far.exchanged(rows, upper, request, tell)
            near = replace(near, doubt=near.doubt or far.doubt)
    apart = ruler.least(feature_values(model, rows))
    tell(upper, apart)
    return asked.told(limit, near, rows, apart, upper, settled)


def _corners(model: ExplainedModel, query: Query, ruler: Ruler) -> FloatArray:
    """The ends of each feature, the query, and having no value."""
    ends = [(feature.lower, feature.upper) for feature in model.space.features]
    before = model.space.values(query.row)
    return np.vstack([np.array(ends).T, before, np.where(ruler.lacking, np.nan, before)])


def _check(k: int, within: float) -> None:
    if not isinstance(k, int) or isinstance(k, bool) or not 2 <= k <= MOST:
        raise InputError(f"k must be a whole number from 2 to {MOST}, got {k!r}.")
    number = isinstance(within, int | float | np.number) and not isinstance(within, bool)
    if not (number and 0 <= within <= LARGEST_SHARE):
        raise InputError(
            f"within must be a finite number, from 0 to {LARGEST_SHARE:g}, got {within!r}."
        )


def _goal(model: ExplainedModel, target: Any, values: FloatArray) -> Goal:
    wanted = wanted_of(model, target)
    if wanted is not None:
        return value_goal(model, wanted, values)
    if target is not None:
        return ClassGoal(model.native.class_index(target))
    current = predict_one(model.ensemble, model.native, values)
    others = [index for index in range(len(model.native.classes)) if index != current]
    if len(others) > 1:
        raise InputError(
            f"the model has {len(others) + 1} classes; say which one answers are to reach: "
            "target=..."
        )
    return ClassGoal(others[0])


@dataclass(frozen=True, eq=False)
class Asked:
    """What was asked, and the cheapest answer; tells what was found.

    Attributes
    ----------
    series : has the row, the question and its limits
    query : the question about the row
    first : the cheapest answer
    within : as of :class:`Diverse`
    """

    series: Series
    query: Query
    first: Result
    within: float

    def nothing(self) -> Diverse:
        """That there is no answer, or that none was found."""
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

    def told(
        self,
        limit: float,
        near: NearRows,
        rows: FloatArray,
        apart: float,
        upper: float,
        settled: bool = False,
    ) -> Diverse:
        """Answers that were found."""
        found = [answer for row in rows if (answer := self._answer(row)) is not None]
        answers = tuple(sorted(found, key=lambda answer: answer.distance))
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
        """A row as an answer, verified once more by itself; None if the model refuses it."""
        asker, first, given = self.series.asker, self.first, self.series.row
        model, goal = asker.model, self.query.goal
        oracle = replace(model.oracle(goal.target), margin=self.query.margin)
        verified = priced(row, self.query, model.space)
        if verified is None or not oracle.accepts_with(row, goal, self.query.margin):
            return None
        ensemble = oracle.ensemble
        onward = with_onward(verified.changed, row, self.query, model.space, ensemble)
        verified = replace(verified, changed=onward)
        changed = tuple(change.feature for change in verified.changed)
        held, regional = given.holding(row), asker.regional
        cheapest = verified.distance <= first.lower_bound * (1 + SAME)
        return replace(
            first,
            status="optimal" if cheapest else "feasible",
            distance=verified.distance,
            changed=verified.changed,
            row=held,
            scoring=None if first.scoring is None else replace(first.scoring, after=row),
            rounder=Rounder(self.query, model.space, oracle, verified, given),
            regional=regional and regional(asker, held, goal, first.target, changed),
        )
