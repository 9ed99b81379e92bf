"""Constraints and goals as JSON: there and back."""

import json

import pytest

from encoders.core.errors import InputError
from encoders.query.codec import CONSTRAINTS, GOALS, decode, decode_constraints, encode
from portfolio import (
    Allowed,
    AllowedPairs,
    AllowMissing,
    Around,
    AtLeast,
    Beat,
    Becomes,
    Changes,
    Decrease,
    Falls,
    Fixed,
    Forbidden,
    Implies,
    Increase,
    JointCost,
    Less,
    Linear,
    MaxChanges,
    Precedence,
    Probability,
    Range,
    Retraining,
    Rises,
    Score,
    Stays,
    Together,
    Within,
)

ALL = [
    Fixed("age"),
    Increase("age"),
    Decrease("age"),
    Range("age", upper=4.5),
    Range("age", 1.0, 2.0),
    Allowed("home", ["rent", "own"]),
    AllowMissing("income", 0.5),
    MaxChanges(2),
    MaxChanges(1, among=["age", "income"]),
    Implies(Changes("age"), Rises("income", by=3.0)),
    Implies(Stays("age"), Within("income", lower=2.0)),
    Together("age", "income"),
    Forbidden(Becomes("home", "own"), Falls("income")),
    AllowedPairs("home", "age", [("own", 1), ("rent", 2)]),
    Precedence("home", ["rent", "own"]),
    Linear({"age": 1, "income": -0.5}, "<=", 3),
    Linear({"Range": 0.5}, "<=", 3),  # a feature that is named like a constraint
    JointCost("home", "age", {("own", 1): 0.25}),
]
AGAINST = {"Around": Around, "Retraining": Retraining}
MORE = [
    Probability("granted", at_least=0.8),
    Score(0.1, None),
    AtLeast(3.0),
    Less(percent=10),
    Beat({"age": 30, "home": "own", "debts": None}),
    Beat([30, 2.5, None]),
    Around({"income": 50.0}),
    Around({"Around": 50.0}),
    Beat({"AtLeast": 1.0}),
    Retraining(confidence=0.9),
]


@pytest.mark.parametrize("constraint", ALL, ids=str)
def test_a_constraint_comes_back_from_json(constraint):
    told = json.loads(json.dumps(encode([constraint])))
    assert decode_constraints(told, "here") == [constraint]


@pytest.mark.parametrize("record", MORE, ids=str)
def test_a_goal_comes_back_from_json(record):
    told = json.loads(json.dumps(encode(record)))
    assert decode(told, "here", GOALS | AGAINST) == record


def test_every_constraint_is_tried():
    conditions = {"Changes", "Stays", "Rises", "Falls", "Within", "Becomes"}
    assert {type(each).__name__ for each in ALL} == set(CONSTRAINTS) - conditions


@pytest.mark.parametrize(
    "given",
    [
        {"Fixed": "age"},
        [{"Fixed": []}],
        [{"JointCost": []}],
        [{"JointCost": ["a", "b", [[[["x"], 1], 2]]]}],
        [{"Changes": "age"}],
        [{"Nothing": "age"}],
        [3],
        [None],
    ],
)
def test_what_is_no_constraint_is_refused(given):
    with pytest.raises(InputError, match="here"):
        decode_constraints(given, "here")


def test_a_deep_nest_is_refused():
    nest = []
    for _ in range(5000):
        nest = [nest]
    with pytest.raises(InputError, match="too deep"):
        decode_constraints(nest, "here")
