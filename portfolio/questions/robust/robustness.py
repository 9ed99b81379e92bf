"""How far a row is from another decision: the smallest perturbation, and whether a radius holds."""

import math
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from encoders.backends.interface import Status, StopReason
from encoders.errors import InputError
from encoders.query.cost import Norm
from portfolio.as_json import AsJson, as_plain
from portfolio.question import Options, Question, check_progress
from portfolio.questions.every_row import Bounds, every_row
from portfolio.questions.interruptible import interruptible
from portfolio.questions.robust.under_all import nearest_of_any
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Share of a radius that is looked at beyond it: solvers look for what is below a cutoff.
BEYOND = 1e-6


@dataclass(frozen=True)
class Robustness(AsJson):
    """The smallest perturbation of a row that changes the decision.

    Attributes
    ----------
    result : the nearest row that is decided otherwise, and what is proved; see :class:`Result`
    norm, scale : what distances are measured by
    radius : asked about, None for the smallest perturbation
    """

    result: Result
    norm: Any
    scale: str
    radius: float | None = None

    @property
    def status(self) -> Status:
        """As of the result. "infeasible": no row (within the radius) is decided otherwise."""
        return self.result.status

    @property
    def stop_reason(self) -> StopReason:
        """As of the result."""
        return self.result.stop_reason

    @property
    def distance(self) -> float:
        """Of the nearest row found that is decided otherwise, inf without one."""
        return self.result.distance

    @property
    def lower_bound(self) -> float:
        """No row that is nearer is decided otherwise; what is proved of the distance."""
        if self.status != "infeasible":
            return self.result.lower_bound
        return math.inf if self.radius is None else self.radius

    @property
    def adversarial(self) -> Any:
        """The nearest row found that is decided otherwise, confirmed by the model; or None."""
        return self.result.counterfactual

    @property
    def robust(self) -> bool | None:
        """Whether every row within the radius is decided alike; None if that is not known."""
        if self.radius is None:
            return None
        if self.distance <= self.radius:
            return False
        return True if self.status == "infeasible" else None

    def plot(self) -> "Figure":
        """How far all rows are decided alike, and where one is not.

        Returns
        -------
        matplotlib.figure.Figure
        """
        from portfolio.questions.robust.robustness_picture import draw

        return draw(self.lower_bound, self.distance, self.radius)

    def to_dict(self) -> dict[str, Any]:
        """Plain Python values, ready for JSON; infinite numbers become None."""
        own = {
            "norm": self.norm if isinstance(self.norm, int | float | str) else "own",
            "scale": self.scale,
            "radius": self.radius,
            "robust": self.robust,
            "lower_bound": self.lower_bound,
        }
        told: dict[str, Any] = as_plain(self.result.to_dict() | own)
        return told

    def __str__(self) -> str:
        found = [f"- {change}" for change in self.result.told]
        why = f" {self.result.message}" if self.result.message else ""
        return "\n".join([self._headline() + why, *found])

    def _headline(self) -> str:
        if self.radius is not None:
            within = f"within distance {self.radius:.6g}"
            if self.robust:
                return f"Robust: every row {within} is decided alike (proved)."
            if self.robust is False:
                return f"Not robust: a row at distance {self.distance:.6g} is decided otherwise."
            return f"Unknown: whether every row {within} is decided alike."
        if self.status == "infeasible":
            return "Robust: every row of the feature space is decided alike (proved)."
        if self.status == "unknown":
            return f"Unknown: no row is decided otherwise below distance {self.lower_bound:.6g}."
        if self.status == "optimal":
            at = f"{self.distance:.6g}"
            return f"Robust below distance {at}, where a row is decided otherwise (proved)."
        return (
            f"Robust below distance {self.lower_bound:.6g} (proved); a row at {self.distance:.6g} "
            "is decided otherwise."
        )


@interruptible
def find_robustness(
    asker: Asker,
    x: Any,
    question: Question,
    options: Options,
    bounds: Bounds,
    radius: float | None = None,
    on_progress: OnProgress | None = None,
) -> Robustness:
    """The nearest row that is decided otherwise, or whether there is one within a radius."""
    check_progress(on_progress)
    check_scale(question.norm, question.scale, bounds)
    if radius is not None:
        check_radius(radius)
        options = replace(options, cutoff=float(radius) * (1.0 + BEYOND))
    free = every_row(asker, bounds, also=True)
    if free.model.also:
        result = nearest_of_any(free, free.read(x), question, options, on_progress)
    else:
        way = free.strategy(question, options)
        result = free.ask(question, options, x, way, on_progress)
    if radius is None:
        return Robustness(result, question.norm, question.scale)
    return Robustness(_within(result, radius), question.norm, question.scale, float(radius))


def _within(result: Result, radius: float) -> Result:
    """What is known of the rows within a radius: what was found beyond it says nothing of them."""
    if result.distance <= radius:
        return result
    proved = result.status == "infeasible" or result.lower_bound > radius
    return replace(
        result,
        status="infeasible" if proved else "unknown",
        distance=math.inf,
        lower_bound=math.inf if proved else result.lower_bound,
        verified=False,
        changed=(),
        row=None,
        scoring=None,
        rounder=None,
    )


def check_radius(radius: object) -> None:
    """Raise :class:`InputError` unless a radius is a finite number above 0."""
    number = isinstance(radius, int | float) and not isinstance(radius, bool)
    if not (number and 0 < radius <= sys.float_info.max):  # type: ignore[operator]
        raise InputError(f"radius must be a finite number above 0, got {radius!r}.")


def check_scale(norm: Norm, scale: str, bounds: Bounds) -> None:
    """Raise :class:`InputError` where distances are shares of bounds that were dropped."""
    if bounds is None and scale == "range" and norm not in (0, "0"):
        raise InputError(
            "without bounds a feature has no range to scale by; use scale='none', 'std' or 'mad'."
        )


def judged(answers: pd.DataFrame, radius: float | None) -> pd.DataFrame:
    """A batch of answers, with a column that says whether a radius holds."""
    if radius is None:
        return answers
    sure = (answers["status"] == "infeasible") | (answers["bound"] > radius)
    near = answers["distance"] <= radius
    robust = [False if n else True if s else None for n, s in zip(near, sure, strict=True)]
    return answers.assign(robust=pd.array(robust, dtype="boolean"))
