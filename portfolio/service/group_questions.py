"""Questions about many rows that run as jobs: groups and audits."""

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

# Parameters in addition to those of questions about one row, or with another meaning.
MORE: dict[str, tuple[Any, str]] = {
    "actions": (Annotated[int, Field(ge=1, le=20)], "Maximum number of actions."),
    "budget": (
        Annotated[Number, Field(ge=0)] | None,
        "Maximum cost of an action for each row; null for no limit.",
    ),
    "by": (
        str | flat(list[Any], list[Scalar], *PLAIN),
        "Feature or column that defines the groups, or a group for each row.",
    ),
    "reference": (Scalar, "Group to compare the others with; null for the largest."),
    "time_limit_s": (
        Seconds,
        "Time limit in seconds, for each row of an audit or for a whole group; reduced to the "
        "server's limit if higher.",
    ),
    "deadline_s": (Seconds | None, "Time limit in seconds for all rows together."),
    "confidence": (Annotated[float, Field(gt=0, lt=1)], "Confidence level of all intervals."),
    "resamples": (Annotated[int, Field(ge=100, le=100_000)], "Number of bootstrap resamples."),
}
GROUP_QUESTIONS: dict[str, ServedQuestion] = {
    name: served_question(
        name, getattr(Explainer, name), {k: v for k, v in PARAMETERS.items() if k != "x"} | MORE
    )
    for name in (GROUP, AUDIT)
}


class RowsBody(BaseModel):
    """The JSON body of a request about many rows; other members are allowed.

    Attributes
    ----------
    rows : list of dict, rows by column name, each with all columns of the model
    """

    model_config = ConfigDict(extra="allow", strict=True)
    rows: Rows


def limit(
    arguments: dict[str, Any], threads: int, usual_s: float, longest_s: float, longest_job_s: float
) -> None:
    """Apply the limits of the server to the arguments of a request."""
    arguments["threads"] = min(arguments.get("threads") or threads, threads)
    if "by" in arguments:
        limit_s = arguments.get("time_limit_s", usual_s)
        arguments["time_limit_s"] = min(limit_s, longest_s)
        arguments["deadline_s"] = min(arguments.get("deadline_s") or longest_job_s, longest_job_s)
    else:
        arguments["time_limit_s"] = min(arguments.get("time_limit_s", usual_s), longest_job_s)
