"""The questions of :class:`portfolio.explainer.Explainer` about many rows together."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from encoders.query.constraints import Constraint
from encoders.query.cost import Norm
from portfolio.question import Options, Question
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress

if TYPE_CHECKING:
    from portfolio.questions.group import GroupRecourse


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
    ) -> "GroupRecourse":
        """A few actions that give recourse to as many rows as possible, and the proof of it.

        An action is a set of steps: raise a number to at least a limit, lower one to at most a
        limit, change a category to another. Rows that fulfil a step already stay as they are there.
        An action serves a row if all of its steps are admissible for it, cost it no more than the
        budget, and the model itself then decides as wanted. Limits may be any numbers.

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
        from portfolio.questions.group_finder import find_group

        question = Question(target, norm, scale, weights, constraints, margin)
        options = Options("auto", time_limit_s, threads, seed)
        return find_group(self._asker, X, actions, budget, question, options, on_progress)
