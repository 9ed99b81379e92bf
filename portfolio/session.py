"""One backend's model of an ensemble, built once and asked many queries."""

import threading
from dataclasses import replace
from typing import Any

from encoders.as_html import paragraph
from encoders.backends.attempt import RunBackend
from portfolio.logbook import Log, check_log
from portfolio.question import MAP, Options, Question, check_progress
from portfolio.result import Result
from portfolio.running.solver_workers import ModelKeeper
from portfolio.solving.ask import Asker
from portfolio.solving.online import KeptOnline
from portfolio.solving.progress import OnProgress
from portfolio.solving.strategies import Kept, Strategy
from selector import OnlineCosts


class Session:
    """Answers queries that differ in their row only, with the backend's model kept between them.

    The whole problem is solved, unreduced, so that ``timings.build`` and ``timings.solve`` tell
    what building and solving cost: the first query pays for the model, later ones for new costs.
    Constraints that depend on the row (``Increase``, say) may change the model's structure; it is
    then built again, and the time is told. Get one from :meth:`Explainer.session`.

    Thread safe; queries wait for each other. Close it, or use it in a ``with`` statement, to end
    its worker process.

    Parameters
    ----------
    asker : of the explainer
    question : the same for all rows
    options : the same for all rows but for their time limit
    backend : as for :meth:`Explainer.session`; for "map" the asker has one
    online : for "auto", what its choices are learned by from query to query
    """

    def __init__(
        self,
        asker: Asker,
        question: Question,
        options: Options,
        backend: str,
        online: OnlineCosts | None = None,
    ) -> None:
        self._asker, self._question, self._options = asker, question, options
        auto = asker.auto(question, options, keep=True)
        self._strategy: Strategy = Kept(backend, self._run_for, auto)
        if backend == MAP:
            self._strategy = asker.strategy(question, options)
        elif online is not None:
            self._strategy = KeptOnline(self._run_for, auto, online)
        self._keepers: dict[tuple[int, str], ModelKeeper] = {}
        self._lock = threading.RLock()  # a log may be a function that asks the session

    def explain(
        self,
        x: Any,
        time_limit_s: float = 60.0,
        on_progress: OnProgress | None = None,
        log: Log | None = None,
    ) -> Result:
        """The cheapest change of a row; see :meth:`Explainer.explain`.

        Parameters
        ----------
        x, on_progress, log : as for :meth:`Explainer.explain`
        time_limit_s : seconds from when earlier queries have been answered

        Raises
        ------
        InputError
            Bad query or limit.
        """
        check_progress(on_progress)
        check_log(log)
        options = replace(self._options, time_limit_s=time_limit_s)
        with self._lock:
            return self._asker.ask(self._question, options, x, self._strategy, on_progress, log)

    def close(self) -> None:
        """Forget the models and end the worker."""
        with self._lock:
            for keeper in self._keepers.values():
                keeper.close()
            self._keepers = {}
            if isinstance(self._strategy, KeptOnline):
                self._strategy.forget()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        """What a notebook shows: who answers, what is asked, and what is kept."""
        target = self._question.target
        wanted = "another class" if target is None else repr(target)
        kept = f"{len(self._keepers)} model{'s' if len(self._keepers) != 1 else ''} kept"
        return paragraph(f"A session of {self._options.strategy} that asks for {wanted}: {kept}.")

    def _run_for(self, target: int, backend: str = "") -> RunBackend:
        """What runs all backends for a target class, one after another, or one alone."""
        if (target, backend) not in self._keepers:
            self._keepers[target, backend] = self._asker.workers.keeper()
        return self._keepers[target, backend].run
