"""Constraints of a JSON file: ``[{"Linear": [{"debts": 1, "income": -0.5}, "<=", 0]}, ...]``.

Each is an object of one key, the name as in Python, whose value holds the arguments: a list in
their order, a mapping by name, or the only one. Conditions within are written likewise.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from encoders.errors import InputError
from encoders.query import conditions, constraints, relations

NAMES: dict[str, Callable[..., Any]] = {
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


def read_constraints(path: Path) -> list[Any]:
    """The constraints of a file.

    Parameters
    ----------
    path : of a JSON file that holds a list

    Raises
    ------
    InputError
        It can't be read, or holds something else.
    """
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"--constraints {path}: {error}.") from error
    if not isinstance(given, list):
        raise InputError(f'--constraints {path}: expected a list such as [{{"Fixed": "age"}}].')
    found = [_made(part, path) for part in given]
    for part, constraint in zip(given, found, strict=True):
        if not isinstance(constraint, constraints.Constraint):
            raise InputError(f"--constraints {path}: {json.dumps(part)} is no constraint.")
    return found


def _made(part: Any, path: Path) -> Any:
    """What a part of the file stands for: a constraint, a condition, or itself."""
    if isinstance(part, list):
        return [_made(each, path) for each in part]
    if not isinstance(part, dict):
        return part
    if len(part) != 1 or next(iter(part)) not in NAMES:
        return {key: _made(value, path) for key, value in part.items()}
    ((name, arguments),) = part.items()
    arguments = _made(arguments, path)
    if name == "JointCost" and isinstance(arguments, list) and isinstance(arguments[-1], list):
        arguments = [*arguments[:-1], _costs(arguments[-1])]
    try:
        if isinstance(arguments, dict):
            return NAMES[name](**{"if_" if k == "if" else k: v for k, v in arguments.items()})
        return NAMES[name](*arguments) if isinstance(arguments, list) else NAMES[name](arguments)
    except TypeError as error:
        raise InputError(f"--constraints {path}: {json.dumps(part)}: {error}.") from error


def _costs(pairs: list[Any]) -> Any:
    """JSON has no pairs for keys: [["north", "A"], 0.3] instead."""
    fits = all(isinstance(p, list) and len(p) == 2 and isinstance(p[0], list) for p in pairs)
    return {tuple(pair): cost for pair, cost in pairs} if fits else pairs
