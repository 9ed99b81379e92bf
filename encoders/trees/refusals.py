"""Sentences that several readers refuse models with."""

import re
from typing import Any

from encoders.errors import UnsupportedModelError


def several_outputs(kind: str) -> UnsupportedModelError:
    """Return what to raise for a model that predicts several numbers or labels for a row."""
    outputs = "outputs, such as targets or quantiles" if kind == "regressor" else "outputs"
    return UnsupportedModelError(
        f"the model has several {outputs}; fit one {kind} per output and explain each."
    )


def not_fitted(model: Any) -> UnsupportedModelError:
    """What to raise for a model without trees."""
    return UnsupportedModelError(
        f"this {type(model).__name__} is not fitted: call fit(X, y) before explaining it."
    )


def require_fitted(model: Any, attribute: str) -> None:
    """Raise unless fitting has left its trace."""
    if not hasattr(model, attribute):
        raise not_fitted(model)


def no_leaf_sum(owner: Any, member: Any) -> UnsupportedModelError:
    """What to raise for an average of probabilities that are not known to follow from leaves."""
    name = type(member).__name__
    return UnsupportedModelError(
        f"a {type(owner).__name__} averages probabilities, and those of a {name} do not follow "
        "from its leaves in a way that is known here; use trees, forests or boosting of trees as "
        "members."
    )


def unreadable(what: str, error: BaseException, remedy: str = "") -> UnsupportedModelError:
    """One sentence on why a library's own reader gave up."""
    return UnsupportedModelError(f"this {what} can't be read exactly ({first_line(error)}){remedy}")


def first_line(error: BaseException) -> str:
    """What a library says, without its source positions."""
    lines = str(error).strip().splitlines() or ["no reason given"]
    return re.sub(r"^\[[\d:]+\] \S+:\d+: ", "", lines[0])[:200]
