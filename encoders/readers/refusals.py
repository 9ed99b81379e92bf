"""Errors that several readers raise."""

import re
from typing import Any

from encoders.core.errors import UnsupportedModelError


def several_outputs(kind: str) -> UnsupportedModelError:
    """Return the error for a model that predicts several numbers or labels per row."""
    outputs = "outputs, such as targets or quantiles" if kind == "regressor" else "outputs"
    return UnsupportedModelError(
        f"the model has several {outputs}, which is supported for forests, trees and MultiOutput "
        "models of scikit-learn, estimators of XGBoost and CatBoost, and quantile forests that are "
        f"explained themselves. Fit one {kind} per output."
    )


def not_fitted(model: Any) -> UnsupportedModelError:
    """Return the error for a model that is not fitted."""
    return UnsupportedModelError(
        f"this {type(model).__name__} is not fitted. Call fit(X, y) before explaining it."
    )


def require_fitted(model: Any, attribute: str) -> None:
    """Raise UnsupportedModelError if the model lacks an attribute that fitting sets."""
    if not hasattr(model, attribute):
        raise not_fitted(model)


def no_leaf_sum(owner: Any, member: Any, kind: str | None = None) -> UnsupportedModelError:
    """Return the error for an average of probabilities that are not a known function of leaves.

    ``kind`` is the function of other numbers that the probabilities are, None if they are none.
    """
    name = type(member).__name__
    reason = "are not a supported function of its leaves"
    remedy = "Use trees, forests or boosting of trees as members"
    if kind in ("sigmoid", "softmax"):
        reason = "are nested too deeply"
        remedy = f"Leave out members of the {name} that are stacked themselves"
        if kind == "softmax":
            remedy = f"Use trees or forests as members of the {name}, or two classes"
    elif kind == "ratio":
        reason = "are divided by their sum over all classes, which is not supported for members"
        remedy = "Use models such as LogisticRegression instead, whose probabilities are a softmax"
    return UnsupportedModelError(
        f"a {type(owner).__name__} averages probabilities, but those of this {name} {reason}. "
        f"{remedy}."
    )


def unreadable(what: str, error: BaseException, remedy: str = "") -> UnsupportedModelError:
    """Return the error for a model that another library's reader rejects, with its reason."""
    return UnsupportedModelError(
        f"this {what} cannot be read exactly ({first_line(error)}){remedy}"
    )


def first_line(error: BaseException) -> str:
    """Return the first line of a library's message, without source positions."""
    lines = str(error).strip().splitlines() or ["no reason given"]
    return re.sub(r"^\[[\d:]+\] \S+:\d+: ", "", lines[0])[:200]
