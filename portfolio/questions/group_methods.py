"""Questions about groups of rows: methods of :class:`portfolio.explainer.Explainer`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from portfolio.question import Options, Question

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from encoders.query.constraints import Constraint
    from encoders.query.cost import Norm
    from portfolio.batch.settings import OnAnswer
    from portfolio.questions.groups.audit import Audit
    from portfolio.questions.groups.group import GroupRecourse
    from portfolio.running.work import Answers
    from portfolio.solving.ask import Asker
    from portfolio.solving.progress import OnProgress


class GroupQuestions:
    """Methods of an explainer about groups of rows.

    Examples
    --------
    >>> audit = explainer.audit(X_train[:12], by="sex", target="granted")
    >>> [(group.name, group.adverse) for group in audit.groups]
    [(1, 6), (0, 3)]
    """

    _asker: Asker

    def explain_group(
        self,
        X: Any,
        actions: int = 1,
        budget: float | None = None,
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
        actions : int, default 1
            Largest number of actions.
        budget : float, optional
            Largest cost of an action for each row that takes it; no limit by default.
        target : label or goal, optional
            Class label or goal to reach; by default the other one of two classes.
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
            Number of solver threads, 1 by default.
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

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options("auto", time_limit_s, threads, seed)
        return find_group(self._asker, X, actions, budget, question, options, on_progress)

    def audit(
        self,
        X: Any,
        by: Any,
        target: Any,
        reference: Any = None,
        norm: Norm = 1,
        scale: str = "range",
        weights: Mapping[str, float] | Sequence[float] | None = None,
        constraints: Sequence[Constraint] = (),
        margin: float | None = None,
        time_limit_s: float = 60.0,
        deadline_s: float | None = None,
        threads: int = 1,
        seed: int = 0,
        executor: Literal["local", "ray"] | Answers = "local",
        out: str | Path | None = None,
        resume: bool = False,
        on_answer: OnAnswer = lambda answered, rows: None,
        strategy: str | Sequence[str] | None = None,
        confidence: float = 0.95,
        resamples: int = 2000,
    ) -> Audit:
        """Compare the cost of recourse between groups of rows.

        Every adverse row is explained as in :meth:`Explainer.explain_batch`. Groups are described
        by their share of rows without recourse (proved) and by the mean and median cost of
        recourse, and compared with a reference group.

        Parameters
        ----------
        X : DataFrame or array of shape (n_rows, n_columns)
            Rows of all groups.
        by : str or sequence of length n_rows
            Name of a feature, or the group of each row; the attribute need not be used by the
            model.
        target : label or goal
            Favourable outcome, a class label or a goal.
        reference : label, optional
            Group that the others are compared with; by default the largest.
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
            Wall-clock limit in seconds for each row.
        deadline_s : float, optional
            Wall-clock limit in seconds for all rows together.
        threads : int, default 1
            Number of solver threads of each worker.
        seed : int, default 0
            Random seed of the solvers, the bootstrap and the permutation test.
        executor : {"local", "ray"} or executor, default "local"
            Place where rows are solved, as in :meth:`Explainer.explain_batch`.
        out : str or Path, optional
            Folder for the answers, as in :meth:`Explainer.explain_batch`.
        resume : bool, default False
            Whether to reuse the answers in ``out``, as in :meth:`Explainer.explain_batch`.
        on_answer : callable, optional
            Function called with (rows answered, number of rows).
        strategy : str or sequence of str, optional
            Backend selection, as in :meth:`Explainer.explain`; automatic by default.
        confidence : float, default 0.95
            Confidence level of all intervals.
        resamples : int, default 2000
            Number of resamples of the bootstrap and of the permutation test.

        Returns
        -------
        Audit
            The numbers of each group, and the differences from the reference group.

        Raises
        ------
        InputError
            If a row, the attribute, the target, the reference or a setting is invalid.
        BatchError
            If the folder ``out`` can no longer be written; the exception holds the answers so far.

        Examples
        --------
        >>> audit = explainer.audit(X_train[:40], by="sex", target="granted")
        >>> [(group.name, group.rows, group.adverse) for group in audit.groups]
        [(0, 21, 17), (1, 19, 18)]
        """
        from portfolio.questions.groups.audit_finder import find_audit
        from portfolio.questions.groups.audit_statistics import Sampling

        explainer: Any = self
        question = Question(target, norm, scale, weights, constraints, margin)

        def explain(rows: Any) -> Any:
            return explainer.explain_batch(
                rows,
                target,
                norm,
                scale,
                weights,
                constraints,
                margin,
                time_limit_s=time_limit_s,
                deadline_s=deadline_s,
                threads=threads,
                seed=seed,
                executor=executor,
                out=out,
                resume=resume,
                on_answer=on_answer,
                strategy=strategy,
            )

        sampling = Sampling(confidence, resamples, seed)
        return find_audit(self._asker.model, X, by, reference, question, sampling, explain)
