"""Sessions, which keep the model of a backend for many queries."""

import threading
from dataclasses import replace
from typing import Any

from encoders.backends.attempt import RunBackend
from encoders.core.as_html import paragraph
from portfolio.engine.ask import Asker
from portfolio.engine.logbook import Log, check_log
from portfolio.engine.online import KeptOnline
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import MAP, Options, Question, check_progress
from portfolio.engine.strategies import Kept, Strategy
from portfolio.results.printing import counted
from portfolio.results.result import Result
from portfolio.workers.solver_workers import ModelKeeper
from selector import OnlineCosts


class Session:
    """Series of queries that differ in their row only and share the model of a backend.

    The whole problem is solved without presolve. The first query builds the model of the backend,
    later ones only change the costs; ``timings.build`` and ``timings.solve`` show both parts.
    Constraints that depend on the row, such as ``Increase``, may change the structure of the model.
    It is then built again. :meth:`Explainer.session` creates sessions.

    Thread safe; queries wait for each other. Call :meth:`close` or use a ``with`` statement to end
    the worker process.

    Parameters
    ----------
    asker : Asker
        Solver of the explainer.
    question : Question
        Settings that all queries share.
    options : Options
        Options that all queries share, except for the time limit.
    backend : str
        Name of the backend as in :meth:`Explainer.session`. For "map", ``asker`` needs a map.
    online : OnlineCosts, optional
        Costs that "auto" learns from query to query.

    Examples
    --------
    >>> with explainer.session(target="granted", strategy="cp") as session:
    ...     [session.explain(X.iloc[at]).status for at in range(2)]
    ['optimal', 'optimal']
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
        self._lock = threading.RLock()  # a log may be a function that calls explain

    def explain(
        self,
        x: Any,
        time_limit_s: float = 60.0,
        on_progress: OnProgress | None = None,
        log: Log | None = None,
    ) -> Result:
        """Find the cheapest change of a row; see :meth:`Explainer.explain`.

        Parameters
        ----------
        x : DataFrame of one row, Series, mapping or array of shape (n_columns,)
            Row to explain.
        time_limit_s : float, default 60
            Limit in seconds, counted from the end of earlier queries.
        on_progress : callable, optional
            Progress callback, as in :meth:`Explainer.explain`.
        log : str, Path, Logbook or callable, optional
            Training log, as in :meth:`Explainer.explain`.

        Returns
        -------
        Result
            The answer.

        Raises
        ------
        InputError
            If the row or a limit is invalid.

        Examples
        --------
        >>> with explainer.session(target="granted", strategy="cp") as session:
        ...     session.explain(row, time_limit_s=30).status
        'optimal'
        """
        check_progress(on_progress)
        check_log(log)
        options = replace(self._options, time_limit_s=time_limit_s)
        with self._lock:
            return self._asker.ask(self._question, options, x, self._strategy, on_progress, log)

    def close(self) -> None:
        """Delete the models and end the worker processes, after a query that runs.

        A query that follows builds its model again.

        Examples
        --------
        >>> session = explainer.session(target="granted", strategy="cp")
        >>> session.explain(row).status
        'optimal'
        >>> session.close()
        """
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
        """Return HTML for notebooks: strategy, target and number of models."""
        target = self._question.target
        words = "another class" if target is None else repr(target)
        models, strategy = counted(len(self._keepers), "model"), self._options.strategy
        return paragraph(f"Session with strategy {strategy} and target {words}: {models} kept.")

    def _run_for(self, target: int, backend: str) -> RunBackend:
        """Return the function that runs a backend for a target class, and keeps its model."""
        if (target, backend) not in self._keepers:
            self._keepers[target, backend] = self._asker.workers.keeper()
        return self._keepers[target, backend].run
