"""Question methods of an explainer, generated from :mod:`portfolio.questions.records`.

``python -m tests.docs.methods`` writes this file; do not edit it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from portfolio.questions import records

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from portfolio.engine.ask import Asker
    from portfolio.questions.alternatives import Alternatives
    from portfolio.questions.groups.group import GroupRecourse
    from portfolio.questions.reasons.contrast import Contrast
    from portfolio.questions.reasons.necessary import Necessary
    from portfolio.questions.reasons.reason_codes import ReasonCodes
    from portfolio.questions.reasons.reasons import Reasons
    from portfolio.questions.region.region import Region
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining
    from portfolio.questions.robust.robust import Robust
    from portfolio.questions.robust.robustness import Robustness
    from portfolio.questions.several.diverse import Diverse
    from portfolio.questions.several.front import Front
    from portfolio.questions.several.several import Several
    from portfolio.questions.why_not.why_not import WhyNot


class Questions:
    """Question methods that :class:`portfolio.api.explainer.Explainer` inherits.

    Examples
    --------
    >>> [answer.changed[0].feature for answer in explainer.several(row, k=3)]
    ['income', 'age', 'housing']
    """

    _asker: Asker

    def ask(
        self,
        x: Any,
        question: records.QuestionType,
        *,
        on_progress: Callable[..., None] | None = None,
    ) -> Any:
        """Answer a question that is given as a record.

        There is a method for each record in :mod:`portfolio.questions.records`. It takes the fields
        of the record as arguments and returns the same answer.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain; a table for questions about several rows.
        question : QuestionType
            Question with its settings.
        on_progress : callable, optional
            Function called with the progress, as in the method of the question.

        Returns
        -------
        Reasons, Several, Front or another answer
            Answer of the type that the method of the question returns.

        Raises
        ------
        InputError
            If the row or a field of the question is invalid.

        Examples
        --------
        >>> from portfolio.questions.records import SeveralQuestion
        >>> len(explainer.ask(row, SeveralQuestion(k=2)).answers)
        2
        """
        asker, question = self._asker.about(question)
        return question.solve(asker, x, on_progress)

    def reasons(
        self,
        x: Any,
        target: Any = None,
        *,
        smallest: bool = False,
        order: Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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

        asker, question = self._asker.about(
            records.ReasonsQuestion(
                target=target,
                smallest=smallest,
                order=order,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_reasons(asker, x, question, on_progress)

    def robustness(
        self,
        x: Any,
        target: Any = None,
        *,
        norm: Norm = "inf",
        scale: str = "none",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        bounds: Literal["features"] | None = "features",
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound), from solver threads.

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

        asker, question = self._asker.about(
            records.RobustnessQuestion(
                target=target,
                norm=norm,
                scale=scale,
                weights=weights,
                bounds=bounds,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_robustness(asker, x, question, on_progress)

    def verify(
        self,
        x: Any,
        radius: float,
        target: Any = None,
        *,
        norm: Norm = "inf",
        scale: str = "none",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        bounds: Literal["features"] | None = "features",
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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
            Class label or goal that the perturbed row has to reach; by default any other class.
        norm : number, str, callable or mapping, default "inf"
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "none"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        bounds : {"features"} or None, default "features"
            Whether perturbed rows stay within the bounds of the features; None allows any number.
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound), from solver threads.

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
        from portfolio.questions.robust.robustness import verify_radius

        asker, question = self._asker.about(
            records.VerifyQuestion(
                radius=radius,
                target=target,
                norm=norm,
                scale=scale,
                weights=weights,
                bounds=bounds,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return verify_radius(asker, x, question, on_progress)

    def necessary(
        self,
        x: Any,
        target: Any = None,
        *,
        constraints: Sequence[Constraint] = (),
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, number of candidate features, number proved necessary).

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

        asker, question = self._asker.about(
            records.NecessaryQuestion(
                target=target,
                constraints=constraints,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_necessary(asker, x, question, on_progress)

    def reason_codes(
        self,
        x: Any,
        target: Any = None,
        *,
        n: int = 4,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
    ) -> ReasonCodes:
        """Rank the principal reasons for an adverse decision by proved cost.

        A feature whose change alone reaches the target is a reason; the cheaper the change, the
        higher its rank. If there are fewer than ``n``, features of the cheapest joint change of all
        others follow, the most expensive first. Default actions are ignored, constraints apply.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        n : int, default 4
            Largest number of reasons.
        norm : number, str, callable or mapping, default 1
            Distance measure, as in :meth:`Explainer.explain`.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of Constraint, default ()
            Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
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

        asker, question = self._asker.about(
            records.ReasonCodesQuestion(
                target=target,
                n=n,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_reason_codes(asker, x, question, on_progress)

    def contrast(
        self,
        x: Any,
        y: Any,
        *,
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) on the number of differences.

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

        asker, question = self._asker.about(
            records.ContrastQuestion(
                y=y, strategy=strategy, time_limit_s=time_limit_s, threads=threads, seed=seed
            )
        )
        return find_contrast(asker, x, question, on_progress)

    def why_not(
        self,
        x: Any,
        target: Any = None,
        *,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, number of remaining demands, number proved necessary).

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

        asker, question = self._asker.about(
            records.WhyNotQuestion(
                target=target,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                margin=margin,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_why_not(asker, x, question, on_progress)

    def region(
        self,
        x: Any,
        target: Any = None,
        *,
        order: Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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
        from portfolio.questions.region.region import find_region

        asker, question = self._asker.about(
            records.RegionQuestion(
                target=target, order=order, time_limit_s=time_limit_s, threads=threads, seed=seed
            )
        )
        return find_region(asker, x, question, on_progress)

    def explain_robust(
        self,
        x: Any,
        against: Retraining | Around,
        target: Any = None,
        *,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound), from solver threads.

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

        asker, question = self._asker.about(
            records.RobustQuestion(
                against=against,
                target=target,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                margin=margin,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_robust(asker, x, question, on_progress)

    def several(
        self,
        x: Any,
        target: Any = None,
        *,
        k: int = 5,
        different: Literal["features", "region"] = "features",
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        strategy: str | Sequence[str] | None = None,
        tie_break: bool = False,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
    ) -> Several:
        """Find the ``k`` cheapest counterfactuals that differ, each proved.

        With ``different="features"`` no answer changes all features that an earlier answer changes,
        so none is an earlier one with more changes. With ``different="region"`` each answer is the
        cheapest outside the regions of the earlier ones; see :meth:`Result.region`.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        k : int, default 5
            Largest number of answers.
        different : {"features", "region"}, default "features"
            Criterion by which answers differ.
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        tie_break : bool, default False
            Whether to return the same one of several equally cheap answers with every solver.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) of the current answer.

        Returns
        -------
        Several
            The answers by ascending cost.

        Raises
        ------
        InputError
            If the row or a setting is invalid.

        Examples
        --------
        >>> several = explainer.several(row, k=2)
        >>> several.table()[["distance", "changes"]]
           distance    changes
        0  0.103825  (income,)
        1  0.941176     (age,)
        """
        from portfolio.questions.several.several import find_several

        asker, question = self._asker.about(
            records.SeveralQuestion(
                target=target,
                k=k,
                different=different,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                margin=margin,
                strategy=strategy,
                tie_break=tie_break,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_several(asker, x, question, on_progress)

    def diverse(
        self,
        x: Any,
        target: Any = None,
        *,
        k: int = 3,
        within: float = 0.1,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
    ) -> Diverse:
        """Find the ``k`` most different counterfactuals among those of almost minimal cost.

        The smallest distance between two of them is maximised, with a proof. The distance between
        two answers is the cost of one of them if the other is the query.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        k : int, default 3
            Number of answers, from 2 to 20.
        within : float, default 0.1
            Largest additional cost, as a share of the minimal cost: 0.1 for 10 %.
        norm : {0, 1, "inf"}, default 1
            Distance measure, also between any two answers.
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of Constraint, default ()
            Constraints on the counterfactual, for example ``Fixed`` or ``MaxChanges``.
        margin : float, optional
            Required lead over every other class, in units of the model's score.
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) of the smallest distance.

        Returns
        -------
        Diverse
            The answers by ascending cost and what is proved of their distances.

        Raises
        ------
        InputError
            If the row or a setting is invalid.

        Examples
        --------
        >>> diverse = explainer.diverse(row, k=2, within=0.5)
        >>> len(diverse), diverse.status
        (2, 'optimal')
        """
        from portfolio.questions.several.diverse_finder import find_diverse

        asker, question = self._asker.about(
            records.DiverseQuestion(
                target=target,
                k=k,
                within=within,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                margin=margin,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_diverse(asker, x, question, on_progress)

    def front(
        self,
        x: Any,
        target: Any = None,
        *,
        by: Literal["changes", "probability", "plausibility"] = "changes",
        levels: Sequence[float] | None = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        strategy: str | Sequence[str] | None = None,
        tie_break: bool = False,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
    ) -> Front:
        """Trade off cost against changes, probability or plausibility, each level proved.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`. With ``by="probability"``
            a class, by default the other one of two.
        by : {"changes", "probability", "plausibility"}, default "changes"
            Quantity of the levels: largest number of changes, or smallest probability of the
            target. "plausibility" is the smallest ``score_samples`` of the isolation forest.
        levels : sequence of float, optional
            Numbers of changes, probabilities or scores. Default numbers of changes are all from
            that of the cheapest answer to the fewest possible. Default probabilities are 0.5, 0.6,
            0.7, 0.8, 0.9 and 0.95. Default scores are the forest's threshold times 1, 0.95, ...,
            0.75.
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        tie_break : bool, default False
            Whether to return the same one of several equally cheap answers with every solver.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) of the current level.

        Returns
        -------
        Front
            The cheapest answer at each level.

        Raises
        ------
        InputError
            If the row, a level or a setting is invalid.

        Examples
        --------
        >>> print(explainer.front(row, by="probability", levels=[0.5, 0.6]))
        Probability of at least 0.5: distance 0.1038 (proved), changing income.
        Probability of at least 0.6: distance 0.1608 (proved), changing income.
        """
        from portfolio.questions.several.front import find_front

        asker, question = self._asker.about(
            records.FrontQuestion(
                target=target,
                by=by,
                levels=levels,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                margin=margin,
                strategy=strategy,
                tie_break=tie_break,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_front(asker, x, question, on_progress)

    def explain_group(
        self,
        X: Any,
        target: Any = None,
        *,
        actions: int = 1,
        budget: float | None = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
    ) -> GroupRecourse:
        """Find a few actions that give recourse to as many rows as possible.

        An action is a set of steps, at most one per feature. A step raises a number to at least a
        limit, lowers it to at most a limit, or changes a category. Rows that already meet a step
        keep their value. An action serves a row if all its steps are admissible, its cost is within
        the budget and the model then predicts the target. Limits may be any numbers.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Rows that need recourse; rows that already reach the target are left out.
        target : label or goal, optional
            Class label or goal to reach; by default the other one of two classes.
        actions : int, default 1
            Largest number of actions.
        budget : float, optional
            Largest cost of an action for each row that takes it; no limit by default.
        norm : number or "inf", default 1
            Distance measure, a power from 0 to 100 or "inf".
        scale : {"range", "std", "mad", "none"}, default "range"
            Unit of change of numeric and ordinal features, as in :meth:`Explainer.explain`.
        weights : mapping or sequence of float, optional
            Cost factor of each feature, by name or in the model's order; 1 by default.
        constraints : sequence of Constraint, default ()
            Constraints that apply to each row: ``Fixed``, ``Increase``, ``Decrease``, ``Range``,
            ``Allowed``, ``Precedence`` and ``MaxChanges``.
        margin : float, optional
            Required lead over every other class, in units of the model's score.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound on the rows served, rows served).

        Returns
        -------
        GroupRecourse
            The actions, the rows that each serves and what is proved.

        Raises
        ------
        InputError
            If a row or a setting is invalid.

        Examples
        --------
        >>> group = explainer.explain_group(X, actions=1)
        >>> group.covered, group.status
        (4, 'optimal')
        """
        from portfolio.questions.groups.group_finder import find_group

        asker, question = self._asker.about(
            records.GroupQuestion(
                target=target,
                actions=actions,
                budget=budget,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                margin=margin,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_group(asker, X, question, on_progress)

    def alternatives_of(
        self,
        x: Any,
        feature: str,
        target: Any = None,
        *,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        strategy: str | Sequence[str] | None = None,
        time_limit_s: float = 60.0,
        threads: int | None = None,
        seed: int = 0,
        on_progress: Callable[..., None] | None = None,
    ) -> Alternatives:
        """Find the cheapest counterfactual for each way in which one feature may change.

        A number stays, increases or decreases; a category stays or becomes one of the others. With
        ``AllowMissing`` a value may also become missing. Ways that constraints or the bounds of the
        feature rule out are left out.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        feature : str
            Name of the feature whose ways to change are compared.
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
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        time_limit_s : float, default 60
            Wall-clock limit in seconds.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) of the current way.

        Returns
        -------
        Alternatives
            The cheapest counterfactual of each way.

        Raises
        ------
        InputError
            If the row, the feature or a setting is invalid.

        Examples
        --------
        >>> ways = explainer.alternatives_of(row, "income").ways
        >>> [(each.way, round(each.result.distance, 4)) for each in ways]
        [('stays', 0.9412), ('increases', 0.1038), ('decreases', 0.9412)]
        """
        from portfolio.questions.alternatives import find_alternatives

        asker, question = self._asker.about(
            records.AlternativesQuestion(
                feature=feature,
                target=target,
                norm=norm,
                scale=scale,
                weights=weights,
                constraints=constraints,
                margin=margin,
                strategy=strategy,
                time_limit_s=time_limit_s,
                threads=threads,
                seed=seed,
            )
        )
        return find_alternatives(asker, x, question, on_progress)
