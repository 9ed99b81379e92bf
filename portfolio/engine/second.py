"""Second opinion: optimality is proved again by another backend, without reduction."""

import time
from dataclasses import replace
from typing import Any

from encoders.backends.attempt import Attempt
from encoders.core.errors import InputError
from portfolio.engine.ask import Asker
from portfolio.engine.logbook import Log
from portfolio.engine.question import PLAIN, Options, Question
from portfolio.engine.verify import RELATIVE_TOLERANCE
from portfolio.results.result import Result
from selector import check_name
from selector.logs.record import PROOFS

CONTRADICTED = "{} found a cheaper answer than the proved one, so nothing is proved."
WEAKER = "{} proved it only for rows whose score leads by {:g}."
OPEN = "{} did not finish a second proof before the {}."


def check_second(name: object) -> None:
    """Raise InputError unless the name is that of a single backend."""
    if not isinstance(name, str) or name in ("auto", "race"):
        raise InputError(f"second must be the name of one backend such as 'cp', got {name!r}.")
    check_name(name.removeprefix(PLAIN))


def once_more(
    asker: Asker,
    question: Question,
    options: Options,
    x: Any,
    first: Result,
    name: str,
    log: Log | None = None,
) -> Result:
    """Return another backend's result for a claim, on the unreduced problem."""
    cutoff = first.distance * (1 - RELATIVE_TOLERANCE)
    limited = options.by(PLAIN + name.removeprefix(PLAIN), cutoff=cutoff)
    row = asker.read(x)
    again = asker.ask(question, limited, row, asker.strategy(question, limited))
    verdict = replace(_verdict(first, again, name), target=first.target)
    if log is not None:
        asker.log(
            log, question, limited, row, "second", replace(verdict, attempts=_as_one(verdict))
        )
    return verdict


def _verdict(first: Result, again: Result, name: str) -> Result:
    if again.row is not None and first.status in PROOFS:
        message = CONTRADICTED.format(name)
        return replace(
            again, status="feasible", stop_reason="error", lower_bound=0.0, message=message
        )
    if again.row is not None:
        return again
    if again.status != "infeasible":
        return replace(again, message=OPEN.format(name, again.stop_reason.replace("_", " ")))
    if again.margin > first.margin:
        return replace(again, status="unknown", message=WEAKER.format(name, again.margin))
    if first.row is None:
        return again
    cost = first.distance
    return replace(again, status="optimal", distance=cost, lower_bound=cost, verified=True)


def _as_one(result: Result) -> tuple[Attempt, ...]:
    """Return one attempt for all: those at other classes, and those after rejected rows."""
    if not result.attempts:
        return ()
    last, times = result.attempts[-1], result.timings
    outcome = replace(last.outcome, build_s=times.build, solve_s=times.solve)
    return (replace(last, outcome=outcome),)


def with_second(
    asker: Asker,
    question: Question,
    options: Options,
    x: Any,
    result: Result,
    name: str,
    log: Log | None = None,
) -> Result:
    """Return the result, with another backend's verdict within the remaining time."""
    if result.status not in PROOFS:
        return replace(result, second="")
    if result.distance == 0:
        return replace(result, second=name)
    began, remaining_s = time.perf_counter(), options.time_limit_s - result.timings.total
    if remaining_s <= 0:
        return replace(result, second="", message=OPEN.format(name, "time limit"))
    limited = replace(options, time_limit_s=remaining_s)
    verdict = once_more(asker, question, limited, x, result, name, log)
    total = result.timings.total + time.perf_counter() - began
    timings = replace(result.timings, total=total)
    if verdict.row is not None:
        return replace(verdict, second="", timings=timings)
    if verdict.status in PROOFS:
        return replace(result, second=name, timings=timings)
    return replace(result, second="", message=verdict.message, timings=timings)
