"""Series of queries about one row within one time limit."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf

from encoders.backends.attempt import RunBackend
from encoders.backends.interface import Status, StopReason
from encoders.query.constraints import Constraint
from portfolio.engine.ask import Asker
from portfolio.engine.logbook import Log
from portfolio.engine.progress import OnProgress
from portfolio.engine.question import Options, Question
from portfolio.engine.ties import check_countable, first_of
from portfolio.model.row import Row
from portfolio.results.result import Result
from selector.logs.record import PROOFS

LEAST_S = 1e-3  # time limit of a query if the time is over


@dataclass(frozen=True, eq=False)
class Series:
    """Series of variants of one query.

    Attributes
    ----------
    asker : asker of the model.
    row : row of all queries.
    question : question of which all queries are variants.
    options : options; their time limit is for all queries together.
    run : function that runs backends; None for the workers.
    on_progress : function called with (seconds, upper bound, lower bound) of the current query.
    log : training log for queries other than those that break ties.
    began : value of ``time.perf_counter()`` at the start.
    answers : answers so far.
    """

    asker: Asker
    row: Row
    question: Question
    options: Options
    run: RunBackend | None = None
    on_progress: OnProgress | None = None
    log: Log | None = None
    began: float = field(default_factory=time.perf_counter)
    answers: list[Result] = field(default_factory=list)

    def ask(self, more: Iterable[Constraint]) -> Result:
        """Solve the question with additional constraints."""
        return self.ask_instead(with_more(self.question, more))

    def ask_instead(self, question: Question, cutoff: float = inf) -> Result:
        """Solve another question about the row, and break ties if the options say so."""
        if not self.options.tie_break:
            return self.ask_plainly(question, cutoff)
        began, model = self.seconds, self.asker.model
        check_countable(model, self.row, question)
        answer = self.ask_plainly(question, cutoff)
        quiet = replace(self, on_progress=None, log=None)
        first = first_of(quiet.ask_plainly, model, self.row, question, answer)
        return replace(first, timings=replace(first.timings, total=self.seconds - began))

    def ask_plainly(self, question: Question, cutoff: float = inf) -> Result:
        """Solve another question about the row without breaking ties."""
        began = self.seconds
        remaining_s = max(self.options.time_limit_s - began, LEAST_S)
        limited = replace(self.options, time_limit_s=remaining_s, cutoff=cutoff)
        strategy = self.asker.strategy(question, limited, self.run)
        on_progress = self.on_progress

        def report(seconds: float, upper: float, lower: float) -> None:
            assert on_progress is not None
            on_progress(began + seconds, upper, lower)

        shifted = None if on_progress is None else report
        answer = self.asker.ask(question, limited, self.row, strategy, shifted, self.log)
        self.answers.append(answer)
        return self.answers[-1]

    def summary(self, results: Sequence[Result], complete: bool) -> tuple[Status, StopReason]:
        """Return the status of several answers together, and the reason of the first open one.

        Parts that were not solved for lack of time make the whole incomplete.
        """
        weaker = (each.stop_reason for each in results if each.status not in PROOFS)
        proved = complete and all(each.status in PROOFS for each in results)
        reason: StopReason = "proved" if proved else next(weaker, self.asker.why)
        if any(math.isfinite(each.distance) for each in results):
            return ("optimal" if proved else "feasible"), reason
        return ("infeasible" if proved else "unknown"), reason

    @property
    def over(self) -> bool:
        """True if the time is over or the user interrupted."""
        return self.asker.stopped or self.seconds >= self.options.time_limit_s

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began


def with_more(question: Question, more: Iterable[Constraint]) -> Question:
    """Return a question with additional constraints."""
    return replace(question, constraints=(*question.constraints, *more))
