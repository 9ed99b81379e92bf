"""Robustness of a prediction: the smallest perturbation, or a proof for a radius."""

import math
import sys
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Any

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.core.errors import InputError
from encoders.query.cost import Norm
from portfolio.engine.ask import Asker
from portfolio.engine.interruptible import interruptible
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import Options, Question, check_progress
from portfolio.engine.series import Series
from portfolio.model.explained_model import one_by_one
from portfolio.model.one_output import alone_only
from portfolio.model.row import Row
from portfolio.questions.decision import decision_of
from portfolio.questions.every_row import Bounds, every_row
from portfolio.questions.records import RobustnessQuestion, VerifyQuestion
from portfolio.results.codec import FLAT, AsJson, member
from portfolio.results.printing import at_least, bounds, short, wrapped
from portfolio.results.result import Result, without_answer

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Relative amount by which the cutoff exceeds a radius: solvers find rows strictly below a cutoff.
BEYOND = 1e-6


def nearest_of_any(
    asker: Asker,
    row: Row,
    question: Question,
    options: Options,
    on_progress: OnProgress | None = None,
) -> Result:
    """Return the nearest row of any model; each model is solved with the best cost as cutoff."""
    if asker.model.aim is not None:
        raise alone_only(asker.model, "robustness() supports")
    if question.target is not None or asker.model.plausible:
        raise InputError(
            "robustness() with further models (also=) supports neither target nor plausibility. "
            "Use neither, or an Explainer without further models (also=)."
        )
    decision_of(asker.model, row, None)
    models, series = one_by_one(asker.model), Series(asker, row, question, options)
    nearest = options.cutoff

    def joint_bounds(seconds: float, upper: float, lower: float) -> None:
        assert on_progress is not None
        upper = min(upper, *(answer.distance for answer in series.answers), inf)
        if len(series.answers) + 1 < len(models):
            lower = 0.0
        on_progress(seconds, upper, min(lower, upper, *(a.lower_bound for a in series.answers)))

    report = None if on_progress is None else joint_bounds
    for model in models:
        if series.answers and series.over:
            break
        of_model = replace(series, asker=replace(asker, model=model), on_progress=report)
        nearest = min(nearest, of_model.ask_plainly(question, nearest).distance)
    answers = series.answers
    best = min(answers, key=lambda answer: answer.distance)
    open_ = [answer for answer in answers if answer.status not in ("optimal", "infeasible")]
    if len(answers) == len(models) and not open_:
        return best
    lower = min(answer.lower_bound for answer in answers) if len(answers) == len(models) else 0.0
    return replace(
        best,
        status="unknown" if best.row is None else "feasible",
        stop_reason=open_[0].stop_reason if open_ else asker.why,
        lower_bound=min(lower, best.distance),
    )


@dataclass(frozen=True)
class Robustness(AsJson):
    """Smallest perturbation of a row that changes the prediction.

    Attributes
    ----------
    result : Result
        Nearest row with a different prediction, and what is proved.
    norm : number, str, callable or mapping
        Distance measure.
    scale : str
        Unit of change of numeric and ordinal features.
    radius : float or None
        Radius that was checked; None for the smallest perturbation.

    Examples
    --------
    >>> robustness = explainer.robustness(row, norm=1, scale="range")
    >>> round(robustness.distance, 4), robustness.status
    (0.1038, 'optimal')
    """

    COMPUTED = ("robust", "lower_bound")

    result: Result = field(metadata=FLAT)
    norm: Any = field(
        metadata=member(
            write=lambda norm: norm if isinstance(norm, int | float | str) else "own",
            hint=float | str,
        )
    )
    scale: str
    radius: float | None = None

    @property
    def status(self) -> Status:
        """Status of the result; "infeasible" if no row (within the radius) differs (proved)."""
        return self.result.status

    @property
    def stop_reason(self) -> StopReason:
        """Reason why the search ended, as in :class:`Result`."""
        return self.result.stop_reason

    @property
    def distance(self) -> float:
        """Distance of the nearest row found with a different prediction, inf without one."""
        return self.result.distance

    @property
    def lower_bound(self) -> float:
        """Proved lower bound on the distance of rows with a different prediction."""
        if self.status != "infeasible":
            return self.result.lower_bound
        return math.inf if self.radius is None else self.radius

    @property
    def adversarial(self) -> Any:
        """Nearest row found with a different prediction, verified by the model; or None."""
        return self.result.counterfactual

    @property
    def robust(self) -> bool | None:
        """True if all rows within the radius have the same prediction; None if undecided."""
        if self.radius is None:
            return None
        if self.distance <= self.radius:
            return False
        return True if self.status == "infeasible" else None

    def plot(self) -> "Figure":
        """Draw the proved distance and the nearest row with another prediction.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; save it with ``figure.savefig(path)``.

        Examples
        --------
        >>> figure = explainer.verify(row, radius=0.1).plot()
        >>> figure.axes[0].get_xlabel()
        'distance from the row'
        """
        from portfolio.results.plots.robustness import draw

        return draw(self.lower_bound, self.distance, self.radius)

    def __str__(self) -> str:
        changes = [f"- {change}" for change in self.result.told]
        message = f" {self.result.message}" if self.result.message else ""
        return wrapped([self._headline() + message, *changes])

    def _headline(self) -> str:
        if self.radius is not None:
            within = f"within distance {at_least(self.radius)}"
            if self.robust:
                return f"Robust: all rows {within} have the same prediction (proved)."
            if self.robust is False:
                return f"Not robust: a row at distance {short(self.distance)} flips the prediction."
            return f"Unknown: no proof that all rows {within} have the same prediction."
        if self.status == "infeasible":
            return "Robust: all rows of the feature space have the same prediction (proved)."
        if self.status == "unknown":
            at = at_least(self.lower_bound)
            return f"Unknown: no row below distance {at} flips the prediction (proved)."
        if self.status == "optimal":
            at = at_least(self.distance)
            return f"Robust below distance {at}, where a row flips the prediction (proved)."
        lower, distance = bounds(self.lower_bound, self.distance)
        return f"Robust below distance {lower} (proved); a row at {distance} flips the prediction."


