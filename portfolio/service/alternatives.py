"""Exploration of requests: each backend solves them alone, as training data for selectors."""

from encoders.errors import InputError
from portfolio.explainer import Explainer
from portfolio.exploration import EveryBackend
from portfolio.logbook import Logbook, PendingLogbook
from portfolio.result import Result
from portfolio.service.asking import meant
from portfolio.service.messages import Ask, Reply

EXPLORE = "explore"
# Arguments of explain that select a solver, or request more than the cheapest change.
LEFT_OUT = ("strategy", "metric", "second", "tie_break", "record", "rounded", "text")


class Alternatives:
    """A solver of requests with every backend, for one thread at a time."""

    def __init__(self) -> None:
        self._every = EveryBackend()

    def ask(self, explainer: Explainer, ask: Ask) -> Reply:
        """Solve a question with every backend; log all runs, or none if one was stopped."""
        assert ask.log is not None

        def solve(backend: str, book: Logbook | None) -> Result:
            arguments = meant(explainer, ask.arguments)
            return explainer.explain(**arguments, strategy=backend, log=book)

        book = PendingLogbook(ask.log.folder, ask.log.dataset)
        if not self._every.solve(ask.key, solve, book):
            return Reply({}, "interrupted", "")
        try:
            book.write()
        except InputError as error:
            return Reply({}, "unlogged", "", complaint=str(error))
        return Reply({}, "explored", "")
