"""Questions about answers: conflicts, regions and robust counterfactuals."""

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
    """Return a function that computes the region around an answer on demand."""

    def region(*settings: Any, stop: threading.Event | None = None) -> Any:
        from portfolio.questions.region.region import region_around

        return region_around(replace(asker, stop=stop), row, goal, label, changed, *settings)

    return region


class AnswerQuestions:
    """Methods of an explainer for robust answers, regions and queries without an answer.

    Examples
    --------
    >>> explainer.region(row)["age"].words
    'at least 20'
    """

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
        """Find demands that rule out every counterfactual, and how far to relax each.

        Demands are the constraints, default actions and bounds of features, the margin and
        plausibility. The result is a minimal conflicting set (MUS): demands are dropped one by one
        as long as the others still conflict, and each step is a proof.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        norm : number, str, callable or mapping, default 1
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of Constraint, default ()
            Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.
        margin : float, optional
            Required lead over every other class, in units of the model's score.
        time_limit_s : float, default 60
            Wall-clock limit in seconds, for all steps together.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, number of remaining demands, number proved necessary).
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.

        Returns
        -------
        WhyNot
            The conflicting demands and the smallest relaxation of each.

        Raises
        ------
        InputError
            If the row or a setting is invalid.

        Examples
        --------
        >>> from counterfolio import Fixed, Range
        >>> rules = [Range("income", 0, 20), Fixed("age"), Fixed("housing")]
        >>> explainer.why_not(row, constraints=rules).cheapest.words
        'income up to 26.212 instead of 20'
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
        """Find the largest box around a row in which the prediction stays the same.

        Features are widened one after another, upwards and then downwards, until the box would
        include a row with a different prediction. Features that come first therefore get more room.
        The box is within the feature space; default actions are ignored. See also
        :meth:`Result.region`.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row inside the box.
        target : label or goal, optional
            Goal that every row of the box reaches, as the row does; by default the predicted class.
        order : sequence of str, optional
            Features to widen first; by default the model's order.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, number of features done, number of features).

        Returns
        -------
        Region
            The box, one :class:`Span` per feature.

        Raises
        ------
        InputError
            If the row, target, order or a limit is invalid, or the row does not reach the target.

        Examples
        --------
        >>> region = explainer.region(row)
        >>> region["income"].words
        'at most 24.2685'
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
        """Find the nearest counterfactual that holds if the model or the row varies.

        ``Retraining(confidence=0.9)`` requires so many votes of a forest that a retrained forest
        makes the same prediction. ``Around({"income": 50, "age": 1})`` requires that all rows
        within these radii of the answer reach the target. It solves repeatedly: rows near an answer
        that miss the target are excluded with the box around them, until there are none.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        against : Retraining or Around
            Variation that the counterfactual has to withstand.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        norm : number, str, callable or mapping, default 1
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of Constraint, default ()
            Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.
        margin : float, optional
            Required lead over every other class, in units of the model's score.
        time_limit_s : float, default 60
            Wall-clock limit in seconds, for all rounds together.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound), from solver threads.
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.

        Returns
        -------
        Robust
            The robust counterfactual and what is proved.

        Raises
        ------
        InputError
            If the row, a radius or a setting is invalid.
        UnsupportedModelError
            If ``against`` is Retraining and the model is not a supported forest.

        Examples
        --------
        >>> from counterfolio import Around
        >>> robust = explainer.explain_robust(row, Around({"income": 0.5}))
        >>> robust.status, round(robust.distance, 4)
        ('optimal', 0.1112)
        """
        from portfolio.questions.robust.robust import find_robust

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_robust(self._asker, x, against, question, options, on_progress)