@interruptible
def find_robustness(
    asker: Asker, x: Any, question: RobustnessQuestion, on_progress: OnProgress | None = None
) -> Robustness:
    """Find the nearest row with a different prediction."""
    result = _nearest(asker, x, question, question.options, on_progress)
    return Robustness(result, question.norm, question.scale)


@interruptible
def verify_radius(
    asker: Asker, x: Any, question: VerifyQuestion, on_progress: OnProgress | None = None
) -> Robustness:
    """Find out whether a row with a different prediction is within a radius."""
    check_radius(question.radius)
    radius = float(question.radius)
    options = replace(question.options, cutoff=radius * (1.0 + BEYOND))
    result = _nearest(asker, x, question, options, on_progress)
    return Robustness(_within(result, radius), question.norm, question.scale, radius)


def _nearest(
    asker: Asker,
    x: Any,
    question: RobustnessQuestion,
    options: Options,
    on_progress: OnProgress | None,
) -> Result:
    """Return the nearest row with a different prediction, as the options limit the search."""
    check_progress(on_progress)
    check_scale(question.norm, question.scale, question.bounds)
    free = every_row(asker, question.bounds, also=True)
    settings = question.settings
    if free.model.also:
        return nearest_of_any(free, free.read(x), settings, options, on_progress)
    return free.ask(settings, options, x, free.strategy(settings, options), on_progress)


def _within(result: Result, radius: float) -> Result:
    """Return what a result proves about rows within a radius."""
    if result.distance <= radius:
        return result
    proved = result.status == "infeasible" or result.lower_bound > radius
    lower = math.inf if proved else result.lower_bound
    return without_answer(result, lower, status="infeasible" if proved else "unknown")


def check_radius(radius: object) -> None:
    """Raise InputError unless a radius is a finite number above 0."""
    number = isinstance(radius, int | float) and not isinstance(radius, bool)
    if not (number and 0 < radius <= sys.float_info.max):  # type: ignore[operator]
        raise InputError(f"radius must be a finite number above 0, got {radius!r}.")


def check_scale(norm: Norm, scale: str, bounds: Bounds) -> None:
    """Raise InputError if distances are shares of bounds that are not applied."""
    if bounds is None and scale == "range" and norm not in (0, "0"):
        raise InputError(
            "scale='range' needs the bounds of features, but bounds is None. Use scale='none', "
            "'std' or 'mad'."
        )


def judged(answers: pd.DataFrame, radius: float | None) -> pd.DataFrame:
    """Return a batch of answers with a column ``robust``, if there is a radius."""
    if radius is None:
        return answers
    sure = (answers["status"] == "infeasible") | (answers["bound"] > radius)
    near = answers["distance"] <= radius
    robust = [False if n else True if s else None for n, s in zip(near, sure, strict=True)]
    return answers.assign(robust=pd.array(robust, dtype="boolean"))
