"""The questions of :class:`portfolio.explainer.Explainer` besides the cheapest change."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from portfolio.question import Options, strategy_name
from portfolio.questions.every_row import every_row
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress

if TYPE_CHECKING:
    from portfolio.questions.reasons import Reasons


class Questions:
    """Methods that an explainer inherits; each is a docstring and a call."""

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
    ) -> "Reasons":
        """Features that alone decide a row: as long as these keep its values, so does the decision.

        The other features may take every value of the feature space: within their bounds, of their
        categories and lists, and missing where values may be. What people can do about them
        (default actions) does not count.

        Parameters
        ----------
        x : as for :meth:`Explainer.explain`
        target : None for the class that the model decides for; a label for whether it is this
            one; or a goal, as for :meth:`Explainer.explain`, for whether it is reached
        smallest : the fewest features that suffice; else a set of which none can be left out
        order : features to leave out first, if that is possible; by default in the model's order
        time_limit_s : seconds from this call
        threads, seed : of solvers
        on_progress : called with (seconds, size of the set, lower bound on its size)

        Returns
        -------
        Reasons

        Raises
        ------
        InputError
            Bad row, target, order or limits.
        """
        from portfolio.questions.reasons import find_reasons

        options = Options("auto", time_limit_s, threads, seed)
        return find_reasons(
            every_row(self._asker), x, target, smallest, order, options, on_progress
        )
