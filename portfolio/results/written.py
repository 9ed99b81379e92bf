"""Constraints and goals in JSON.

An example is ``{"Linear": [{"debts": 1, "income": -0.5}, "<=", 0]}``. Each constraint or goal is an
object with one key, the name as in Python. The value holds the arguments: a list in their order, a
mapping by name, or the only argument. Nested conditions have the same form.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query import conditions, constraints, goal, relations

CONSTRAINTS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (
        constraints.Fixed,
        constraints.Increase,
        constraints.Decrease,
        constraints.Range,
        constraints.Allowed,
        constraints.AllowMissing,
        constraints.MaxChanges,
        relations.Implies,
        relations.Together,
        relations.Forbidden,
        relations.AllowedPairs,
        relations.Precedence,
        relations.Linear,
        relations.JointCost,
        conditions.Changes,
        conditions.Stays,
        conditions.Rises,
        conditions.Falls,
        conditions.Within,
        conditions.Becomes,
    )
}
GOALS: dict[str, Callable[..., Any]] = {
    kind.__name__: kind
    for kind in (goal.Probability, goal.Score, goal.AtLeast, goal.AtMost, goal.Less, goal.More)
}
# Classes whose arguments are not the fields of a dataclass.
IN_ORDER: dict[str, Callable[[Any], list[Any]]] = {
    "Together": lambda part: list(part.features),
    "Forbidden": lambda part: list(part.conditions),
    "Becomes": lambda part: [part.feature, *part.values],
    "Linear": lambda part: [dict(part.terms), part.sign, part.bound],
    "JointCost": lambda part: [part.first, part.second, part.costs],
    "Around": lambda part: [dict(part.radius)],
}


def read_written(part: Any, where: str, names: Mapping[str, Callable[..., Any]]) -> Any:
    """Return the object that a JSON value describes; other values are returned unchanged."""
    if isinstance(part, list):
        return [read_written(each, where, names) for each in part]
    if not isinstance(part, dict):
        return part
    if len(part) != 1 or next(iter(part)) not in names:
        return {key: read_written(value, where, names) for key, value in part.items()}
    ((name, content),) = part.items()
    arguments = read_written(content, where, names)
    in_order, named = arguments if isinstance(arguments, list) else [arguments], {}
    if isinstance(arguments, dict):
        in_order, named = [], {"if_" if k == "if" else k: v for k, v in arguments.items()}
    try:
        if name == "JointCost" and in_order:
            in_order = [*in_order[:-1], _costs(in_order[-1])]
        return names[name](*in_order, **named)
    except TypeError as error:
        why = _misfit(names[name], in_order, named) or error
        raise InputError(f"{where}: {json.dumps(part)}: {why}.") from error


def _misfit(kind: Callable[..., Any], in_order: list[Any], named: dict[str, Any]) -> str:
    """Return which argument is missing or unexpected, without the function name; "" if none is."""
    try:
        inspect.signature(kind).bind(*in_order, **named)
    except TypeError as error:
        return str(error)
    return ""


def read_constraints(content: Any, where: str) -> list[Any]:
    """Return the constraints of a JSON list."""
    if not isinstance(content, list):
        kind = type(content).__name__
        raise InputError(f'{where}: expected a list such as [{{"Fixed": "age"}}], got {kind}.')
    try:
        read: list[Any] = read_written(content, where, CONSTRAINTS)
    except RecursionError as error:
        raise InputError(
            f"{where}: lists are nested too deep. Write a flat list of constraints."
        ) from error
    for part, constraint in zip(content, read, strict=True):
        if not isinstance(constraint, constraints.Constraint):
            raise InputError(f"{where}: {json.dumps(part)} is not a constraint.{_hint(part)}")
    return read


def _hint(part: Any) -> str:
    """Return the closest name of a constraint, or all names."""
    name = next(iter(part)) if isinstance(part, dict) and len(part) == 1 else part
    kinds = [
        name
        for name, kind in CONSTRAINTS.items()
        if isinstance(kind, type) and issubclass(kind, constraints.Constraint)
    ]
    return close_names(name, kinds) or f" Use one of {', '.join(kinds)}."


def written(value: Any) -> Any:
    """Return a constraint, goal or condition as JSON values; others are returned unchanged."""
    if isinstance(value, list | tuple):
        return [written(each) for each in value]
    if isinstance(value, Mapping):
        return {key: written(each) for key, each in value.items()}
    name = type(value).__name__
    if name in IN_ORDER:
        return {name: written(IN_ORDER[name](value))}
    if name not in CONSTRAINTS and name not in GOALS and name != "Retraining":
        return value
    arguments = {field: getattr(value, field.name) for field in fields(value)}
    return {
        name: {
            field.name.rstrip("_"): written(argument)
            for field, argument in arguments.items()
            if field.default is MISSING or argument != field.default
        }
    }


def _costs(pairs: Any) -> Any:
    """Return costs by pair of values from lists such as [["north", "A"], 0.3]."""
    if not isinstance(pairs, list):
        return pairs
    fits = all(isinstance(p, list) and len(p) == 2 and isinstance(p[0], list) for p in pairs)
    return {tuple(pair): cost for pair, cost in pairs} if fits else pairs
