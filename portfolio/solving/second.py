"""A second opinion: nothing cheaper is proved once more, by another paradigm, without reduction."""

import time
from dataclasses import replace
from typing import Any

from encoders.errors import InputError
from portfolio.question import PLAIN, Options, Question
from portfolio.result import Result
from portfolio.solving.ask import Asker
from portfolio.solving.verify import RELATIVE_TOLERANCE
from selector import check_name

CONTRADICTED = "{} found a cheaper answer than what had been proved, so nothing is proved."
WEAKER = "{} proved it only of rows whose score leads by {:g}."
OPEN = "{} did not get to a second proof before the {}."


def check_second(name: object) -> None:
    """Raise :class:`InputError` unless it is a backend that can be asked for a second opinion.

    Parameters
    ----------
    name : what the user gave
    """
    if not isinstance(name, str) or name in ("auto", "race"):
        raise InputError(f"second must be the name of one backend such as 'cp', got {name!r}.")
    check_name(name.removeprefix(PLAIN))


def with_second(
    asker: Asker, question: Question, options: Options, x: Any, result: Result, name: str
) -> Result:
    """The result, with what another backend says of it within the time that is left.

    Parameters
    ----------
    asker : of the model
    question : that the result answers
    options : of the question, their time limit for both
    x : the row
    result : of the first
    name : of the backend that is asked
    """
    if result.status not in ("optimal", "infeasible"):
        return replace(result, second="")
    if result.distance == 0:
        return replace(result, second=name)
    began, left = time.perf_counter(), options.time_limit_s - result.timings.total
    if left <= 0:
        return replace(result, second="", message=OPEN.format(name, "time limit"))
    asked = replace(
        options,
        strategy=PLAIN + name.removeprefix(PLAIN),
        cutoff=result.distance * (1 - RELATIVE_TOLERANCE),
        time_limit_s=left,
    )
    again = asker.ask(question, asked, x, asker.strategy(question, asked))
    total = result.timings.total + time.perf_counter() - began
    timings = replace(result.timings, total=total)
    if again.row is not None:
        message = CONTRADICTED.format(name)
        found = replace(again, status="feasible", stop_reason="error", lower_bound=0.0)
        return replace(found, second="", message=message, timings=timings)
    if again.status == "infeasible" and again.margin <= result.margin:
        return replace(result, second=name, timings=timings)
    if again.status == "infeasible":
        message = WEAKER.format(name, again.margin)
        return replace(result, second="", message=message, timings=timings)
    why = again.stop_reason.replace("_", " ")
    return replace(result, second="", message=OPEN.format(name, why), timings=timings)
