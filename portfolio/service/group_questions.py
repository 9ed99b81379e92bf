"""The questions about many rows together, which are asked as jobs: groups and audits."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from portfolio.explainer import Explainer
from portfolio.service.messages import AUDIT, GROUP
from portfolio.service.questions import (
    PARAMETERS,
    PLAIN,
    Number,
    RowByName,
    Scalar,
    ServedQuestion,
    flat,
    served_question,
)

Rows = Annotated[list[RowByName], Field(fail_fast=True, min_length=1)]
Seconds = Annotated[Number, Field(gt=0)]

# What there is besides the parameters of questions about one row, or means something else.
MORE: dict[str, tuple[Any, str]] = {
    "actions": (Annotated[int, Field(ge=1, le=20)], "How many actions at most."),
    "budget": (
        Annotated[Number, Field(ge=0)] | None,
        "What an action may cost each row; null for no limit.",
    ),
    "by": (
        str | flat(list[Any], list[Scalar], *PLAIN),
        "A feature, a column of the rows, or a value for each row.",
    ),
    "reference": (Scalar, "The group that others are compared with; null for the largest."),
    "time_limit_s": (
        Seconds,
        "Seconds for each row of an audit, or for a whole group; clipped to the server's limit.",
    ),
    "deadline_s": (Seconds | None, "Seconds for all rows."),
    "confidence": (Annotated[float, Field(gt=0, lt=1)], "Of all intervals."),
    "resamples": (Annotated[int, Field(ge=100, le=100_000)], "Of the bootstrap."),
}
GROUP_QUESTIONS: dict[str, ServedQuestion] = {
    name: served_question(
        name, getattr(Explainer, name), {k: v for k, v in PARAMETERS.items() if k != "x"} | MORE
    )
    for name in (GROUP, AUDIT)
}


class RowsBody(BaseModel):
    """The rows of a question in JSON, and whatever else it has.

    Attributes
    ----------
    rows : each with all of the model's columns
    """

    model_config = ConfigDict(extra="allow", strict=True)
    rows: Rows


def limit(
    arguments: dict[str, Any], threads: int, usual_s: float, longest_s: float, longest_job_s: float
) -> None:
    """Put the server's limits into the arguments of a question."""
    arguments["threads"] = min(arguments.get("threads") or threads, threads)
    if "by" in arguments:
        own = arguments.get("time_limit_s", usual_s)
        arguments["time_limit_s"] = min(own, longest_s)
        arguments["deadline_s"] = min(arguments.get("deadline_s") or longest_job_s, longest_job_s)
    else:
        arguments["time_limit_s"] = min(arguments.get("time_limit_s", usual_s), longest_job_s)
