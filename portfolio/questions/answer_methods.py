"""Questions about answers: why there is none, how far one reaches, and what it withstands."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from portfolio.question import Options, Question, strategy_name

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping, Sequence

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from encoders.query.goal import Goal
    from portfolio.model.row import Row
    from portfolio.questions.region.region import OnStep as OnFeature
    from portfolio.questions.region.region import Region
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining
    from portfolio.questions.robust.robust import Robust
    from portfolio.questions.why_not.why_not import OnStep, WhyNot
    from portfolio.solving.ask import Asker
    from portfolio.solving.progress import OnProgress


def regional(
    asker: Asker, row: Row, goal: Goal, label: Any, changed: tuple[str, ...]
) -> Callable[..., Any]:
    """What draws the region around an answer once somebody asks for it."""

    def region(*settings: Any, stop: threading.Event | None = None) -> Any:
        from portfolio.questions.region.region import region_around

        return region_around(replace(asker, stop=stop), row, goal, label, changed, *settings)

    return region


class AnswerQuestions:
    """Methods that an explainer inherits; each is a docstring and a call."""

    _asker: Asker

    def why_not(
        self,
        x: Any,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnStep | None = None,
        strategy: str | Sequence[str] | None = None,
    ) -> WhyNot:
        """Why a question has no answer: demands that contradict each other, and how to loosen one.

        Demands are the constraints, the features' default actions and bounds, a margin and
        plausibility. One after another is left out; what the contradiction stands without is
        dropped, and what it does not stand without is needed: each step is a proof.

        Parameters
        ----------
        x, target, norm, scale, weights, constraints, margin : as for :meth:`Explainer.explain`
        time_limit_s : seconds for all steps together
        threads, seed, strategy : as for :meth:`Explainer.explain`
        on_progress : called with (seconds, demands that are left, those proved to be needed)

        Returns
        -------
        WhyNot

        Raises
        ------
        InputError
            Bad row, target, norm, constraints, limits or strategy.
        """
        from portfolio.questions.why_not.why_not import find_why_not

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_why_not(self._asker, x, question, options, on_progress)

    def region(
        self,
        x: Any,
        target: Any = None,
        order: Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnFeature | None = None,
    ) -> Region:
        """A box around a row in which the model decides every row alike, as wide as it gets.

        One feature after another is widened, upwards and then downwards, until a row that is
        decided otherwise would be taken in; so features that come first get more room. The box
        is within the feature space: bounds, lists and categories; default actions do not count.
        See also :meth:`Result.region`.

        Parameters
        ----------
        x : as for :meth:`Explainer.explain`
        target : None for the class that the model decides for; or a goal that the row reaches
        order : features to widen first; by default in the model's order
        time_limit_s : seconds from this call
        threads, seed : of the search
        on_progress : called with (seconds, features done, features)

        Returns
        -------
        Region

        Raises
        ------
        InputError
            Bad row, target, order or limits; or the row does not reach the target.
        """
        from portfolio.questions.region.region import region_of

        return region_of(self._asker, x, target, order, time_limit_s, threads, seed, on_progress)

    def explain_robust(
        self,
        x: Any,
        against: Retraining | Around,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        strategy: str | Sequence[str] | None = None,
    ) -> Robust:
        """Find the nearest answer that still holds if the model or the row is not quite the same.

        ``Retraining(confidence=0.9)`` asks a forest for so many votes that one trained anew decides
        alike. ``Around({"income": 50, "age": 1})`` asks that every row that misses the answer by at
        most this is decided as wanted: answers are solved for, rows around them that are decided
        otherwise are looked for, and what these refute is cut off, until there are none.

        Parameters
        ----------
        x, target, norm, scale, weights, constraints, margin : as for :meth:`Explainer.explain`
        against : what the answer has to be robust against
        time_limit_s : seconds for all rounds together
        threads, seed, strategy : as for :meth:`Explainer.explain`
        on_progress : called with (seconds, upper bound, lower bound)

        Returns
        -------
        Robust

        Raises
        ------
        InputError
            Bad row, target, norm, constraints, limits or strategy, or bad radii.
        UnsupportedModelError
            Retraining, and the model is no forest.
        """
        from portfolio.questions.robust.robust import find_robust

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_robust(self._asker, x, against, question, options, on_progress)
