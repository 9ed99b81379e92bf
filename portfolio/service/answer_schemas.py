"""JSON schemas of the response bodies of the service, for OpenAPI."""

from typing import Any

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER_OR_NULL: Schema = {"type": ["number", "null"]}


def record(**members: Schema) -> Schema:
    """Return the schema of an object with these required members; others are allowed."""
    return {"type": "object", "required": list(members), "properties": members}


def many(item: Schema) -> Schema:
    """Return the schema of an array."""
    return {"type": "array", "items": item}


def described(schema: Schema, words: str = "The answer.") -> dict[int | str, Schema]:
    """Return the OpenAPI responses of a route with status 200 and this schema."""
    return {200: {"description": words, "content": {"application/json": {"schema": schema}}}}


def accepted(schema: Schema) -> dict[int | str, Schema]:
    """Return the OpenAPI responses of a route with status 202 and this schema."""
    return {202: described(schema, "The job that was accepted.")[200]}


ANSWER = record(
    answer={
        "type": "object",
        "description": "The answer of the Explainer method, as to_dict() returns it.",
    },
    model=record(name=TEXT, digest=TEXT, diagram=TEXT),
    question=TEXT,
    request=TEXT,
    limits=record(time_limit_s={"type": "number"}, threads=COUNT, clipped=many(TEXT)),
)
FAILED = many(record(name=TEXT, detail=TEXT))
HEALTH = record(status={"const": "ok"})
READY = record(status={"const": "ready"}, failed=FAILED)
FEATURE = record(
    name=TEXT,
    kind=TEXT,
    columns=many(TEXT),
    lower=NUMBER_OR_NULL,
    upper=NUMBER_OR_NULL,
    values={"type": "array"},
    labels={"type": "array"},
    action=TEXT,
    missing={},
    truth={},
    step=NUMBER_OR_NULL,
)
MODEL = record(
    name=TEXT,
    digest=TEXT,
    diagram=TEXT,
    classes={"type": "array"},
    columns=many(TEXT),
    features=many(FEATURE),
    strategies=many(TEXT),
    example={"type": "object"},
)
MODELS = record(models=many(MODEL), failed=FAILED)
BOUNDS: Schema = {
    "anyOf": [
        record(seconds={"type": "number"}, upper=NUMBER_OR_NULL, lower=NUMBER_OR_NULL),
        {"type": "null"},
    ]
}
JOB = record(
    id=TEXT,
    model=record(name=TEXT, digest=TEXT),
    question=TEXT,
    state={"enum": ["queued", "running", "done", "cancelled", "failed"]},
    answered=COUNT,
    rows={"type": ["integer", "null"], "minimum": 0},
    bounds=BOUNDS,
    message=TEXT,
    resumable={"type": "boolean"},
)
JOBS = record(jobs=many(JOB), offset=COUNT, total=COUNT)
RESULTS = record(job=JOB, offset=COUNT, rows=many({"type": "object"}))
RESULT = record(
    answer={"type": "object", "description": "The answer, as to_dict() returns it."}, text=TEXT
)
