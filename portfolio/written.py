"""Constraints and goals as they are written in JSON, and back.

``{"Linear": [{"debts": 1, "income": -0.5}, "<=", 0]}``: each is an object of one key, the name as
in Python, whose value holds the arguments: a list in their order, a mapping by name, or the only
one. Conditions within are written likewise.
"""

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from encoders.errors import InputError
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
# Those whose arguments are no fields by name.
IN_ORDER: dict[str, Callable[[Any], list[Any]]] = {
    "Together": lambda own: list(own.features),
    "Forbidden": lambda own: list(own.conditions),
    "Becomes": lambda own: [own.feature, *own.values],
    "Linear": lambda own: [dict(own.terms), own.sign, own.bound],
    "JointCost": lambda own: [own.first, own.second, own.costs],
    "Around": lambda own: [dict(own.radius)],
}


def read_written(part: Any, where: str, names: Mapping[str, Callable[..., Any]]) -> Any:
    """What a value of JSON stands for: a record of ours, or itself."""
    if isinstance(part, list):
        return [read_written(each, where, names) for each in part]
    if not isinstance(part, dict):
        return part
    if len(part) != 1 or next(iter(part)) not in names:
        return {key: read_written(value, where, names) for key, value in part.items()}
    ((name, written),) = part.items()
    given = read_written(written, where, names)
    in_order, named = given if isinstance(given, list) else [given], {}
    if isinstance(given, dict):
        in_order, named = [], {"if_" if k == "if" else k: v for k, v in given.items()}
    try:
        if name == "JointCost" and in_order:
            in_order = [*in_order[:-1], _costs(in_order[-1])]
        return names[name](*in_order, **named)
    except TypeError as error:
        why = _misfit(names[name], in_order, named) or error
        raise InputError(f"{where}: {json.dumps(part)}: {why}.") from error


def _misfit(kind: Callable[..., Any], in_order: list[Any], named: dict[str, Any]) -> str:
    """Which argument is missing or too much, without words of Python's own; "" where none is."""
    try:
        inspect.signature(kind).bind(*in_order, **named)
    except TypeError as error:
        return str(error)
    return ""


def read_constraints(given: Any, where: str) -> list[Any]:
    """Constraints of a JSON list."""
    if not isinstance(given, list):
        raise InputError(f'{where}: expected a list such as [{{"Fixed": "age"}}].')
    try:
        found: list[Any] = read_written(given, where, CONSTRAINTS)
    except RecursionError as error:
        raise InputError(f"{where}: lists within lists, too deep to be constraints.") from error
    for part, constraint in zip(given, found, strict=True):
        if not isinstance(constraint, constraints.Constraint):
            raise InputError(f"{where}: {json.dumps(part)} is no constraint.")
    return found


def written(value: Any) -> Any:
    """A constraint, a goal or a condition as JSON; what is none of them stays as it is."""
    if isinstance(value, list | tuple):
        return [written(each) for each in value]
    if isinstance(value, Mapping):
        return {key: written(each) for key, each in value.items()}
    name = type(value).__name__
    if name in IN_ORDER:
        return {name: written(IN_ORDER[name](value))}
    if name not in CONSTRAINTS and name not in GOALS and name != "Retraining":
        return value
    told = {field: getattr(value, field.name) for field in fields(value)}
    return {
        name: {
            field.name.rstrip("_"): written(own)
            for field, own in told.items()
            if field.default is MISSING or own != field.default
        }
    }


def _costs(pairs: Any) -> Any:
    """JSON has no pairs for keys: [["north", "A"], 0.3] instead."""
    if not isinstance(pairs, list):
        return pairs
    fits = all(isinstance(p, list) and len(p) == 2 and isinstance(p[0], list) for p in pairs)
    return {tuple(pair): cost for pair, cost in pairs} if fits else pairs
