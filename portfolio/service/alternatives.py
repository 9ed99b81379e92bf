"""Questions of the service solved again by every backend alone, for the selector to learn from."""

from encoders.errors import InputError
from portfolio.explainer import Explainer
from portfolio.exploration import EveryBackend
from portfolio.logbook import Logbook, PendingLogbook
from portfolio.result import Result
from portfolio.service.asking import meant
from portfolio.service.messages import Ask, Told

EXPLORE = "explore"
# Arguments of explain that name a solver, or ask for more than the cheapest change.
LEFT_OUT = ("strategy", "metric", "second", "tie_break", "record", "rounded", "text")


class Alternatives:
    """Explores questions of served models. For one thread at a time."""

    def __init__(self) -> None:
        self._every = EveryBackend()

    def ask(self, explainer: Explainer, ask: Ask) -> Told:
        """Solve a question with every backend, and log all runs or, where one was stopped, none."""
        assert ask.log is not None

        def solve(backend: str, book: Logbook | None) -> Result:
            given = meant(explainer, ask.arguments)
            return explainer.explain(**given, strategy=backend, log=book)

        book = PendingLogbook(ask.log.folder, ask.log.dataset)
        if not self._every.solve(ask.key, solve, book):
            return Told({}, "interrupted", "")
        try:
            book.write()
        except InputError as error:
            return Told({}, "unlogged", "", complaint=str(error))
        return Told({}, "explored", "")
