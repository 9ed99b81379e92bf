"""The same explainer, with one thing otherwise; the model is not read again."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from selector import Diagram, Selector, diagram_of

if TYPE_CHECKING:
    import threading

    from portfolio.running.solver_workers import Workers
    from portfolio.solving.ask import Asker
    from portfolio.solving.mapped import Mapped


class Variants:
    """What an explainer can be had with.

    Attributes
    ----------
    follows_default : whether no diagram was named, so that "auto" goes by the default one
    """

    _asker: Asker
    follows_default: bool

    @property
    def diagram(self) -> Diagram:
        """What "auto" picks backends by."""
        return self._asker.selector.diagram

    def following(self, diagram: Diagram | str | Path | None) -> Self:
        """The same explainer by another diagram.

        Parameters
        ----------
        diagram : as for the class; None: the one that is the default by now

        Raises
        ------
        InputError
            It can't be read.
        """
        same = copy(self)
        same._asker = replace(self._asker, selector=Selector(diagram_of(diagram)))
        same.follows_default = diagram is None
        return same

    def until(self, stop: threading.Event) -> Self:
        """The same explainer, whose questions all end soon once an event is set.

        What is known by then is told, with the stop reason "interrupted".

        Parameters
        ----------
        stop : to be set from another thread
        """
        same = copy(self)
        same._asker = replace(self._asker, stop=stop)
        return same

    def with_map(
        self,
        target: Any = None,
        margin: float | None = None,
        seconds: float = 60.0,
        megabytes: float = 256.0,
        folder: str | Path | None = None,
    ) -> Self:
        """The same explainer with a map of the model, which answers most rows in a millisecond.

        The map holds all boxes of rows in which the target is reached. ``explain``, sessions and
        batches that name no backend ask it for the nearest one, whatever the costs; answers are
        the same, proved and checked by the model itself as ever. Relations, MaxChanges, another
        target or margin, and what a map that was not finished leaves open are solved as without.

        Parameters
        ----------
        target, margin : of the questions that are to be asked, as for :meth:`Explainer.explain`
        seconds, megabytes : for making it, and that it may take
        folder : where it is kept for the next time, by the model's digest; None for nowhere

        Raises
        ------
        InputError
            Its boxes would be far too many, or there are no maps of such a model or target.
        """
        from portfolio.question import Question
        from portfolio.solving.make_maps import budget_of, with_maps

        same, question = copy(self), Question(target, margin=margin)
        same._asker = with_maps(self._asker, question, budget_of(seconds, megabytes), folder)
        return same

    @property
    def map(self) -> Mapped | None:
        """The map that answers, None without one; ``print`` it to see what it took."""
        from portfolio.solving.mapped import Mapped

        answering = self._asker.answering
        return answering if isinstance(answering, Mapped) else None

    def run_by(self, workers: Workers) -> Self:
        """The same explainer, whose backends other workers run.

        Parameters
        ----------
        workers : that run them
        """
        same = copy(self)
        same._asker = replace(self._asker, workers=workers)
        return same
