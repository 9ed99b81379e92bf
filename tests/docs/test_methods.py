"""The question methods of an explainer are those of the records."""

import ast
import inspect

import pytest

from counterfolio import Explainer
from portfolio.questions.records import QUESTIONS
from tests.docs import methods


def test_the_source_is_up_to_date():
    written, derived = ast.parse(methods.PATH.read_text()), ast.parse(methods.source())
    assert ast.dump(written) == ast.dump(derived), "run: python -m tests.docs.methods"


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_follows_row_and_target_is_passed_by_name(name):
    parameters = list(inspect.signature(getattr(Explainer, name)).parameters.values())[1:]
    needed = [each for each in parameters if each.default is each.empty]
    positional = [each.name for each in parameters if each.kind is each.POSITIONAL_OR_KEYWORD]
    assert set(positional) <= {"x", "X", "target"} | {each.name for each in needed}
