"""Questions that the service supports: methods of an Explainer about a row, or about many rows.

The members of a JSON body are the parameters of the method, with the types of ``PARAMETERS``.
Parameters that are not named there are not available over HTTP.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    ValidationError,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from encoders.core.close_names import close_names
from encoders.query.constraints import Constraint
from encoders.query.goal import Wanted
from portfolio.api.explainer import Explainer
from portfolio.questions import records
from portfolio.questions.robust.nearby import Around
from portfolio.questions.robust.retraining import Retraining
from portfolio.service.messages import AUDIT, EXPLAIN, GROUP
from portfolio.service.problems import Problem
from portfolio.service.record_schemas import Described

Scalar: TypeAlias = bool | int | FiniteFloat | str | None
Number: TypeAlias = int | FiniteFloat
Written = dict[str, Any]
MOST_CONSTRAINTS = 1000  # in one request; relations between features are encoded pair by pair
MOST_NAMES = 100  # in members that are lists of names


def flat(shape: Any, described: Any, *kinds: type) -> Any:
    """Return the type of a list or an object of plain values.

    Validation stops at the first invalid value. pydantic would report each of them, which takes
    seconds and gigabytes if there are many.
    """
    allowed = frozenset(kinds)

    def check(container: Any) -> Any:
        values = container.values() if isinstance(container, dict) else container
        if any(type(value) not in allowed for value in values):
            raise ValueError("it contains a value that is neither a number nor text")
        return container

    return Annotated[shape, AfterValidator(check), Described(described)]


PLAIN = (bool, int, float, str, NoneType)
RowByName = flat(dict[str, Any], dict[str, Scalar], *PLAIN)
RowValues = RowByName | flat(list[Any], list[Scalar], *PLAIN)
Numbers = flat(list[Any], list[Number], int, float)
NumberByName = flat(dict[str, Any], dict[str, Number], int, float)
Names = Annotated[list[str], Field(fail_fast=True, max_length=MOST_NAMES)]
Rows = Annotated[
    list[RowByName],  # type: ignore[valid-type]  # a type that is made at run time
    Field(fail_fast=True, min_length=1),
]
Seconds = Annotated[Number, Field(gt=0)]

# Type and OpenAPI description of each parameter.
PARAMETERS: dict[str, tuple[Any, str]] = {
    "x": (RowValues, "The row: values by column name, or in the model's order."),
    "y": (RowValues, "A second row, to compare with the first."),
    "target": (
        Annotated[
            Scalar | Written | Annotated[list[Number | None], Field(fail_fast=True, max_length=2)],
            Described(Scalar | Wanted | tuple[Number | None, Number | None]),
        ],
        "Class to reach, null for any other class; or a goal such as "
        '{"Probability": ["granted", 0.8]}; for regressors [low, high].',
    ),
    "norm": (
        Annotated[
            Number | str | dict[str, Any],
            Described(Number | str | dict[str, list[tuple[Scalar, Number]] | dict[str, Number]]),
        ],
        'Norm of the distance: p from 0 to 100, "inf", or costs {feature: [[value, cost], ...]}.',
    ),
    "scale": (Literal["range", "std", "mad", "none"], "Unit of a change in a numeric feature."),
    "weights": (
        NumberByName | Numbers | None,
        "Weights of the features in the distance, by name or in order.",
    ),
    "constraints": (
        Annotated[
            list[Written],
            Field(fail_fast=True, max_length=MOST_CONSTRAINTS),
            Described(Annotated[list[Constraint], Field(max_length=MOST_CONSTRAINTS)]),
        ],
        f'At most {MOST_CONSTRAINTS} constraints, as in [{{"Fixed": "age"}}, {{"MaxChanges": 2}}].',
    ),
    "margin": (Number | None, "Minimum lead of the target class over every other class."),
    "strategy": (
        str | Names | None,
        'Backend name, "auto", "race", or a list of backends to race.',
    ),
    "portfolio": (
        str | Names | None,
        'Backends for "auto" and "race": "paper", "no-licence" or a list; null for all.',
    ),
    "metric": (Literal["total", "solver"], 'Time by which "auto" selects a backend.'),
    "tie_break": (bool, "Break ties deterministically."),
    "second": (str | None, "Backend that proves the answer a second time."),
    "time_limit_s": (
        Annotated[Number, Field(gt=0)],
        "Time limit in seconds, reduced to the server's limit if higher.",
    ),
    "threads": (
        Annotated[int, Field(ge=1)] | None,
        "Solver threads, reduced to the server's limit if higher.",
    ),
    "seed": (Annotated[int, Field(ge=0)], "Random seed of the solvers."),
    "levels": (Numbers | None, "Levels of the property that is traded for cost."),
    "order": (
        Annotated[list[str], Field(fail_fast=True)] | None,
        "Features to drop from the reason first, if possible.",
    ),
    "radius": (Annotated[Number, Field(gt=0)], "Maximum distance, inclusive."),
    "against": (
        Annotated[Written, Described(Retraining | Around)],
        'Changes to withstand: {"Retraining": {"confidence": 0.9}} or {"Around": {"income": 50}}.',
    ),
}
# Parameters of questions about many rows: further ones, or with another meaning.
ROWS_PARAMETERS: dict[str, tuple[Any, str]] = {
    "actions": (Annotated[int, Field(ge=1, le=20)], "Maximum number of actions."),
    "budget": (
        Annotated[Number, Field(ge=0)] | None,
        "Maximum cost of an action for each row; null for no limit.",
    ),
    "by": (
        str | flat(list[Any], list[Scalar], *PLAIN),
        "Feature or column that defines the groups, or a group for each row.",
    ),
    "bands": (
        Annotated[int, Field(ge=2, le=20)] | None,
        "Number of bands into which an attribute with more numbers is divided; null for none.",
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
# Optional parts of the answer to explain: default and description of each.
EXTRAS = {
    "record": (False, "Include the record of the answer, with a proof."),
    "rounded": (True, "Include the answer with rounded values; takes additional time."),
    "text": (
        False,
        "Include sentences with rounded numbers; takes additional time.",
    ),
}
EXAMPLES = {"radius": 1.0, "against": {"Retraining": {"confidence": 0.9}}}
RENAMED = {"explain_robust": "robust"}
UNKNOWN = "unknown_member"  # type of a validation error


class Body(BaseModel):
    """The JSON body of a question."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _check_names(cls, members: Any) -> Any:
        """Raise an error for the first unknown member: pydantic would report each of them."""
        if isinstance(members, dict) and (strange := members.keys() - cls.model_fields.keys()):
            name = min(strange)
            close = close_names(name[:80], cls.model_fields)
            words = f"unknown member {name!r}.{close} See GET /openapi.json for all members."
            raise PydanticCustomError(UNKNOWN, "{words}", {"words": words})
        return members

    def arguments(self) -> dict[str, Any]:
        """Return the members that the body sets."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class PredictBody(Body):
    """The JSON body of a request for a prediction."""

    x: RowValues = Field(description=PARAMETERS["x"][1])  # type: ignore[valid-type]


class BatchBody(Body):
    """The JSON body of a batch."""

    question: str = EXPLAIN
    settings: dict[str, Any] = Field(default_factory=dict)
    rows: Rows


class RowsBody(BaseModel):
    """The JSON body of a request about many rows; other members are allowed.

    Attributes
    ----------
    rows : list of dict, rows by column name, each with all columns of the model
    """

    model_config = ConfigDict(extra="allow", strict=True)
    rows: Rows


@dataclass(frozen=True)
class ServedQuestion:
    """A question that the service supports."""

    name: str  # last part of the path
    method: str  # method name of :class:`portfolio.api.explainer.Explainer`
    body: type[Body]  # pydantic model of the request body
    summary: str  # first line of the method's docstring
    progresses: bool  # True if the method reports bounds while it runs
    example: dict[str, Any]  # example values of the required members other than the row


def validated(body: type[Body], members: Any) -> dict[str, Any]:
    """Return the members that a body sets; raise Problem if it is invalid."""
    try:
        return body.model_validate(members).arguments()
    except ValidationError as error:
        raise Problem(422, sentence_of(error.errors())) from error


def sentence_of(errors: Sequence[Mapping[str, Any]]) -> str:
    """Return the first validation error, of pydantic or FastAPI, as one sentence."""
    first = errors[0]
    place = [str(part) for part in first["loc"]]
    if place and place[0] in ("body", "path", "query"):
        del place[0]
    name = place[0] if place else "the body"
    if first["type"] == UNKNOWN:
        return str(first["msg"])
    if first["type"] == "missing":
        return f"the member {name!r} is missing. Add it to the body."
    if first["type"] in ("model_type", "model_attributes_type"):
        return f"{name} must be an object. Send one."
    if name == "rows" and len(place) > 1:
        return f"row {place[1]} is invalid. Send an object of numbers and texts by column name."
    if len(place) > 1 and name in PARAMETERS:
        return f"{name} has an invalid value. Expected: {PARAMETERS[name][1]}"
    # Members of a union have names of types in addition.
    where = " ".join(part for part in place if part.isidentifier() or part.isdigit()) or name
    return f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}."


def plain_parameters(name: str) -> dict[str, tuple[Any, str]]:
    """Return type and description of further fields of a question that JSON writes as they are."""
    if name not in records.QUESTIONS:
        return {}
    record = records.QUESTIONS[name]
    types, texts = get_type_hints(record), records.texts_of(record)
    return {
        key: (types[key], text.words)
        for key, text in texts.items()
        if key not in PARAMETERS and _is_plain(types[key])
    }


def _is_plain(kind: Any) -> bool:
    """Return whether JSON writes values of a type as they are."""
    if get_origin(kind) in (Union, UnionType):
        return all(map(_is_plain, get_args(kind)))
    return kind in PLAIN or get_origin(kind) is Literal


def served_question(
    name: str, method: Callable[..., Any], parameters: Mapping[str, tuple[Any, str]]
) -> ServedQuestion:
    """Return a question whose body has those parameters of a method that HTTP supports."""
    signature = inspect.signature(method).parameters
    members: dict[str, Any] = {}
    for parameter in signature.keys() & parameters.keys():
        kind, words = parameters[parameter]
        default = signature[parameter].default
        needed = default is inspect.Parameter.empty
        if parameter == "constraints":
            default = []
        members[parameter] = (kind, Field(... if needed else default, description=words))
    if name == EXPLAIN:
        members |= {
            key: (bool, Field(default, description=words))
            for key, (default, words) in EXTRAS.items()
        }
    ordered = {key: members[key] for key in (*parameters, *EXTRAS) if key in members}
    words = "".join(part.title() for part in name.split("_"))
    body = create_model(f"{words}Question", __base__=Body, **ordered)
    summary = (inspect.getdoc(method) or name).partition("\n")[0]
    path = RENAMED.get(name, name).replace("_", "-")
    example = {key: EXAMPLES[key] for key in ordered if key in EXAMPLES}
    return ServedQuestion(path, name, body, summary, "on_progress" in signature, example)


def _is_about_a_row(method: Callable[..., Any]) -> bool:
    return {"x", "time_limit_s"} <= inspect.signature(method).parameters.keys()


QUESTIONS: dict[str, ServedQuestion] = {
    served.name: served
    for name, method in inspect.getmembers(Explainer, inspect.isfunction)
    if not name.startswith("_") and _is_about_a_row(method)
    for served in [served_question(name, method, PARAMETERS | plain_parameters(name))]
}
# Questions about many rows, which run as jobs.
GROUP_QUESTIONS: dict[str, ServedQuestion] = {
    name: served_question(
        name,
        getattr(Explainer, name),
        {key: value for key, value in PARAMETERS.items() if key != "x"} | ROWS_PARAMETERS,
    )
    for name in (GROUP, AUDIT)
}
# Models of bodies by name, as they are sent to the process that checks large ones.
BODIES: dict[str, type[Body]] = {
    PredictBody.__name__: PredictBody,
    **{question.body.__name__: question.body for question in QUESTIONS.values()},
}
