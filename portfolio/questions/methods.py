"""Questions about one row: methods of :class:`portfolio.explainer.Explainer`."""

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
    """Methods of an explainer about the reasons and the robustness of one prediction.

    Examples
    --------
    >>> explainer.reasons(row).features, explainer.necessary(row).features
    (('age', 'income', 'housing'), ())
    """

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
        """Find features whose values alone determine the prediction of a row.

        All other features may then take any value of the feature space: within their bounds,
        categories and value lists, or missing where missing values are allowed. Default actions are
        ignored.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class or goal to explain: whether the row reaches it. By default the predicted class.
        smallest : bool, default False
            Whether to find a set with the fewest features, instead of any set that cannot be
            reduced.
        order : sequence of str, optional
            Features to leave out first if possible; by default the model's order.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, size of the set, lower bound on the size).

        Returns
        -------
        Reasons
            The sufficient features, their values and what is proved.

        Raises
        ------
        InputError
            If the row, target, order or a limit is invalid.

        Examples
        --------
        >>> print(explainer.reasons(row))
        3 features are sufficient for 'refused' (proved; none can be left out).
        - age = 67
        - income = 19.207
        - housing = free
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
        """Find the smallest perturbation of a row that changes its prediction.

        All rows of the feature space are considered; default actions are ignored. A changed
        category or binary value costs 1, and so does filling in a missing value.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class label or goal that the perturbed row has to reach; by default any other class.
        norm : number, str, callable or mapping, default "inf"
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "none"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        bounds : {"features"} or None, default "features"
            Whether perturbed rows stay within the bounds of the features; None allows any number.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
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
        Robustness
            The nearest row with a different prediction, its distance and what is proved.

        Raises
        ------
        InputError
            If the row or a setting is invalid.

        Examples
        --------
        >>> print(explainer.robustness(row, norm=1, scale="range"))
        Robust below distance 0.1038, where a row flips the prediction (proved).
        - Increase income from 19.207 to at least 26.212.
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
        """Check whether all rows within a radius have the same prediction.

        The result is a proof or a row with a different prediction. Rows beyond the radius are not
        searched, so this is faster than :meth:`robustness`.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        radius : float
            Distance up to which rows are checked, inclusive; greater than 0.
        target : label or goal, optional
            Class label or goal that a perturbed row has to reach; by default any other class.
        norm : number, str, callable or mapping, default "inf"
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "none"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        bounds : {"features"} or None, default "features"
            Whether perturbed rows stay within the bounds of the features; None allows any number.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
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
        Robustness
            The result of the check; see :attr:`Robustness.robust`.

        Raises
        ------
        InputError
            If the row, the radius or a setting is invalid.

        Examples
        --------
        >>> explainer.verify(row, radius=0.1).robust
        True
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
        """Find features that every counterfactual has to change.

        If a necessary feature is fixed, nothing reaches the target. Default actions and constraints
        apply, as in :meth:`Explainer.explain`.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        constraints : sequence of Constraint, default ()
            Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.
        time_limit_s : float, default 60
            Wall-clock limit in seconds, for all steps together.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, number of candidate features, number proved necessary).
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.

        Returns
        -------
        Necessary
            The necessary features, those that remain undecided and the best counterfactual.

        Raises
        ------
        InputError
            If the row, target, a constraint, a limit or the strategy is invalid.

        Examples
        --------
        >>> print(explainer.necessary(row))
        No single feature is necessary (proved).
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
        """Rank the principal reasons for an adverse decision by proved cost.

        A feature whose change alone reaches the target is a reason; the cheaper the change, the
        higher its rank. If there are fewer than ``n``, features of the cheapest joint change of all
        others follow, the most expensive first. Default actions are ignored, constraints apply.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        n : int, default 4
            Largest number of reasons.
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
        time_limit_s : float, default 60
            Wall-clock limit in seconds, for all steps together.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, number of features done, number of features).
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.

        Returns
        -------
        ReasonCodes
            The reasons in the order of their rank.

        Raises
        ------
        InputError
            If the row, ``n`` or a setting is invalid.

        Examples
        --------
        >>> print(explainer.reason_codes(row, n=2))
        Principal reasons (all costs proved):
        1. Increase income from 19.207 to at least 26.212. Enough alone, at cost 0.1038.
        2. Decrease age from 67 to 19. Enough alone, at cost 0.9412.
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
        """Find the fewest differences between two rows that explain their predictions.

        The result is the smallest set of values of ``y`` that, copied to ``x``, give ``x`` the
        prediction of ``y``. Intermediate values, default actions and bounds are ignored.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        y : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to compare with; it is predicted as another class.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) on the number of differences.
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.

        Returns
        -------
        Contrast
            The sufficient differences and what is proved.

        Raises
        ------
        InputError
            If a row or a limit is invalid, or both rows are predicted as the same class.

        Examples
        --------
        >>> granted = X_train[model.predict(X_train) == "granted"].iloc[0]
        >>> print(explainer.contrast(row, granted))
        1 of 4 differences turns 'refused' into 'granted' (proved: no fewer do).
        - housing: own instead of free
        """
        from portfolio.questions.reasons.contrast import find_contrast

        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_contrast(every_row(self._asker), x, y, options, on_progress)
