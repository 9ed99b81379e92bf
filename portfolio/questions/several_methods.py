"""Questions with several answers: methods of :class:`portfolio.explainer.Explainer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from portfolio.question import Options, Question, strategy_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from portfolio.questions.several.diverse import Diverse
    from portfolio.questions.several.front import Front
    from portfolio.questions.several.several import Several
    from portfolio.solving.ask import Asker
    from portfolio.solving.progress import OnProgress


class SeveralQuestions:
    """Methods of an explainer that return several counterfactuals of one row.

    Examples
    --------
    >>> [answer.changed[0].feature for answer in explainer.several(row, k=3)]
    ['income', 'age', 'housing']
    """

    _asker: Asker

    def several(
        self,
        x: Any,
        k: int = 5,
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
        tie_break: bool = False,
        different: Literal["features", "region"] = "features",
    ) -> Several:
        """Find the ``k`` cheapest counterfactuals that differ, each proved.

        With ``different="features"`` no answer changes all features that an earlier answer changes,
        so none is an earlier one with more changes. With ``different="region"`` each answer is the
        cheapest outside the regions of the earlier ones; see :meth:`Result.region`.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        k : int, default 5
            Largest number of answers.
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
            Wall-clock limit in seconds, for all answers together.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) of the current answer.
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        tie_break : bool, default False
            Whether to return the same one of several equally cheap answers with every solver.
        different : {"features", "region"}, default "features"
            Criterion by which answers differ.

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

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed, tie_break=tie_break)
        return find_several(self._asker, x, question, options, k, different, on_progress)

    def diverse(
        self,
        x: Any,
        k: int = 3,
        within: float = 0.1,
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
    ) -> Diverse:
        """Find the ``k`` most different counterfactuals among those of almost minimal cost.

        The smallest distance between two of them is maximised, with a proof. The distance between
        two answers is the cost of one of them if the other is the query.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        k : int, default 3
            Number of answers, from 2 to 20.
        within : float, default 0.1
            Largest additional cost, as a share of the minimal cost: 0.1 for 10 %.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`; by default any other
            class.
        norm : {0, 1, "inf"}, default 1
            Distance measure between any two rows.
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
            Function called with (seconds, upper bound, lower bound) of the smallest distance.
        strategy : str or sequence of str, optional
            Backend selection for the cheapest answer, as in :meth:`Explainer.explain`.

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

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed)
        return find_diverse(self._asker, x, question, options, k, within, on_progress)

    def front(
        self,
        x: Any,
        by: Literal["changes", "probability", "plausibility"] = "changes",
        levels: Sequence[float] | None = None,
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
        tie_break: bool = False,
    ) -> Front:
        """Trade off cost against changes, probability or plausibility, each level proved.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        by : {"changes", "probability", "plausibility"}, default "changes"
            Quantity of the levels: largest number of changes, or smallest probability of the
            target. "plausibility" is the smallest ``score_samples`` of the isolation forest.
        levels : sequence of float, optional
            Numbers of changes, probabilities or scores. Default numbers of changes are all from
            that of the cheapest answer to the fewest possible. Default probabilities are 0.5, 0.6,
            0.7, 0.8, 0.9 and 0.95. Default scores are the forest's threshold times 1, 0.95, ...,
            0.75.
        target : label or goal, optional
            Class label or goal to reach, as in :meth:`Explainer.explain`. With ``by="probability"``
            a class, by default the other one of two.
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
            Wall-clock limit in seconds, for all levels together.
        threads : int, optional
            Number of solver threads; by default all cores that this process may use.
        seed : int, default 0
            Random seed of the solvers.
        on_progress : callable, optional
            Function called with (seconds, upper bound, lower bound) of the current level.
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        tie_break : bool, default False
            Whether to return the same one of several equally cheap answers with every solver.

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

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options(strategy_name(strategy), time_limit_s, threads, seed, tie_break=tie_break)
        return find_front(self._asker, x, question, options, by, levels, on_progress)
