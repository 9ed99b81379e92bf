"""Several questions about one row, within one time limit."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from encoders.query.constraints import Constraint
from portfolio.model.tabular import Row
from portfolio.question import Options, Question
from portfolio.result import Result
from portfolio.solving.ask import Asker

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
    began : ``time.perf_counter()`` when it was made
    answers : so far
    """

    asker: Asker
    row: Row
    question: Question
    options: Options
    began: float = field(default_factory=time.perf_counter)
    answers: list[Result] = field(default_factory=list)

    def ask(self, more: Iterable[Constraint]) -> Result:
        """The question with more constraints.

        Parameters
        ----------
        more : besides the question's own
        """
        left = self.options.time_limit_s - self.seconds
        asked = replace(self.question, constraints=(*self.question.constraints, *more))
        limited = replace(self.options, time_limit_s=max(left, LEAST_S))
        way = self.asker.strategy(asked, limited)
        self.answers.append(self.asker.ask(asked, limited, self.row, way))
        return self.answers[-1]

    @property
    def interrupted(self) -> bool:
        """Whether the last question was."""
        return bool(self.answers) and self.answers[-1].stop_reason == "interrupted"

    @property
    def seconds(self) -> float:
        """Since it was made."""
        return time.perf_counter() - self.began
