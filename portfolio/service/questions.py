"""The questions that the service takes: an Explainer's methods about a row, by name.

Each has a body of JSON whose members are the method's own parameters, with the types of
``PARAMETERS``; what a method takes and is not named there is nobody's business over HTTP.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import NoneType
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    create_model,
)

from portfolio.explainer import Explainer
from portfolio.service.problems import Problem

Scalar = bool | int | FiniteFloat | str | None
Number = int | FiniteFloat
Written = dict[str, Any]
EXPLAIN = "explain"
MOST_CONSTRAINTS = 1000  # of a question; relations between features are encoded pair by pair
MOST_NAMES = 100  # of members that are lists of names


def flat(shape: Any, described: Any, *kinds: type) -> Any:
    """Return the type of a list or an object of plain values.

    Its check ends at the first value that does not fit: pydantic's own reports each of them, which
    takes seconds and gigabytes where there are many.
    """
    allowed = frozenset(kinds)

    def check(given: Any) -> Any:
        values = given.values() if isinstance(given, dict) else given
        if any(type(value) not in allowed for value in values):
            raise ValueError("it has a value that is neither a number nor text")
        return given

    schema = TypeAdapter(described).json_schema()
    return Annotated[shape, AfterValidator(check), WithJsonSchema(schema)]


PLAIN = (bool, int, float, str, NoneType)
RowByName = flat(dict[str, Any], dict[str, Scalar], *PLAIN)
RowValues = RowByName | flat(list[Any], list[Scalar], *PLAIN)
Numbers = flat(list[Any], list[Number], int, float)
NumberByName = flat(dict[str, Any], dict[str, Number], int, float)
Names = Annotated[list[str], Field(fail_fast=True, max_length=MOST_NAMES)]

# Of each parameter its type, and what it means where a caller of HTTP sees it.
PARAMETERS: dict[str, tuple[Any, str]] = {
    "x": (RowValues, "The row: its columns by name, or in the model's order."),
    "y": (RowValues, "Another row, to compare with."),
    "target": (
        Scalar | Written | Annotated[list[Number | None], Field(fail_fast=True, max_length=2)],
        'Class to reach, null for any other; or a goal such as {"Probability": ["granted", 0.8]}, '
        "and for regressors [low, high].",
    ),
    "norm": (
        Number | str | dict[str, Any],
        'Any p from 0 to 100, "inf", or costs: {feature: [[value, cost], ...]}.',
    ),
    "scale": (Literal["range", "std", "mad", "none"], "What a change of 1 is."),
    "weights": (NumberByName | Numbers | None, "Factor per feature."),
    "constraints": (
        Annotated[list[Written], Field(fail_fast=True, max_length=MOST_CONSTRAINTS)],
        f'Such as [{{"Fixed": "age"}}, {{"MaxChanges": 2}}], at most {MOST_CONSTRAINTS}.',
    ),
    "margin": (Number | None, "Lead over every other class."),
    "strategy": (str | Names | None, 'A backend, "auto", "race", or a list that races.'),
    "metric": (Literal["total", "solver"], 'What "auto" goes by.'),
    "tie_break": (bool, "Of answers that cost the same give the first."),
    "second": (str | None, "Backend that proves once more."),
    "time_limit_s": (Annotated[Number, Field(gt=0)], "Seconds; clipped to the server's limit."),
    "threads": (Annotated[int, Field(ge=1)] | None, "Clipped to the server's limit."),
    "seed": (Annotated[int, Field(ge=0)], "Of solvers."),
    "k": (Annotated[int, Field(ge=1, le=1000)], "How many answers."),
    "n": (Annotated[int, Field(ge=1, le=1000)], "How many reasons."),
    "within": (Number, "Share by which answers may cost more than the cheapest."),
    "different": (Literal["features", "region"], "What tells answers apart."),
    "by": (Literal["changes", "probability", "plausibility"], "What is traded for cost."),
    "levels": (Numbers | None, "Of what is traded."),
    "smallest": (bool, "The fewest features that suffice."),
    "order": (Annotated[list[str], Field(fail_fast=True)] | None, "Features that come first."),
    "radius": (Annotated[Number, Field(gt=0)], "Distance, itself included."),
    "bounds": (Literal["features"] | None, "null for any numbers."),
    "against": (Written, '{"Retraining": {"confidence": 0.9}} or {"Around": {"income": 50}}.'),
}
# What explain may bring besides its answer: whether it does where nothing is said, and what.
EXTRAS = {
    "record": (False, "Whether the answer's record comes with it, with a proof."),
    "rounded": (True, "Whether the same in fewer digits comes with it, which takes a while."),
    "text": (
        False,
        "Whether sentences come with it; numbers are rounded for them, which takes a while.",
    ),
}
EXAMPLES = {"radius": 1.0, "against": {"Retraining": {"confidence": 0.9}}}
RENAMED = {"explain_robust": "robust"}
BODY = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True)
class ServedQuestion:
    """One question.

    Attributes
    ----------
    name : in paths
    method : of :class:`portfolio.explainer.Explainer`
    body : what a request holds
    summary : first line of what the method says of itself
    progresses : whether it tells what is known on its way
    example : members besides the row that it needs
    """

    name: str
    method: str
    body: type[BaseModel]
    summary: str
    progresses: bool
    example: dict[str, Any]

    def arguments(self, given: Any) -> dict[str, Any]:
        """The members of a body that fits, those left out left out."""
        if isinstance(given, dict) and (strange := given.keys() - self.body.model_fields.keys()):
            raise Problem(422, _strange(min(strange)))
        try:
            read = self.body.model_validate(given)
        except ValidationError as error:
            raise Problem(422, sentence_of(error)) from error
        return {name: getattr(read, name) for name in read.model_fields_set}


def sentence_of(error: ValidationError) -> str:
    """What is wrong with a body, as one sentence."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = str(first["loc"][0]) if first["loc"] else "the body"
    if first["type"] == "extra_forbidden":
        return _strange(place)
    if first["type"] == "missing":
        return f"{place} is missing."
    if first["type"] == "model_type":
        return f"{place} must be an object."
    if place == "rows" and len(first["loc"]) > 1:
        return f"row {first['loc'][1]} is not an object of numbers and texts by column name."
    if len(first["loc"]) > 1:
        words = PARAMETERS[place][1] if place in PARAMETERS else "What /openapi.json tells."
        return f"{place} does not fit; it is: {words}"
    return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}."


