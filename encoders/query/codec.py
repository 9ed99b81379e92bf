"""Constraints, conditions, goals and other arguments of questions in JSON.

An example is ``{"Linear": [{"debts": 1, "income": -0.5}, "<=", 0]}``: an object with one key, the
name of the class. The value holds the arguments: a list in their order, a mapping by name, or the
only argument. Nested conditions have the same form. Everything derives from the signatures of the
classes and from unions of them.
"""

import inspect
import json
from collections.abc import Mapping
from dataclasses import is_dataclass
from functools import cache
from typing import Any, get_args, get_origin

from encoders.core.close_names import close_names
from encoders.core.errors import InputError
from encoders.query.conditions import Condition
from encoders.query.constraints import Constraint
from encoders.query.goal import Wanted


def by_name(*unions: Any) -> dict[str, type]:
    """Return the classes of unions by name."""
    return {kind.__name__: kind for union in unions for kind in get_args(union)}


CONSTRAINTS = by_name(Constraint, Condition)
GOALS = by_name(Wanted)


@cache
def signature(kind: type) -> inspect.Signature:
    """Return the signature of a class, with the types of its parameters."""
    return inspect.signature(kind, eval_str=True)


def _keys(parameter: inspect.Parameter) -> Any:
    """Return the type of the keys of a mapping; None if the argument has another type."""
    hints = (parameter.annotation, *get_args(parameter.annotation))
    mapping = next((hint for hint in hints if get_origin(hint) is Mapping), None)
    return None if mapping is None else get_args(mapping)[0]


def encode(value: Any) -> Any:
    """Return records such as constraints as JSON values; other values are returned unchanged."""
    if isinstance(value, list | tuple):
        return [encode(each) for each in value]
    if isinstance(value, Mapping):
        return {key: encode(each) for key, each in value.items()}
    if not is_dataclass(value) or isinstance(value, type):
        return value
    arguments: dict[str, Any] = {}
    in_order, rest = False, []
    for name, parameter in signature(type(value)).parameters.items():
        argument = getattr(value, name)
        if parameter.kind is parameter.VAR_POSITIONAL:
            in_order, rest = True, encode(argument)
        elif keys := _keys(parameter):  # the class stores pairs
            in_order = True
            pairs = all(isinstance(each, tuple) for each in argument)
            arguments[name] = dict(argument) if keys is str and pairs else encode(argument)
        elif parameter.default is parameter.empty or argument != parameter.default:
            arguments[name.rstrip("_")] = encode(argument)
    return {type(value).__name__: [*arguments.values(), *rest] if in_order else arguments}


def decode(part: Any, where: str, kinds: Mapping[str, type]) -> Any:
    """Return the record that a JSON value describes; other values are returned unchanged."""
    if isinstance(part, list):
        return [decode(each, where, kinds) for each in part]
    if not isinstance(part, dict):
        return part
    if len(part) != 1 or next(iter(part)) not in kinds:
        return {key: decode(value, where, kinds) for key, value in part.items()}
    ((name, content),) = part.items()
    content = _decoded(content, kinds[name], where, kinds)
    try:
        arguments = _bound(kinds[name], content)
        return kinds[name](*arguments.args, **arguments.kwargs)
    except TypeError as error:
        raise InputError(f"{where}: {json.dumps(part)}: {error}.") from error


def _decoded(content: Any, kind: type, where: str, kinds: Mapping[str, type]) -> Any:
    """Return the arguments of a record, decoded; a feature may be named like a record."""
    parameters = [*signature(kind).parameters.values()]

    def argument(value: Any, parameter: inspect.Parameter) -> Any:
        if isinstance(value, dict) and _keys(parameter) is str:
            return {key: decode(each, where, kinds) for key, each in value.items()}
        return decode(value, where, kinds)

    if isinstance(content, list):
        last = len(parameters) - 1
        return [argument(each, parameters[min(at, last)]) for at, each in enumerate(content)]
    named = {parameter.name.rstrip("_"): parameter for parameter in parameters}
    if isinstance(content, dict) and content.keys() <= named.keys():
        return {name: argument(each, named[name]) for name, each in content.items()}
    return (
        argument(content, parameters[0]) if len(parameters) == 1 else decode(content, where, kinds)
    )


def _bound(kind: type, content: Any) -> inspect.BoundArguments:
    """Return the arguments in a JSON value: in order, by name, or the only one."""
    bind, parameters = signature(kind).bind, signature(kind).parameters
    first, *more = parameters.values()
    if isinstance(content, dict):
        if (
            not more
            and _keys(first) is str
            and not isinstance(content.get(first.name), dict | list)
        ):
            return bind(content)  # its keys are not names of arguments
        bound = bind(**{"if_" if name == "if" else name: each for name, each in content.items()})
    else:
        bound = bind(*(content if isinstance(content, list) else [content]))
    for name, value in bound.arguments.items():
        if _keys(parameters[name]) not in (None, str):
            bound.arguments[name] = _mapping(value)
    return bound


def _mapping(pairs: Any) -> Any:
    """Return a mapping from lists such as [["north", "A"], 0.3]; other values unchanged."""
    fits = isinstance(pairs, list) and all(
        isinstance(each, list) and len(each) == 2 and isinstance(each[0], list) for each in pairs
    )
    return {tuple(pair): cost for pair, cost in pairs} if fits else pairs


def decode_constraints(content: Any, where: str) -> list[Any]:
    """Return the constraints of a JSON list."""
    if not isinstance(content, list):
        kind = type(content).__name__
        raise InputError(f'{where}: expected a list such as [{{"Fixed": "age"}}], got {kind}.')
    try:
        constraints: list[Any] = decode(content, where, CONSTRAINTS)
    except RecursionError as error:
        raise InputError(
            f"{where}: lists are nested too deep. Write a flat list of constraints."
        ) from error
    for part, constraint in zip(content, constraints, strict=True):
        if not isinstance(constraint, Constraint):
            name = next(iter(part)) if isinstance(part, dict) and len(part) == 1 else part
            names = by_name(Constraint)
            hint = close_names(name, names) or f" Use one of {', '.join(names)}."
            raise InputError(f"{where}: {json.dumps(part)} is not a constraint.{hint}")
    return constraints
