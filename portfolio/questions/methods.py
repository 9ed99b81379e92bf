"""The questions of :class:`portfolio.explainer.Explainer` besides the cheapest change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from portfolio.question import Options, Question, strategy_name
from portfolio.questions.answer_methods import AnswerQuestions
from portfolio.questions.every_row import Bounds, every_row
from portfolio.questions.group_methods import GroupQuestions
from portfolio.questions.several_methods import SeveralQuestions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from portfolio.questions.reasons.contrast import Contrast
    from portfolio.questions.reasons.necessary import Necessary
    from portfolio.questions.reasons.necessary import OnStep as OnNecessary
    from portfolio.questions.reasons.reason_codes import OnStep as OnFeature
    from portfolio.questions.reasons.reason_codes import ReasonCodes
    from portfolio.questions.reasons.reasons import Reasons
    from portfolio.questions.robust.robustness import Robustness
    from portfolio.solving.ask import Asker
    from portfolio.solving.progress import OnProgress


class Questions(AnswerQuestions, GroupQuestions, SeveralQuestions):
    """Methods that an explainer inherits; each is a docstring and a call."""

    _asker: Asker

    def reasons(
        self,
        x: Any,
        target: Any = None,
        smallest: bool = False,
        order: Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
    ) -> Reasons:
        """Features that alone decide a row: as long as these keep its values, so does the decision.

        The other features may take every value of the feature space: within their bounds, of their
        categories and lists, and missing where values may be. What people can do about them
        (default actions) does not count.

        Parameters
        ----------
        x : as for :meth:`Explainer.explain`
        target : None for the class that the model decides for; a label for whether it is this
            one; or a goal, as for :meth:`Explainer.explain`, for whether it is reached
        smallest : the fewest features that suffice; else a set of which none can be left out
        order : features to leave out first, if that is possible; by default in the model's order
        time_limit_s : seconds from this call
        threads, seed : of solvers
        on_progress : called with (seconds, size of the set, lower bound on its size)

        Returns
        -------
        Reasons

        Raises
        ------
        InputError
            Bad row, target, order or limits.
        """
        from portfolio.questions.reasons.reasons import find_reasons

        options = Options("auto", time_limit_s, threads, seed)
        return find_reasons(
            every_row(self._asker, also=True), x, target, smallest, order, options, on_progress
        )

    def robustness(
        self,
        x: Any,
        target: Any = None,
        norm: Norm = "inf",
        scale: str = "none",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        bounds: Bounds = "features",
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        strategy: str | Sequence[str] | None = None,
    ) -> Robustness:
        """The smallest perturbation of a row that changes the decision, and its proof.

        Every row of the feature space counts, whatever people may do to get there: default actions
        are dropped. A category or binary value that changes costs 1, and so does a missing value
        that is filled in.

        Parameters
        ----------
        x : as for :meth:`Explainer.explain`
        target : only perturbations to this label or goal count; None: to any other class
        norm, scale, weights : as for :meth:`Explainer.explain`
        bounds : "features" for rows within the features' bounds, None for any numbers
        time_limit_s, threads, seed, on_progress, strategy : as for :meth:`Explainer.explain`

        Returns
        -------
        Robustness

        Raises
        ------
        InputError
            Bad row, target, norm, scale, weights, bounds, limits or strategy.
        """
        from portfolio.questions.robust.robustness import find_robustness

        question = Question(target, norm, scale, weights)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_robustness(self._asker, x, question, options, bounds, None, on_progress)

    def verify(
        self,
        x: Any,
        radius: float,
        target: Any = None,
        norm: Norm = "inf",
        scale: str = "none",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        bounds: Bounds = "features",
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        strategy: str | Sequence[str] | None = None,
    ) -> Robustness:
        """Whether every row within a radius is decided alike: a proof, or a row that is not.

        Rows beyond the radius are not looked at, so that this takes less than the smallest
        perturbation. See :attr:`Robustness.robust`.

        Parameters
        ----------
        x : as for :meth:`Explainer.explain`
        radius : distance, itself included
        target, norm, scale, weights, bounds : as for :meth:`robustness`
        time_limit_s, threads, seed, on_progress, strategy : as for :meth:`Explainer.explain`

        Returns
        -------
        Robustness

        Raises
        ------
        InputError
            Bad row, radius, target, norm, scale, weights, bounds, limits or strategy.
        """
        from portfolio.questions.robust.robustness import find_robustness

        question = Question(target, norm, scale, weights)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_robustness(self._asker, x, question, options, bounds, radius, on_progress)

    def necessary(
        self,
        x: Any,
        target: Any = None,
        constraints: Sequence[Constraint] = (),
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnNecessary | None = None,
        strategy: str | Sequence[str] | None = None,
    ) -> Necessary:
        """Features without which there is no recourse: with one of them fixed, nothing helps.

        Default actions and constraints hold, as for :meth:`Explainer.explain`.

        Parameters
        ----------
        x, target, constraints, threads, seed, strategy : as for :meth:`Explainer.explain`
        time_limit_s : seconds for all features together
        on_progress : called with (seconds, features that may be necessary, those proved to be)

        Returns
        -------
        Necessary

        Raises
        ------
        InputError
            Bad row, target, constraints, limits or strategy.
        """
        from portfolio.questions.reasons.necessary import find_necessary

        question = Question(target, constraints=constraints)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_necessary(self._asker, x, question, options, on_progress)

    def reason_codes(
        self,
        x: Any,
        n: int = 4,
        target: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnFeature | None = None,
        strategy: str | Sequence[str] | None = None,
    ) -> ReasonCodes:
        """The principal reasons of an adverse decision, ranked by proved costs.

        A feature whose change alone would reach the target is a reason; the cheaper that change,
        the higher its rank. Where these are fewer than ``n``, the features of the cheapest change
        of all others together follow, the dearest first. Reasons are about what was scored, so
        default actions do not count; constraints do.

        Parameters
        ----------
        x, target, norm, scale, weights, constraints : as for :meth:`Explainer.explain`
        n : how many at most
        time_limit_s : seconds for all features together
        on_progress : called with (seconds, features done, features)
        threads, seed, strategy : as for :meth:`Explainer.explain`

        Returns
        -------
        ReasonCodes

        Raises
        ------
        InputError
            Bad row, number, target, norm, constraints, limits or strategy.
        """
        from portfolio.questions.reasons.reason_codes import find_reason_codes

        question = Question(target, norm, scale, weights, constraints)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_reason_codes(every_row(self._asker), x, question, n, options, on_progress)

    def contrast(
        self,
        x: Any,
        y: Any,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: OnProgress | None = None,
        strategy: str | Sequence[str] | None = None,
    ) -> Contrast:
        """Which differences between two rows are enough to explain their different decisions.

        The fewest values of ``y`` with which ``x`` is predicted as ``y`` is. Values in between do
        not count, nor do default actions and bounds.

        Parameters
        ----------
        x, y : two rows, as for :meth:`Explainer.explain`
        time_limit_s, threads, seed, strategy : as for :meth:`Explainer.explain`
        on_progress : called with (seconds, upper bound, lower bound) of the number of differences

        Returns
        -------
        Contrast

        Raises
        ------
        InputError
            Bad rows or limits, or both rows are predicted alike.
        """
        from portfolio.questions.reasons.contrast import find_contrast

        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_contrast(every_row(self._asker), x, y, options, on_progress)
