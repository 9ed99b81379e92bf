"""Questions, options and names of strategies."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

from encoders.core.errors import InputError
from portfolio import Fixed
from portfolio.engine.question import Options, Question, strategy_name


def test_without_a_strategy_the_diagram_picks():
    assert strategy_name(None) == "auto"


@pytest.mark.parametrize("name", ["auto", "race", "cp", "milp/highs:ocean", "plain-cp:published"])
def test_a_strategy_is_a_name(name):
    assert strategy_name(name) == name


def test_a_strategy_is_several_names_that_race():
    assert strategy_name(["search", "milp/highs"]) == ("search", "milp/highs")


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        ("nobody", "unknown backend 'nobody'"),
        ("plain-nobody", "unknown backend 'nobody'"),
        ("session-cp", "unknown backend 'session-cp'"),
        ("cp:fast", "no formulation 'fast'"),
        (["search", "auto"], "'auto' cannot take part"),
        ([], "strategy must be a name"),
        (5, "strategy must be a name"),
    ],
)
def test_what_is_no_strategy_is_told(strategy, message):
    with pytest.raises(InputError, match=message):
        strategy_name(strategy)


@pytest.mark.parametrize(
    "wrong",
    [
        {"time_limit_s": 0}, {"time_limit_s": "long"}, {"threads": 0}, {"threads": 1.5},
        {"threads": 2000}, {"seed": -1}, {"seed": 2**31}, {"metric": "votes"},
    ],
)  # fmt: skip
def test_options_that_cannot_be_used_are_told(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        Options(**wrong)


def test_questions_and_options_can_be_sent_to_workers():
    question = Question("granted", 2, weights={"age": 2.0}, constraints=[Fixed("age")])
    again = pickle.loads(pickle.dumps(question))
    assert (again.measure, again.digest) == (question.measure, question.digest)
    options = Options(("search", "cp"), threads=np.int64(2))
    assert pickle.loads(pickle.dumps(options)) == options


def test_digests_of_batches_feed_the_fields_in_this_order():
    assert type(Question()).__name__ == "Question"
    assert [field.name for field in fields(Question)] == [
        "target", "norm", "scale", "weights", "constraints", "margin"
    ]  # fmt: skip


def test_a_single_constraint_is_no_sequence():
    with pytest.raises(InputError, match="must be a sequence"):
        Question(constraints=Fixed("age"))
