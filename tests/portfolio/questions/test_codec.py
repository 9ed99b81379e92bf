"""Records come back from JSON, and JSON Schemas describe them."""

import json

import hypothesis.strategies as st
import jsonschema
import pytest
from hypothesis import HealthCheck, Phase, given, settings

from encoders.query import codec as terms
from portfolio.questions.codec import decode_settings, encode_settings
from portfolio.questions.records import QUESTIONS
from portfolio.service.record_schemas import TERMS, answer_types
from tests.docs.schemas import BODIES, PLACE, as_text, document
from tests.support.drawn_records import record, settings_of, term

SCHEMAS = document()["$defs"]
some = settings(
    max_examples=25,
    phases=[Phase.explicit, Phase.generate],  # records are too large to shrink in seconds
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def check(plain, name):
    """Check plain values with the schema of a class."""
    schema = {"$ref": f"#/$defs/{name}", "$defs": SCHEMAS}
    jsonschema.Draft202012Validator(schema).validate(plain)


@pytest.mark.parametrize("name", TERMS)
@given(data=st.data())
@some
def test_a_constraint_or_goal_comes_back(name, data):
    drawn = data.draw(term(TERMS[name]))
    plain = json.loads(json.dumps(terms.encode(drawn)))
    assert terms.decode(plain, "here", TERMS) == drawn
    check(plain, name)


@pytest.mark.parametrize("name", answer_types())
@given(data=st.data())
@some
def test_an_answer_comes_back(name, data):
    kind = answer_types()[name]
    plain = data.draw(record(kind)).to_dict()
    sent = json.loads(json.dumps(plain, allow_nan=False))
    assert kind.from_dict(sent).to_dict() == plain
    check(sent, kind.__name__)


@pytest.mark.parametrize("name", QUESTIONS)
@given(data=st.data())
@some
def test_a_question_comes_back(name, data):
    kind, body = QUESTIONS[name], BODIES[name]
    drawn = kind(**data.draw(settings_of(kind)))
    plain = json.loads(json.dumps(encode_settings(vars(drawn)), allow_nan=False))
    assert encode_settings(vars(kind(**decode_settings(plain)))) == encode_settings(vars(drawn))
    row = {"x": {"age": 45}} if "x" in body.model_fields else {}
    assert body.model_validate(plain | row).arguments() == plain | row
    check(plain | row, body.__name__)


def test_the_schemas_are_valid():
    jsonschema.Draft202012Validator.check_schema(document())


def test_the_file_of_schemas_is_current():
    assert PLACE.read_text(encoding="utf-8") == as_text(), "run python -m tests.docs.schemas"
