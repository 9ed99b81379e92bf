"""A question asked again of every backend by itself, for the selector to learn from."""

from encoders.backends.registry import all_backends
from encoders.errors import InputError, UnavailableBackendError
from portfolio.explainer import Explainer
from portfolio.logbook import PendingLogbook
from portfolio.result import Result
from portfolio.service.asking import meant
from portfolio.service.messages import Ask, Told

EXPLORE = "explore"
# Those of explain that say who solves, or ask for more than the cheapest change.
LEFT_OUT = ("strategy", "metric", "second", "tie_break", "record", "rounded", "text")


def explorable() -> list[str]:
    """Names of the backends that are asked, where they are installed and can take the question."""
    return [backend.name for backend in all_backends() if not backend.capability.epsilon]


class Alternatives:
    """Asks backends one after another, each alone. Used by one thread at a time."""

    def __init__(self) -> None:
        self._warm: set[tuple[str, str]] = set()

    def ask(self, explainer: Explainer, ask: Ask) -> Told:
        """Ask all, and log all of them or, where they were stopped, none.

        Parameters
        ----------
        explainer : of the model
        ask : a question of ``explain``, its arguments without ``LEFT_OUT``

        Raises
        ------
        CounterfolioError
            It can't be asked.
        """
        assert ask.log is not None
        book = PendingLogbook(ask.log.folder, ask.log.dataset)
        for backend in explorable():
            known = (ask.key, backend)
            try:
                if known not in self._warm:  # the first one waits for imports
                    self._asked(explainer, ask, backend, None)
                    self._warm.add(known)
                found = self._asked(explainer, ask, backend, book)
            except UnavailableBackendError:
                continue
            if found.stop_reason == "interrupted":
                return Told({}, "interrupted", "")
        try:
            book.write()
        except InputError as error:
            return Told({}, "unlogged", "", complaint=str(error))
        return Told({}, "explored", "")

    def _asked(
        self, explainer: Explainer, ask: Ask, backend: str, book: PendingLogbook | None
    ) -> Result:
        given = meant(explainer, ask.arguments)
        return explainer.explain(**given, strategy=backend, log=book)
