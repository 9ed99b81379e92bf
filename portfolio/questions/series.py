"""Several questions about one row, within one time limit."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from math import inf

from encoders.backends.attempt import RunBackend
from encoders.query.constraints import Constraint
from portfolio.logbook import Log
from portfolio.model.row import Row
from portfolio.question import Options, Question
from portfolio.questions.several.ties import check_countable, first_of
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.progress import OnProgress

LEAST_S = 1e-3  # seconds that a question gets when there is no time left


@dataclass(frozen=True, eq=False)
class Series:
    """Asks one question after another.

    Attributes
    ----------
    asker : of one model
    row : that all questions are about
    question : that all are variants of
    options : the time limit is for all together
    run : runs backends, None for the workers
    on_progress : told (seconds, upper, lower) of the question under way
    log : gets records of what is asked for its own sake
    began : ``time.perf_counter()`` when it was made
    answers : so far
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
        """The question with more constraints."""
        return self.ask_instead(with_more(self.question, more))

    def ask_instead(self, question: Question, cutoff: float = inf) -> Result:
        """Another question about the row; of answers that cost the same the first, if so wished."""
        if not self.options.tie_break:
            return self.ask_plainly(question, cutoff)
        began, model = self.seconds, self.asker.model
        check_countable(model, self.row, question)
        answer = self.ask_plainly(question, cutoff)
        quiet = replace(self, on_progress=None, log=None)
        first = first_of(quiet.ask_plainly, model, self.row, question, answer)
        return replace(first, timings=replace(first.timings, total=self.seconds - began))

    def ask_plainly(self, question: Question, cutoff: float = inf) -> Result:
        """Another question about the row; any of the answers that cost the same."""
        began = self.seconds
        left = max(self.options.time_limit_s - began, LEAST_S)
        limited = replace(self.options, time_limit_s=left, cutoff=cutoff)
        way = self.asker.strategy(question, limited, self.run)
        told = self.on_progress

        def later(seconds: float, upper: float, lower: float) -> None:
            assert told is not None
            told(began + seconds, upper, lower)

        heard = None if told is None else later
        self.answers.append(self.asker.ask(question, limited, self.row, way, heard, self.log))
        return self.answers[-1]

    @property
    def over(self) -> bool:
        """Whether there is no time left, or somebody interrupted."""
        return self.asker.stopped or self.seconds >= self.options.time_limit_s

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self.began


def with_more(question: Question, more: Iterable[Constraint]) -> Question:
    """A question with more constraints."""
    return replace(question, constraints=(*question.constraints, *more))
