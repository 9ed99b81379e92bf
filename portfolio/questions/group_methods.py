"""The questions of :class:`portfolio.explainer.Explainer` about many rows together."""

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
    """Methods that an explainer inherits; each is a docstring and a call."""

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
        """A few actions that give recourse to as many rows as possible, and the proof of it.

        An action is a set of steps: raise a number to at least a limit, lower one to at most a
        limit, change a category to another; at most one step for each feature. Rows that
        fulfil a step already stay as they are there. An action serves a row if all of its steps
        are admissible for it, cost it no more than the budget, and the model itself then decides
        as wanted. Limits may be any numbers.

        Parameters
        ----------
        X : rows, as for :meth:`Explainer.explain_batch`; those that reach the target as they are
            are left out
        actions : at most so many
        budget : what an action may cost each row that takes it; None for no limit
        target : as for :meth:`Explainer.explain`; None for the other one of two classes
        norm : any p from 0 to 100, or "inf"
        scale, weights, margin : as for :meth:`Explainer.explain`
        constraints : Fixed, Increase, Decrease, Range, Allowed, Precedence, MaxChanges; they hold
            for each row
        time_limit_s : seconds for all of it
        threads, seed : of solvers
        on_progress : called with (seconds, most rows that actions may serve, rows served by now)

        Returns
        -------
        GroupRecourse

        Raises
        ------
        InputError
            Bad rows, number of actions, budget, target, norm, constraints or limits.
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
        """What recourse costs the groups of a protected attribute, each row's cost proved.

        Every adverse row is explained as by :meth:`Explainer.explain_batch`. Groups are told by
        their share without recourse (proved) and by their mean and median cost, and are compared
        with a reference.

        Parameters
        ----------
        X : rows, as for :meth:`Explainer.explain_batch`
        by : name of a feature, or a value for each row: the attribute need not be one of the
            model's
        target : what counts as a good decision: a label, or a goal
        reference : the group that others are compared with; None for the largest
        norm, scale, weights, constraints, margin : as for :meth:`Explainer.explain`
        time_limit_s, deadline_s, threads, executor, out, resume, on_answer, strategy : as for
            :meth:`Explainer.explain_batch`
        seed : of solvers, and of the bootstrap and the permutations
        confidence : of all intervals
        resamples : of the bootstrap and of permutations

        Returns
        -------
        Audit

        Raises
        ------
        InputError
            Bad rows, attribute, target, reference or settings.
        BatchError
            The folder can't be written to any more; holds what was answered.
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
