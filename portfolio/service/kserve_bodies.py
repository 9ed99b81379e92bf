"""Request bodies of KServe's V1 protocol and of the Open Inference Protocol V2."""

from collections.abc import Iterator, Sequence
from math import prod
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from portfolio.service.messages import EXPLAIN
from portfolio.service.problems import Problem
from portfolio.service.questions import QUESTIONS, Body, RowValues, ServedQuestion, validated

Datatype = Literal[
    "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64",
    "FP16", "FP32", "FP64", "BYTES",
]  # fmt: skip
Parameters = Annotated[
    dict[str, Any],
    Field(description='Question and its members, as in {"question": "explain", "norm": 1}.'),
]
INFER = "infer"  # last part of the path in V2
MOST_ROWS = 1000  # of one request; each is queued as a question of its own
Cells = dict[str, Any] | list[Any]


class InstancesBody(Body):
    """The body of ``:explain`` in the V1 protocol."""

    instances: Annotated[
        list[RowValues],
        Field(fail_fast=True, min_length=1, description="Rows: by column name or in order."),
    ]
    parameters: Parameters = Field(default_factory=dict)


class Tensor(BaseModel):
    """An input tensor: a column, or several rows in the order of the columns."""

    model_config = ConfigDict(extra="forbid")

    name: str
    shape: Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1, max_length=2)]
    datatype: Datatype
    data: list[Any]
    parameters: dict[str, Any] = Field(default_factory=dict)

    def values(self) -> list[Any]:
        """Return the values in row-major order; raise Problem if their number is wrong."""
        flat = list(_flat(self.data))
        if len(flat) != prod(self.shape):
            raise Problem(
                400,
                f"input {self.name[:80]!r} has shape {self.shape} but {len(flat)} values. Send "
                f"{prod(self.shape)}.",
            )
        return flat


class RequestedOutput(BaseModel):
    """A requested output tensor; there is one."""

    name: Literal["explanations"]
    parameters: dict[str, Any] = Field(default_factory=dict)


class InferBody(Body):
    """The body of ``infer`` in the Open Inference Protocol V2."""

    id: str | None = None
    model_name: str | None = None  # clients repeat the name in the path
    model_version: str | None = None
    parameters: Parameters = Field(default_factory=dict)
    inputs: Annotated[list[Tensor], Field(fail_fast=True, min_length=1)]
    outputs: list[RequestedOutput] | None = None

    def rows(self) -> list[Cells]:
        """Return the rows: those of one tensor of two dimensions, or one column of each tensor."""
        first = self.inputs[0]
        if len(self.inputs) == 1 and len(first.shape) == 2:
            values, width = first.values(), first.shape[1]
            return [values[at * width : (at + 1) * width] for at in range(first.shape[0])]
        for each in self.inputs:
            if each.shape[0] != first.shape[0] or each.shape[1:] not in ([], [1]):
                raise Problem(
                    400,
                    f"input {each.name[:80]!r} has shape {each.shape}. Send one tensor of shape "
                    "[rows, columns], or one of shape [rows] or [rows, 1] for each column.",
                )
        columns = {each.name: each.values() for each in self.inputs}
        if len(columns) < len(self.inputs):
            raise Problem(400, "two inputs have the same name. Send one tensor for each column.")
        return [
            {name: column[at] for name, column in columns.items()} for at in range(first.shape[0])
        ]


def question_of(
    parameters: dict[str, Any], rows: Sequence[Any]
) -> tuple[ServedQuestion, list[dict[str, Any]]]:
    """Return the question that the parameters name, and its arguments for each row."""
    if len(rows) > MOST_ROWS:
        words = f"the body has {len(rows)} rows. Send at most {MOST_ROWS}, or use a job for more."
        raise Problem(400, words)
    settings = dict(parameters)
    name = settings.pop("question", EXPLAIN)
    if "x" in settings:
        raise Problem(400, "parameters contain the row 'x'. Send rows as instances or inputs.")
    by_path = {question.name: question for question in QUESTIONS.values()}
    if not isinstance(name, str) or name not in by_path:
        raise Problem(
            400, f"unknown question {str(name)[:80]!r}. Use one of {', '.join(sorted(by_path))}."
        )
    question = by_path[name]
    return question, [validated(question.body, settings | {"x": row}) for row in rows]


def is_of_kserve(name: str) -> bool:
    """Return whether the last part of a path is one of KServe's protocols."""
    return name == INFER or name.endswith(f":{EXPLAIN}")


def body_of_kserve(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a question about a row in one of KServe's protocols."""
    parameters = {key: value for key, value in body.items() if key != "x"}
    if name != INFER:
        return {"instances": [body["x"]], "parameters": parameters}
    inputs = [
        {"name": column, "shape": [1], "datatype": datatype_of(value), "data": [value]}
        for column, value in body["x"].items()
    ]
    return {"inputs": inputs, "parameters": parameters}


def datatype_of(value: Any) -> str:
    """Return the type of the tensor of a column with such a value."""
    if isinstance(value, bool):
        return "BOOL"
    return "BYTES" if isinstance(value, str) else "FP64"


def _flat(values: list[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list):
            yield from value
        else:
            yield value
