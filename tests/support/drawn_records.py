"""Random records for property tests, drawn by the types of their fields."""

import inspect
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import reject
from hypothesis import strategies as st

from encoders.core.errors import InputError
from encoders.query.goal import Wanted
from portfolio.questions.groups.audit_statistics import ENDS, Estimate
from portfolio.questions.robust.nearby import Around
from portfolio.questions.robust.retraining import Retraining
from portfolio.results.codec import _members
from portfolio.results.result import Computed, Result, Rounded
from portfolio.results.rows import Values

UNIONS = (Union, UnionType)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
LABELS = NAMES | st.integers(-5, 5) | st.booleans()
ROWS = st.dictionaries(NAMES, LABELS | FINITE | st.none(), min_size=1, max_size=3)
BASIC = {
    str: NAMES,
    int: st.integers(0, 9),
    bool: st.booleans(),
    float: st.floats(0.5, 0.9) | st.integers(0, 9) | FINITE,
    NoneType: st.none(),
}


def argument(hint: Any) -> Any:
    """Return the strategy of an argument of a constraint, a goal or a question."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint in BASIC:
        return BASIC[hint]
    if is_dataclass(hint):
        return term(hint)
    if origin is Literal:
        return st.sampled_from(parts)
    if origin in UNIONS:
        return st.one_of([argument(part) for part in parts])
    if origin is tuple and parts[-1] is not Ellipsis:
        return st.tuples(*map(argument, parts))
    if origin in (tuple, Sequence, Iterable):
        return st.lists(argument(parts[0]), min_size=1, max_size=3).map(tuple)
    if origin is Mapping:
        return st.dictionaries(*map(argument, parts), min_size=1, max_size=3)
    return LABELS


@st.composite
def term(draw: Any, kind: Any) -> Any:
    """Draw a constraint, a condition, a goal or a variation."""
    hints, in_order, named = get_type_hints(kind.__init__), [], {}
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL:
            in_order += draw(st.lists(argument(hints[name]), min_size=1, max_size=3))
        elif parameter.default is parameter.empty:
            in_order.append(draw(argument(hints[name])))
        elif draw(st.booleans()):
            named[name] = draw(argument(hints[name]))
    try:
        return kind(*in_order, **named)
    except InputError:  # such as limits that contradict each other
        reject()


LABEL = bool | int | float | str | None
# Types of arguments whose annotation is wider than what JSON allows.
ARGUMENTS = {
    "target": LABEL | Wanted | tuple[float | None, float | None],
    "y": Mapping[str, LABEL] | Sequence[LABEL],
    "scale": Literal["range", "std", "mad", "none"],
    "norm": float | Literal["inf"] | Mapping[str, Mapping[LABEL, float]],
    "against": Around | Retraining,
}
LIMITS = {
    "time_limit_s": st.floats(1, 9),
    "radius": st.floats(0.5, 2),
    "actions": st.integers(1, 20),
    "budget": st.none() | st.floats(0, 9),
    "threads": st.none() | st.integers(1, 9),
}


@st.composite
def settings_of(draw: Any, kind: Any) -> dict[str, Any]:
    """Draw the settings of a question; those of limits and counts are in their range."""
    hints = get_type_hints(kind) | ARGUMENTS
    drawn = {each.name: LIMITS.get(each.name, argument(hints[each.name])) for each in fields(kind)}
    return {name: draw(strategy) for name, strategy in drawn.items()}


def answer(hint: Any) -> Any:
    """Return the strategy of an answer, or of a value in one."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is float:
        return FINITE | st.just(math.inf)
    if hint is Estimate:
        return estimate()
    if is_dataclass(hint):
        return record(hint)
    if origin in UNIONS:
        return st.one_of([FINITE if part is float else answer(part) for part in parts])
    if origin is tuple and parts[-1] is Ellipsis:
        return st.lists(answer(parts[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(answer, parts))
    if origin is Sequence:
        return st.lists(answer(parts[0]), max_size=2)
    if origin is Mapping:
        return st.dictionaries(NAMES, answer(parts[1]), max_size=2)
    return argument(hint)


@st.composite
def record(draw: Any, kind: Any) -> Any:
    """Draw an answer or a part of one, without values that depend on a model."""
    given = {}
    for name, member in _members(kind).items():
        if name == "against":
            given[name] = draw(argument(Around | Retraining))
        else:
            drawn = draw(ROWS if member.hint == Values else answer(member.hint))
            given[name] = drawn if member.read is None else member.read(drawn)
    drawn = kind(**given)
    if kind is not Result:
        return drawn
    rounded = draw(st.none() | record(Rounded))
    if drawn.status == "infeasible":
        drawn = replace(drawn, distance=math.inf)
    return replace(drawn, computed=Computed(draw(FINITE), draw(FINITE), "", None, rounded))


@st.composite
def estimate(draw: Any) -> Estimate:
    """Draw an estimate; its range and its interval may have infinite ends."""
    ends = draw(st.lists(FINITE, min_size=4, max_size=4))
    infinite = [draw(st.sampled_from([end, limit])) for end, limit in zip(ends, ENDS, strict=True)]
    return Estimate(*infinite[:2], *draw(st.sampled_from([infinite[2:], [None, None]])))
