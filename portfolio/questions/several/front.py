"""Trade-off curves: the cheapest counterfactual at each level of another quantity."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from encoders.query.constraints import AllowMissing, MaxChanges
from encoders.query.goal import ClassGoal, Probability, Wanted, is_number
from encoders.query.relations import JointCost
from portfolio.engine.ahead import Ahead
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.more import More, MorePlausibility, MoreProbability
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import OWN, check_progress
from portfolio.engine.series import Series, with_more
from portfolio.engine.verify import RELATIVE_TOLERANCE, priced
from portfolio.engine.warm_up import warm_up
from portfolio.model.explained_model import ExplainedModel, least_score, score_of
from portfolio.model.goals import label_of
from portfolio.questions.records import FrontQuestion
from portfolio.results.codec import FLAT, AsJson
from portfolio.results.printing import at_least, bounds, counted, wrapped
from portfolio.results.result import Result, without_answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOM = 1e-6  # relative tolerance, so that rounding does not exclude the known answer

By = Literal["changes", "probability", "plausibility"]

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)  # default probabilities

SHARES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75)  # default levels, as multiples of the forest's threshold

MOST_LEVELS = 1000


@dataclass(frozen=True, eq=False)
class Fewest:
    """Result of a query for the number of changes alone."""

    count: int  # proved minimum for the number of changes
    changes: int  # number of changes of the answer found
    cost: float  # cost of that answer in the norm of the series
    result: Result

    @property
    def out_of_reach(self) -> Result:
        """The result that fewer changes do not suffice (proved)."""
        nothing = {"status": "infeasible", "stop_reason": "proved", "trace": ()}
        return without_answer(self.result, math.inf, **nothing)

    def cutoff(self, count: int) -> float:
        """Return a limit on the cost of the cheapest answer with at most this many changes."""
        return self.cost * (1 + ROOM) if count >= self.changes else math.inf


def find_fewest(series: Series) -> Fewest | None:
    """Return the fewest changes; None if the norm 0 does not count them or none is found.

    Missing values and pairs have separate costs, and costs of the user may list values.
    """
    question = series.question
    model = series.asker.model
    apart = any(isinstance(each, AllowMissing | JointCost) for each in question.constraints)
    if (
        apart
        or question.measure == OWN
        or any(feature.missing or feature.codes for feature in model.space.features)
    ):
        return None
    answer = series.ask_plainly(replace(question, norm=0, weights=None))
    if answer.row is None:
        return None
    query = question.query(model, series.row, ClassGoal(0))
    paid = priced(answer.row.values, query, model.space)
    count = math.ceil(answer.lower_bound - ROOM)
    cost = math.inf if paid is None else paid.distance
    return Fewest(count, len(answer.changed), cost, answer)


@dataclass(frozen=True)
class FrontPoint:
    """Cheapest counterfactual at one level.

    Attributes
    ----------
    level : float
        Largest number of changes, smallest probability, or smallest score of plausibility.
    result : Result
        The counterfactual. "infeasible" if the level is out of reach.

    Examples
    --------
    >>> point = explainer.front(row, by="probability", levels=[0.6]).points[0]
    >>> point.level, round(point.result.distance, 4)
    (0.6, 0.1608)
    """

    level: float
    result: Result = field(metadata=FLAT)


@dataclass(frozen=True)
class Front(AsJson):
    """Cheapest counterfactual for each level, the cheapest level first.

    Attributes
    ----------
    by : {"changes", "probability", "plausibility"}
        Quantity of the levels.
    status : {"optimal", "feasible", "infeasible", "unknown"}
        "optimal" if every point is proved. "feasible" if some are not or some levels were not
        reached in time. "infeasible" if no level has an answer (proved). "unknown" if no answer was
        found.
    stop_reason : str
        "proved", or the reason why the first unproved point is not proved.
    points : tuple of FrontPoint
        Points of the levels that were solved.
    asked : int
        Number of queries solved; levels that an earlier answer reaches need none.
    seconds : float
        Time from the call to the last answer.

    Examples
    --------
    >>> front = explainer.front(row, by="probability", levels=[0.5, 0.6])
    >>> [round(point.result.distance, 4) for point in front.points]
    [0.1038, 0.1608]
    """

    by: By
    status: Status
    stop_reason: StopReason
    points: tuple[FrontPoint, ...]
    asked: int
    seconds: float

    def table(self) -> pd.DataFrame:
        """Return one row per point: level, status, distance, lower_bound, changes and score.

        Returns
        -------
        DataFrame
            The first column is ``most_changes`` for fronts by changes, otherwise ``at_least``.

        Examples
        --------
        >>> front = explainer.front(row, by="probability", levels=[0.5, 0.6])
        >>> front.table()[["at_least", "status", "distance"]]
           at_least   status  distance
        0       0.5  optimal  0.103825
        1       0.6  optimal  0.160755
        """
        rows = [
            (p.level, r.status, r.distance, r.lower_bound, len(r.changed), r.score)
            for p, r in ((point, point.result) for point in self.points)
        ]
        columns = [self._column, "status", "distance", "lower_bound", "changes", "score"]
        return pd.DataFrame(rows, columns=columns)

    @property
    def _column(self) -> str:
        return "most_changes" if self.by == "changes" else "at_least"

    def plot(self) -> "Figure":
        """Draw cost against level as a step function; hollow points are not proved.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Examples
        --------
        >>> figure = explainer.front(row, by="probability", levels=[0.5, 0.6]).plot()
        >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
        ('least probability', 'distance')
        """
        from portfolio.results.plots.front import draw

        places = [(p.level, p.result.distance, p.result.status) for p in self.points]
        return draw(self.by, places)

    def __str__(self) -> str:
        if not self.points:
            return f"Unknown: no level was solved (stop reason: {self.stop_reason})."
        lines = [_sentence(self.by, point) for point in self.points]
        if self.status == "feasible":
            lines.append(f"Not all points are proved (stop reason: {self.stop_reason}).")
        return wrapped(lines)


@interruptible
def find_front(
    asker: Asker, x: Any, question: FrontQuestion, on_progress: OnProgress | None = None
) -> Front:
    """Find the cheapest answer for each level, in the order of the levels.

    An answer that reaches the next level is the cheapest there, too. If a level is out of reach, so
    are all later ones.
    """
    by, levels = question.by, question.levels
    settings, options = question.settings, question.options
    if by not in get_args(By):
        raise InputError(f"by must be 'changes', 'probability' or 'plausibility', got {by!r}.")
    chosen = None if levels is None else _checked(by, levels)
    check_progress(on_progress)
    series = Series(asker, asker.read(x), settings, options, on_progress=on_progress)
    if by == "probability":
        points, whole = _by_probability(series, chosen or LEVELS)
    elif by == "plausibility":
        points, whole = _by_plausibility(series, chosen)
    else:
        points, whole = _by_changes(series, chosen)
    status, reason = series.summary([point.result for point in points], whole)
    return Front(by, status, reason, tuple(points), len(series.answers), series.seconds)


def _by_probability(series: Series, levels: Sequence[float]) -> tuple[list[FrontPoint], bool]:
    """Return a point per level, and whether all levels were solved."""
    label, limits = _label(series), sorted(set(levels))

    def ask(series: Series, level: float) -> Result:
        wanted = Probability(label, at_least=level)
        return series.ask_instead(replace(series.question, target=wanted))

    return _rising(series, limits, MoreProbability(), ask, partial(_probability, series, label))


def _probability(series: Series, label: Any, answer: Result) -> float:
    """Return the smallest probability that any model assigns; a score covers the first only."""
    if answer.row is None or answer.score is None:
        return -math.inf
    rows = answer.row.values[None, :]
    others = (oracle.native for oracle in series.asker.model.also)
    scores = (each.values(rows, "probability", each.class_index(label))[0] for each in others)
    return min([answer.score, *map(float, scores)])


def _by_plausibility(
    series: Series, levels: Sequence[float] | None
) -> tuple[list[FrontPoint], bool]:
    """Return a point per level, and whether all levels were solved."""
    model = series.asker.model
    least = least_score(model)
    limits = sorted(set(levels or [share * least for share in SHARES]))
    more = MorePlausibility()

    def ask(series: Series, level: float) -> Result:
        asker = replace(series.asker, model=more.asking(model, level))
        return replace(series, asker=asker).ask_instead(series.question)

    return _rising(series, limits, more, ask, partial(_plausibility, model))


def _rising(
    series: Series,
    limits: Sequence[float],
    more: More,
    ask: Callable[[Series, float], Result],
    reached: Callable[[Result], float],
) -> tuple[list[FrontPoint], bool]:
    """Return a point per ascending level of a number, and whether all levels were solved."""
    warm_up("fronts")
    points: list[FrontPoint] = []
    ahead = Ahead(more, series.asker.model, limits, series.on_progress, series.began)
    for level in limits:
        last = points[-1].result if points else None
        if last is not None and (
            last.status == "infeasible" or _has(last, ahead, reached) >= level
        ):
            points.append(FrontPoint(level, last))
            continue
        if points and series.over and not ahead.holds(level):
            return points, False
        asking = series
        if not series.options.tie_break:
            stage = partial(ahead.answer, level)
            asking = replace(series, asker=replace(series.asker, first=(stage,)))
        points.append(FrontPoint(level, _no_cheaper(ask(asking, level), last)))
    return points, True


def _no_cheaper(answer: Result, last: Result | None) -> Result:
    """Return an answer with the lower bound of the level below, which holds for it, too."""
    if last is None or answer.status not in ("feasible", "unknown"):
        return answer
    return replace(
        answer, lower_bound=max(answer.lower_bound, min(last.lower_bound, answer.distance))
    )


def _has(answer: Result, ahead: Ahead, reached: Callable[[Result], float]) -> float:
    """Return the quantity of an answer, from earlier predictions if they are known."""
    value = None if answer.row is None else ahead.number(answer.row.values)
    return reached(answer) if value is None else value


def _plausibility(model: ExplainedModel, answer: Result) -> float:
    """Return the smallest score of an answer in the isolation forests that have to accept it."""
    if answer.row is None:
        return -math.inf
    classes: Sequence[int] = range(len(model.views))
    if not isinstance(answer.target, Wanted) and not model.ensemble.regression:
        classes = [model.native.class_index(answer.target)]
    return min(score_of(model, index, answer.row.values) for index in classes)


def _by_changes(series: Series, levels: Sequence[float] | None) -> tuple[list[FrontPoint], bool]:
    """Return a point per level, or per number of changes at which the cost changes."""
    top = series.ask([] if levels is None else [MaxChanges(int(max(levels)))])
    limits = None if levels is None else sorted(set(levels), reverse=True)
    first = len(series.asker.model.space.features) if limits is None else limits[0]
    if limits is None and top.verified:
        first = len(top.changed)
    points, level = [FrontPoint(first, top)], _next(limits, first, top)
    fewest = None
    if top.verified and level is not None and level < len(top.changed):
        fewest = find_fewest(series)
    while level is not None:
        last = points[-1].result
        if last.status == "infeasible" or (last.verified and len(last.changed) <= level):
            answer = last
        elif fewest is not None and level < fewest.count:
            answer = fewest.out_of_reach
        elif series.over or not last.verified:
            return points, False
        else:
            cutoff = math.inf if fewest is None else fewest.cutoff(int(level))
            limit = with_more(series.question, [MaxChanges(int(level))])
            answer = series.ask_instead(limit, cutoff)
            if answer.status == "infeasible" and cutoff < math.inf:
                answer = series.ask_instead(limit)  # the known answer may be too close to a tie
        if limits is None and answer.distance <= last.distance * (1 + RELATIVE_TOLERANCE):
            points.pop()  # as cheap with fewer changes
        if limits is None and answer.verified:
            level = len(answer.changed)
        points.append(FrontPoint(level, answer))
        level = _next(limits, level, answer)
    return points, True


def _next(levels: Sequence[float] | None, level: float, answer: Result) -> float | None:
    """Return the level below; without given levels, the next that an answer does not reach."""
    if levels is not None:
        return next((each for each in levels if each < level), None)
    return level - 1 if answer.verified and level > 1 else None


def _label(series: Series) -> Any:
    """Return the class whose probability is the quantity of the levels."""
    target, model = series.question.target, series.asker.model
    if isinstance(target, Wanted):
        raise InputError(f"front(by='probability') needs a class as target, got {target}.")
    if target is not None or model.ensemble.regression:
        return target
    return label_of(model, None, series.row.values, "front(by='probability')")


def _checked(by: By, levels: Sequence[float]) -> tuple[float, ...]:
    if isinstance(levels, str) or not isinstance(levels, Iterable):
        raise InputError(f"levels must be a list of numbers, got {levels!r}.")
    numbers = tuple(levels)
    if not 1 <= len(numbers) <= MOST_LEVELS or not all(map(is_number, numbers)):
        raise InputError(f"levels must be 1 to {MOST_LEVELS} numbers, got {levels!r}.")
    whole = all(float(level).is_integer() and level >= 0 for level in numbers)
    if by == "changes" and not whole:
        raise InputError(f"levels of changes must be whole numbers of at least 0, got {levels!r}.")
    if by == "plausibility" and not all(-1 < level < 0 for level in numbers):
        raise InputError(f"levels of plausibility must be between -1 and 0, got {levels!r}.")
    return tuple(int(level) for level in numbers) if by == "changes" else numbers


def _sentence(by: By, point: FrontPoint) -> str:
    answer = point.result
    if by == "changes":
        words = f"At most {counted(int(point.level), 'change')}"
    else:
        words = f"{by.capitalize()} of at least {point.level:g}"
    if answer.status == "infeasible":
        return f"{words}: out of reach (proved)."
    if not answer.verified:
        return f"{words}: no answer found; the distance is at least {at_least(answer.lower_bound)}."
    names = ", ".join(change.feature for change in answer.changed) or "nothing"
    lower, distance = bounds(answer.lower_bound, answer.distance)
    sure = "proved" if answer.status == "optimal" else f"at least {lower}"
    return f"{words}: distance {distance} ({sure}), changing {names}."
