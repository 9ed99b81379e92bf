"""Arguments of questions in JSON.

Rows are mappings by column name, or lists in the model's order. Costs by feature and value are
lists of pairs, as keys of JSON objects are text. Constraints, goals and variations have the form of
:mod:`encoders.query.codec`.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np

from encoders.core.errors import InputError
from encoders.query import codec as terms
from encoders.query.codec import GOALS, decode, decode_constraints
from encoders.query.goal import Probability
from portfolio.results.codec import by_name, encode

FINITE = ("x", "y", "margin", "weights", "time_limit_s", "radius", "budget")


def encode_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a question as JSON values."""
    rows = {name: by_name(settings[name]) for name in ("x", "y") if name in settings}
    plain = {**settings, **rows}
    for name in FINITE:
        _check_finite(plain.get(name), name)
    if "norm" in plain:
        plain["norm"] = _pairs(plain["norm"])
    return dict(encode(terms.encode(plain)))


def decode_settings(plain: Mapping[str, Any], classes: Sequence[Any] = ()) -> dict[str, Any]:
    """Return the arguments of a question in JSON values, for a model with these classes."""
    settings = dict(plain)
    if "target" in settings:
        settings["target"] = _target(settings["target"], classes)
    if "constraints" in settings:
        settings["constraints"] = decode_constraints(settings["constraints"], "constraints")
    if "against" in settings:
        settings["against"] = _against(settings["against"])
    if isinstance(settings.get("norm"), dict):
        settings["norm"] = {name: _costs(costs) for name, costs in settings["norm"].items()}
    return settings


def _check_finite(value: Any, where: str) -> None:
    """Raise InputError for infinity, which JSON lacks; null would mean a missing value."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            _check_finite(each, f"{where}: {name}")
    elif isinstance(value, list | tuple | np.ndarray):
        for each in value:
            _check_finite(each, where)
    elif isinstance(value, float | np.floating) and abs(value) == math.inf:
        raise InputError(f"{where} is infinite. Give a finite number.")


def _pairs(norm: Any) -> Any:
    """Return a norm for JSON."""
    if callable(norm) or (isinstance(norm, Mapping) and any(map(callable, norm.values()))):
        raise InputError(
            "norm is or contains a function, which cannot be sent. Give costs as a mapping."
        )
    if isinstance(norm, Mapping):
        return {
            name: list(costs.items()) if isinstance(costs, Mapping) else costs
            for name, costs in norm.items()
        }
    return "inf" if norm == math.inf else norm


def _costs(costs: Any) -> Any:
    """Return the costs of one feature from pairs."""
    if not isinstance(costs, list):
        return costs
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in costs):
        raise InputError("norm: costs of a feature must be pairs. Send [[value, cost], ...].")
    try:
        return dict(costs)
    except TypeError as error:
        raise InputError(
            "norm: a value with a cost is neither a number nor text. Send [[value, cost], ...]."
        ) from error


def _target(value: Any, classes: Sequence[Any]) -> Any:
    if isinstance(value, list):
        return tuple(value)

    def meant(label: Any) -> Any:
        if not isinstance(label, str) or label in classes:
            return label
        # Labels without a JSON type, such as dates, are referred to by their text.
        return next((each for each in classes if label in _texts(each)), label)

    goal = decode(value, "target", GOALS)
    if isinstance(goal, dict):  # targets of several outputs
        return {
            name: tuple(each) if isinstance(each, list) else each for name, each in goal.items()
        }
    if isinstance(goal, Probability):
        return replace(goal, label=meant(goal.label))
    return meant(goal)


def _texts(label: Any) -> set[str]:
    """Return the texts that name a class; dates also in ISO format, without midnight."""
    texts = {str(label)}
    if isinstance(label, date):
        texts |= {label.isoformat(), label.isoformat().removesuffix("T00:00:00")}
    return texts


def variations() -> dict[str, type]:
    """Return the classes of variations by name; clients do not import them."""
    from portfolio.questions.robust.nearby import Around
    from portfolio.questions.robust.retraining import Retraining

    return terms.by_name(Around | Retraining)


def _against(value: Any) -> Any:
    kinds = variations()
    change = decode(value, "against", kinds)
    if isinstance(change, tuple(kinds.values())):
        return change
    names = ", ".join(kinds)
    raise InputError(f"against: {json.dumps(value)} is not supported. Use one of {names}.")
