"""File of the JSON Schemas of all questions and answers; run as a module to write it."""

import json

from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from portfolio.service.questions import GROUP_QUESTIONS, QUESTIONS
from portfolio.service.record_schemas import answer_types, model_of
from tests.docs.pages import ROOT

PLACE = ROOT / "docs/reference/records.schema.json"
VERSION = 1
BODIES = {q.method: q.body for q in [*QUESTIONS.values(), *GROUP_QUESTIONS.values()]}


class WithoutTitles(GenerateJsonSchema):
    """A generator of schemas that repeat no name of a member as its title."""

    def field_title_should_be_set(self, schema):
        """Return False."""
        return False


def document():
    """Return the JSON Schemas of all questions and answers, and of what they contain."""
    answers = {name: model_of(kind) for name, kind in answer_types().items()}
    models = [*BODIES.values(), *answers.values()]
    inputs = [(model, "validation") for model in models]
    _, schemas = models_json_schema(inputs, schema_generator=WithoutTitles)
    names = {
        method: {"question": body.__name__, "answer": answers[method].__name__}
        for method, body in BODIES.items()
    }
    about = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Questions and answers of counterfolio",
    }
    return about | {"version": VERSION, "questions": names, "$defs": schemas["$defs"]}


def as_text():
    """Return the content of the file, with one record per line."""
    whole = document()
    lines = [f'  "{name}": {json.dumps(schema)}' for name, schema in whole.pop("$defs").items()]
    head = json.dumps(whole, indent=1).removesuffix("\n}")
    return head + ',\n "$defs": {\n' + ",\n".join(lines) + "\n }\n}\n"


if __name__ == "__main__":
    PLACE.write_text(as_text(), encoding="utf-8")
