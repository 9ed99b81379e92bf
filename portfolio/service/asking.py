"""Conversion of JSON requests to calls of an explainer, and of its answers to JSON."""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from encoders.core.errors import InputError
from portfolio.api.explainer import Explainer
from portfolio.batch.exploration import EveryBackend
from portfolio.engine.logbook import Logbook, LogWarning, PendingLogbook
from portfolio.engine.progress import OnProgress
from portfolio.questions.codec import decode_settings
from portfolio.questions.groups.group import GroupRecourse
from portfolio.results.codec import encode
from portfolio.results.result import Computed, Result
from portfolio.service.messages import Ask, Bounds, Reply
from portfolio.service.questions import QUESTIONS

# Attributes of an attempt that a response contains.
ATTEMPT = (
    *("backend", "engine", "formulation", "threads", "began_s", "ended_s", "build_s", "solve_s"),
    *("upper", "lower", "status", "stop_reason"),
)


@dataclass(frozen=True)
class Parts:
    """Optional parts of an answer."""

    rounded: bool = True  # include the answer with rounded values
    text: bool = False  # include sentences
    record: bool = False  # include the record, with a proof

    @classmethod
    def taken_from(cls, arguments: dict[str, Any]) -> Self:
        """Return the optional parts that a request names, and remove them from its arguments."""
        named = [part.name for part in fields(cls) if part.name in arguments]
        return cls(**{name: arguments.pop(name) for name in named})


def answer(
    explainer: Explainer,
    ask: Ask,
    on_bounds: Callable[[Bounds], None],
    on_found: Callable[[], None] = lambda: None,
) -> Reply:
    """Return the answer of an explainer to a request."""
    arguments = decode_settings(ask.arguments, explainer.classes)
    parts = Parts.taken_from(arguments)
    question = QUESTIONS[ask.question]
    heard = {"on_progress": _reporting(on_bounds)} if ask.streamed and question.progresses else {}
    if ask.log is not None:
        arguments["log"] = ask.log
    began_s = time.time()
    with complaints() as heard_of:
        result = getattr(explainer, question.method)(**arguments, **heard)
    # Writing only numbers is fast. The server extends the time limit for slower parts.
    if parts.text or parts.record or not isinstance(result, Result) or _is_late(ask, result):
        on_found()
    message = reply_of(result, parts)
    if parts.record:
        left_s = max(0.0, ask.limit_s - result.timings.total)
        message.members["record"] = result.record(left_s).to_json()
    attempts_at_s = first_attempt_s(result, began_s)
    return replace(message, complaint="; ".join(heard_of), attempts_at_s=attempts_at_s)


def explore(explainer: Explainer, ask: Ask, every: EveryBackend) -> Reply:
    """Solve a question with every backend; log all runs, or none if one was stopped."""
    assert ask.log is not None

    def solve(backend: str, book: Logbook | None) -> Result:
        arguments = decode_settings(ask.arguments, explainer.classes)
        return explainer.explain(**arguments, strategy=backend, log=book)

    book = PendingLogbook(ask.log.folder, ask.log.dataset)
    if not every.solve(explainer.digest, solve, book):
        return Reply({}, "interrupted", "")
    try:
        book.write()
    except InputError as error:
        return Reply({}, "unlogged", "", complaint=str(error))
    return Reply({}, "explored", "")


def answer_group(explainer: Explainer, ask: Ask, on_bounds: Callable[[Bounds], None]) -> Reply:
    """Compute the actions of a group in the worker process."""
    arguments = decode_settings(ask.arguments, explainer.classes)
    result: GroupRecourse = explainer.explain_group(
        **arguments,
        on_progress=lambda seconds, most, served: on_bounds(Bounds(seconds, most, served)),
    )
    after = encode(result.counterfactuals.reset_index(names="id").to_dict("records"))
    members = {
        "answer": result.to_json(),
        "text": json.dumps(str(result)),
        "after": json.dumps(after, allow_nan=False),
    }
    return Reply(members, result.status, "")


def reply_of(result: Any, parts: Parts) -> Reply:
    """Return an answer of an explainer as JSON members."""
    if isinstance(result, Result) and not parts.rounded:
        result = _unrounded(result)
    document = result.to_dict()
    members = {"answer": _json(document)}
    if parts.text or not isinstance(result, Result):
        members["text"] = _json(str(result))
    if isinstance(result, Result):
        members["beside"] = _json(_beside(result, parts.text))
        members["attempts"] = _json(
            encode([{n: getattr(each, n) for n in ATTEMPT} for each in result.attempts])
        )
    status, backend, decision = (
        str(document.get(name, "")) for name in ("status", "backend", "decision")
    )
    return Reply(members, status, backend, decision)


def first_attempt_s(result: Any, began_s: float) -> float:
    """Return when the first attempt of a query began, which itself began at a time."""
    if not isinstance(result, Result):
        return began_s
    return began_s + result.timings.pose + result.timings.reduce


def _unrounded(result: Result) -> Result:
    """Return a result without the answer in fewer digits, which takes time to compute."""
    if result.computed is not None:
        return replace(result, computed=replace(result.computed, rounded=None))
    scores = result.score, result.score_before, result.scored
    return replace(result, computed=Computed(*scores))


@contextmanager
def complaints() -> Iterator[list[str]]:
    """Collect the log warnings of a block as a list of messages."""
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", LogWarning)
        yield messages
        messages += [str(each.message) for each in heard if issubclass(each.category, LogWarning)]


def _is_late(ask: Ask, result: Result) -> bool:
    """Return True if more than half of the time limit is used, so that rounding may exceed it."""
    return result.timings.total > ask.limit_s / 2


def _reporting(on_bounds: Callable[[Bounds], None]) -> OnProgress:
    def tell(seconds: float, upper: float, lower: float) -> None:
        on_bounds(Bounds(seconds, encode(upper), encode(lower)))

    return tell


def _beside(result: Result, worded: bool) -> dict[str, Any]:
    """Return the parts that a client needs, in addition to ``to_dict``, to rebuild the result."""
    rounded = result.rounded
    parts = {
        "scored": result.scored,
        "onward": [change.onward for change in result.changed],
        "rounded_onward": [] if rounded is None else [each.onward for each in rounded.changed],
        "codes": {c.feature: [c.from_code, c.to_code] for c in result.changed if c.is_coded},
        "certified_by": result.certified_by,
    }
    # Sentences with rounded numbers need many predictions.
    return (
        parts | {"told": [list(vars(each).values()) for each in result.told]} if worded else parts
    )


# Made once, as making an encoder takes as long as encoding a small answer.
_json = json.JSONEncoder(allow_nan=False).encode
