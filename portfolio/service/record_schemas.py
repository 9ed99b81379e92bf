"""pydantic models of the JSON of constraints, goals and answers, which OpenAPI describes."""

from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from pkgutil import resolve_name
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, TypeAdapter, create_model
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from encoders.query.codec import CONSTRAINTS, GOALS, signature
from portfolio.questions.codec import variations
from portfolio.questions.groups.audit import Audit
from portfolio.questions.records import QUESTIONS
from portfolio.results.codec import types_of
from portfolio.results.result import Result

CLOSED = ConfigDict(extra="forbid")
TERMS = {**CONSTRAINTS, **GOALS, **variations()}


@dataclass(frozen=True)
class Described:
    """Annotation that replaces the JSON Schema of a type by that of another one with records."""

    shape: Any  # a type such as list[Constraint]

    def __get_pydantic_json_schema__(
        self, _: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the JSON Schema."""
        return handler(TypeAdapter(json_type(self.shape)).core_schema)


def json_type(hint: Any, number: Any = float) -> Any:
    """Return a type with models in the place of records and ``number`` in that of float."""
    origin, parts = get_origin(hint), get_args(hint)
    if hint is float:
        return number
    if isinstance(hint, type) and is_dataclass(hint):
        return model_of(hint)
    if origin is None:
        return hint
    if origin is Mapping and parts[0] is not str:  # keys of JSON objects are text
        origin, parts = list, (tuple[parts],)  # type: ignore[valid-type]
    converted = tuple(json_type(part, number) for part in parts)
    return (Union if origin is UnionType else origin)[converted]


def answer_types() -> dict[str, Any]:
    """Return the class of the answers to each question, by method."""
    types = {name: resolve_name(question.answer) for name, question in QUESTIONS.items()}
    return {"explain": Result, "audit": Audit, **types}


@cache
def model_of(kind: Any) -> type[BaseModel]:
    """Return the model of the JSON of a constraint, goal, variation, answer or part of one."""
    if kind in TERMS.values():
        types = {kind.__name__: _arguments_of(kind)}
    else:
        types = {name: json_type(hint, float | None) for name, hint in types_of(kind).items()}
    members: dict[str, Any] = {name: (each, ...) for name, each in types.items()}
    summary = kind.__doc__.partition("\n")[0]
    return create_model(kind.__name__, __config__=CLOSED, __doc__=summary, **members)


def _arguments_of(kind: type) -> Any:
    """Return the type of the arguments of a class: in order, by name, or the only one."""
    parameters = signature(kind).parameters.values()
    hints = tuple(json_type(each.annotation) for each in parameters)
    required = sum(each.default is each.empty for each in parameters)
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        return Union[list[Union[hints]], hints[0]]  # type: ignore[valid-type]  # noqa: UP007
    optional = Field(default_factory=NoneType)  # whose schema has no default
    members: dict[str, Any] = {
        each.name.rstrip("_"): (hint, ... if each.default is each.empty else optional)
        for each, hint in zip(parameters, hints, strict=True)
    }
    in_order = [tuple[hints[:n]] for n in range(required, len(hints) + 1)]  # type: ignore[misc]
    by_name = create_model(f"{kind.__name__}Arguments", __config__=CLOSED, **members)
    return Union[*in_order, by_name, *(hints[:1] if required <= 1 else ())]
