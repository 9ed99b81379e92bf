"""Constraints of a JSON file on the command line."""

import json

import pytest
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio import Changes, Fixed, Implies, JointCost, Linear, Rises
from portfolio.cli.app import app
from portfolio.cli.constraints_file import read_constraints

GIVEN = [
    {"Linear": [{"Age": 1, "Amount": -0.5}, "<=", 0]},
    {"Implies": {"if": {"Changes": "Sex"}, "then": {"Rises": {"feature": "Age", "by": 1}}}},
    {"JointCost": ["Age", "Sex", [[[30, 1], 0.5]]]},
    {"Fixed": "Sex"},
]


def test_each_way_to_write_arguments(tmp_path):
    path = tmp_path / "constraints.json"
    path.write_text(json.dumps(GIVEN))
    assert read_constraints(path) == [
        Linear({"Age": 1, "Amount": -0.5}, "<=", 0),
        Implies(Changes("Sex"), Rises("Age", by=1)),
        JointCost("Age", "Sex", {(30, 1): 0.5}),
        Fixed("Sex"),
    ]


@pytest.mark.parametrize(
    "given",
    [
        "{",
        "[" * 9**5,
        '{"Fixed": "Age"}',
        "[3]",
        '[{"Fixed": []}]',
        '[{"Changes": "Age"}]',
        '[{"Fixed": "Age", "Fixed": "Sex"}]',
    ],
)
def test_what_is_none_is_told(tmp_path, given):
    path = tmp_path / "constraints.json"
    path.write_text(given)
    with pytest.raises(InputError, match="--constraints"):
        read_constraints(path)


def test_they_hold(loans, tmp_path):
    path = tmp_path / "constraints.json"
    path.write_text(json.dumps([{"Implies": [{"Changes": "Age"}, {"Rises": ["Age", 5]}]}]))
    words = ["explain", "--dataset", str(loans), "--train", "forest", "--trees", "6", "--row", "3"]
    out = CliRunner().invoke(app, [*words, "--constraints", str(path), "--json"])
    answer = json.loads(out.stdout)
    assert answer["status"] in ("optimal", "infeasible")
    if answer["status"] == "optimal":
        moved = answer["counterfactual"]["Age"] - answer["query"]["Age"]
        assert moved == 0 or moved >= 5
