"""The same explainer, with one thing otherwise; the model is not read again."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from selector import Diagram, Selector, diagram_of

if TYPE_CHECKING:
    import threading
    from pathlib import Path

    from portfolio.running.solver_workers import Workers
    from portfolio.solving.ask import Asker


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

    def run_by(self, workers: Workers) -> Self:
        """The same explainer, whose backends other workers run.

        Parameters
        ----------
        workers : that run them
        """
        same = copy(self)
        same._asker = replace(self._asker, workers=workers)
        return same
