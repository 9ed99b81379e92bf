"""Refusal of several outputs or models, by questions about one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from encoders.core.errors import InputError

if TYPE_CHECKING:
    from portfolio.model.explained_model import ExplainedModel


def alone_only(model: ExplainedModel, subject: str, remedy: str = "Use") -> InputError:
    """Return the error for a question about several outputs, or several models (``also``).

    ``subject`` ends with a verb, ``remedy`` begins the last sentence about several models.
    """
    if model.aim is not None:
        return InputError(
            f"{subject} a target of one output only, got {dict(model.aim)!r}. Name one output."
        )
    return InputError(
        f"{subject} one model only. {remedy} an Explainer without further models (also=)."
    )