def _strange(member: str) -> str:
    return f"there is no member {member!r}; GET /openapi.json lists the members."


def served_question(
    name: str, method: Callable[..., Any], parameters: Mapping[str, tuple[Any, str]]
) -> ServedQuestion:
    """A question whose body has the members of a method that HTTP knows."""
    own = inspect.signature(method).parameters
    members: dict[str, Any] = {}
    for known in own.keys() & parameters.keys():
        kind, words = parameters[known]
        default = own[known].default
        needed = default is inspect.Parameter.empty
        if known == "constraints":
            default = []
        members[known] = (kind, Field(... if needed else default, description=words))
    if name == EXPLAIN:
        members |= {
            key: (bool, Field(default, description=words))
            for key, (default, words) in EXTRAS.items()
        }
    ordered = {key: members[key] for key in (*parameters, *EXTRAS) if key in members}
    words = "".join(part.title() for part in name.split("_"))
    body = create_model(f"{words}Question", __config__=BODY, **ordered)
    summary = (inspect.getdoc(method) or name).partition("\n")[0]
    path = RENAMED.get(name, name).replace("_", "-")
    example = {key: EXAMPLES[key] for key in ordered if key in EXAMPLES}
    return ServedQuestion(path, name, body, summary, "on_progress" in own, example)


def _is_about_a_row(method: Callable[..., Any]) -> bool:
    return {"x", "time_limit_s"} <= inspect.signature(method).parameters.keys()


QUESTIONS: dict[str, ServedQuestion] = {
    served.name: served
    for name, method in inspect.getmembers(Explainer, inspect.isfunction)
    if not name.startswith("_") and _is_about_a_row(method)
    for served in [served_question(name, method, PARAMETERS)]
}
