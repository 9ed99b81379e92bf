"""Conversion of JSON requests to calls of an explainer, and of its answers to JSON."""

import json
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import date
from typing import Any, Self

from encoders.backends.attempt import Attempt
from encoders.errors import InputError
from encoders.query.goal import Probability
from portfolio.explainer import Explainer
from portfolio.logbook import LogWarning
from portfolio.questions.robust.nearby import Around
from portfolio.questions.robust.retraining import Retraining
from portfolio.result import Result
from portfolio.service.messages import Ask, Bounds, Told
from portfolio.service.questions import QUESTIONS
from portfolio.solving.progress import OnProgress
from portfolio.written import GOALS, read_constraints, read_written

AGAINST: dict[str, Callable[..., Any]] = {"Around": Around, "Retraining": Retraining}


@dataclass(frozen=True)
class Wanted:
    """Optional parts of an answer.

    Attributes
    ----------
    rounded : bool, include the answer with rounded values
    text : bool, include sentences
    record : bool, include the record, with a proof
    """

    rounded: bool = True
    text: bool = False
    record: bool = False

    @classmethod
    def taken_from(cls, given: dict[str, Any]) -> Self:
        """Return the optional parts that a request names, and remove them from its arguments."""
        named = [own.name for own in fields(cls) if own.name in given]
        return cls(**{name: given.pop(name) for name in named})


def answer(
    explainer: Explainer,
    ask: Ask,
    on_bounds: Callable[[Bounds], None],
    on_found: Callable[[], None] = lambda: None,
) -> Told:
    """Return the answer of an explainer to a request."""
    given = meant(explainer, ask.arguments)
    wanted = Wanted.taken_from(given)
    question = QUESTIONS[ask.question]
    heard = {"on_progress": _telling(on_bounds)} if ask.streamed and question.progresses else {}
    if ask.log is not None:
        given["log"] = ask.log
    with complaints() as heard_of:
        found = getattr(explainer, question.method)(**given, **heard)
    # Writing only numbers is fast. The server extends the time limit for slower parts.
    if wanted.text or wanted.record or not isinstance(found, Result) or _is_late(ask, found):
        on_found()
    told = told_of(found, wanted)
    if wanted.record:
        left_s = max(0.0, ask.limit_s - found.timings.total)
        told.members["record"] = found.record(left_s).to_json()
    return replace(told, complaint="; ".join(heard_of))


def told_of(found: Any, wanted: Wanted) -> Told:
    """Return an answer of an explainer as JSON members."""
    if isinstance(found, Result) and not wanted.rounded:
        found.__dict__.update(rounded=None)  # cached, so that it is not computed
    told = found.to_dict()
    members = {"answer": _json(told)}
    if wanted.text or not isinstance(found, Result):
        members["text"] = _json(str(found))
    if isinstance(found, Result):
        members["beside"] = _json(_beside(found, wanted.text))
        members["attempts"] = _json([_attempt(each) for each in found.attempts])
    return Told(members, *(str(told.get(name, "")) for name in ("status", "backend", "decision")))


@contextmanager
def complaints() -> Iterator[list[str]]:
    """Collect the log warnings of a block as a list of messages."""
    told: list[str] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", LogWarning)
        yield told
        told += [str(each.message) for each in heard if issubclass(each.category, LogWarning)]


def meant(explainer: Explainer, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a method of the explainer, converted from JSON."""
    found = dict(arguments)
    if "target" in found:
        found["target"] = _target(explainer, found["target"])
    if "constraints" in found:
        found["constraints"] = read_constraints(found["constraints"], "constraints")
    if "against" in found:
        found["against"] = _against(found["against"])
    if isinstance(found.get("norm"), dict):
        found["norm"] = {name: _prices(own) for name, own in found["norm"].items()}
    return found


def _target(explainer: Explainer, given: Any) -> Any:
    if isinstance(given, list):
        return tuple(given)

    def meant(label: Any) -> Any:
        if not isinstance(label, str) or label in explainer.classes:
            return label
        # Labels without a JSON type, such as dates, are referred to by their text.
        return next((own for own in explainer.classes if label in _texts(own)), label)

    goal = read_written(given, "target", GOALS)
    if isinstance(goal, dict):
        known = ", ".join(GOALS)
        raise InputError(f"target: {json.dumps(given)} is not a goal. Use one of {known}.")
    if isinstance(goal, Probability):
        return replace(goal, label=meant(goal.label))
    return meant(goal)


def _texts(label: Any) -> set[str]:
    """Return the texts that name a class; dates also in ISO format, without midnight."""
    written = {str(label)}
    if isinstance(label, date):
        written |= {label.isoformat(), label.isoformat().removesuffix("T00:00:00")}
    return written


def _against(given: Any) -> Any:
    if isinstance(given, dict) and isinstance(given.get("Around"), dict):
        # This mapping has features as keys, not names of arguments.
        named = given["Around"].get("radius")
        given = {"Around": [named if isinstance(named, dict) else given["Around"]]}
    found = read_written(given, "against", AGAINST)
    if isinstance(found, Around | Retraining):
        return found
    known = ", ".join(AGAINST)
    raise InputError(f"against: {json.dumps(given)} is not supported. Use one of {known}.")


def _prices(given: Any) -> Any:
    """Return the costs of one feature; pairs allow numbers as values, which JSON keys do not."""
    if not isinstance(given, list):
        return given
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in given):
        raise InputError("norm: costs of a feature must be pairs. Send [[value, cost], ...].")
    try:
        return dict(given)
    except TypeError as error:
        raise InputError(
            "norm: a value with a cost is neither a number nor text. Send [[value, cost], ...]."
        ) from error


def _is_late(ask: Ask, found: Result) -> bool:
    """Return True if more than half of the time limit is used, so that rounding may exceed it."""
    return found.timings.total > ask.limit_s / 2


def _telling(on_bounds: Callable[[Bounds], None]) -> OnProgress:
    def tell(seconds: float, upper: float, lower: float) -> None:
        on_bounds(Bounds(seconds, _finite(upper), _finite(lower)))

    return tell


def _beside(found: Result, worded: bool) -> dict[str, Any]:
    """Return the parts that a client needs, in addition to ``to_dict``, to rebuild the result."""
    rounded = found.rounded
    told = {
        "scored": found.scored,
        "onward": [change.onward for change in found.changed],
        "rounded_onward": [] if rounded is None else [own.onward for own in rounded.changed],
        "codes": {c.feature: [c.from_code, c.to_code] for c in found.changed if c.is_coded},
        "certified_by": found.certified_by,
    }
    # Sentences with rounded numbers need many predictions.
    return told | {"told": [list(vars(own).values()) for own in found.told]} if worded else told


def _attempt(made: Attempt) -> dict[str, Any]:
    """Return the run of one backend as plain values."""
    told = {name: getattr(made, name) for name in ("backend", "engine", "formulation", "threads")}
    times = {name: getattr(made, name) for name in ("began_s", "ended_s", "build_s", "solve_s")}
    bounds = {"upper": _finite(made.upper), "lower": _finite(made.lower)}
    return told | times | bounds | {"status": made.status, "stop_reason": made.stop_reason}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


# Made once, as making an encoder takes as long as encoding a small answer.
_json = json.JSONEncoder(allow_nan=False).encode
