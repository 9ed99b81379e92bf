"""Copies of an explainer with one setting changed; the model is not read again."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from selector import Diagram, Selector, diagram_of

if TYPE_CHECKING:
    import threading

    from portfolio.engine.ask import Asker
    from portfolio.engine.mapped import Mapped
    from portfolio.model.saved import Arguments
    from portfolio.workers.solver_workers import Workers


class Variants:
    """Methods of an explainer that return a copy with one setting changed.

    Examples
    --------
    >>> explainer.follows_default, explainer.following(explainer.diagram).follows_default
    (True, False)
    """

    _asker: Asker
    _arguments: Arguments

    @property
    def follows_default(self) -> bool:
        """True if no diagram was passed, so that "auto" uses the default one."""
        return self._asker.selector.by_default

    @property
    def diagram(self) -> Diagram:
        """Decision diagram with which "auto" chooses backends."""
        return self._asker.selector.diagram

    def following(self, diagram: Diagram | str | Path | None) -> Self:
        """Return a copy of the explainer with another decision diagram.

        Parameters
        ----------
        diagram : Diagram, path of a JSON file, or None
            Decision diagram for "auto"; None stands for the one that is the default now.

        Returns
        -------
        Explainer
            The copy.

        Raises
        ------
        InputError
            If the diagram cannot be read.

        Examples
        --------
        >>> explainer.following(None).diagram.digest == explainer.diagram.digest
        True
        """
        selector = Selector(diagram_of(diagram), by_default=diagram is None)
        return with_asker(self, replace(self._asker, selector=selector))

    def until(self, stop: threading.Event) -> Self:
        """Return a copy of the explainer whose queries all end soon after an event is set.

        They then return the best answer so far, with the stop reason "interrupted".

        Parameters
        ----------
        stop : threading.Event
            Event to set from another thread.

        Returns
        -------
        Explainer
            The copy.

        Examples
        --------
        >>> import threading
        >>> stop = threading.Event()
        >>> explainer.until(stop).explain(row).status
        'optimal'
        """
        return with_asker(self, replace(self._asker, stop=stop))

    def with_map(
        self,
        target: Any = None,
        margin: float | None = None,
        seconds: float = 60.0,
        megabytes: float = 256.0,
        folder: str | Path | None = None,
    ) -> Self:
        """Return a copy of the explainer with a map, which answers most rows in a millisecond.

        The map contains all boxes of rows in which the target is reached. ``explain``, sessions and
        batches without a fixed backend look up the nearest box, whatever the costs. Answers are
        proved and checked by the model itself, as without a map. The solvers answer queries that
        the map does not cover: relations, MaxChanges, another target or margin, and rows near a
        part of the map that was not built in time.

        Parameters
        ----------
        target : label, goal or None
            Target of the queries, as in :meth:`Explainer.explain`.
        margin : float, optional
            Margin of the queries, as in :meth:`Explainer.explain`.
        seconds : float, default 60
            Time limit in seconds for building the map.
        megabytes : float, default 256
            Maximum size of the map in megabytes.
        folder : str or Path, optional
            Folder in which maps are stored and looked up by the digest of the model.

        Returns
        -------
        Explainer
            The copy.

        Raises
        ------
        InputError
            If the map would have far too many boxes, or if maps do not support the model or target.

        Examples
        --------
        >>> fast = explainer.with_map(target="granted")
        >>> fast.explain(row, target="granted").backend
        'map'
        """
        from portfolio.engine.make_maps import budget_of, with_maps
        from portfolio.engine.question import Question

        asker, question = self._asker.about(Question(target, margin=margin))
        maps = with_maps(asker, question, budget_of(seconds, megabytes), folder)
        return with_asker(self, maps)

    @property
    def map(self) -> Mapped | None:
        """Map that answers queries, None without one; ``print`` it to see its size."""
        from portfolio.engine.mapped import Mapped

        return next((stage for stage in self._asker.first if isinstance(stage, Mapped)), None)

    def run_by(self, workers: Workers) -> Self:
        """Return a copy of the explainer that runs its backends in other workers.

        Parameters
        ----------
        workers : Workers
            Worker processes that run the backends.

        Returns
        -------
        Explainer
            The copy.

        Examples
        --------
        >>> with_limit = explainer.run_by(Workers(memory_bytes=8 * 2**30))
        >>> with_limit.explain(row).status
        'optimal'
        """
        return with_asker(self, replace(self._asker, workers=workers))


Explaining = TypeVar("Explaining")


def asker_of(explainer: Variants) -> Asker:
    """Return the conductor of an explainer's queries, for other parts of this library."""
    return explainer._asker  # noqa: SLF001  (users do not need it)


def sample_of(explainer: Variants) -> Any:
    """Return training rows of an explainer in the user's own form; None if it has none."""
    return explainer._arguments.sample  # noqa: SLF001  (as above)


def with_asker(explainer: Explaining, asker: Asker) -> Explaining:
    """Return a copy of an explainer with another conductor of its queries."""
    same: Any = copy(explainer)
    same._asker = asker  # noqa: SLF001
    return cast(Explaining, same)
