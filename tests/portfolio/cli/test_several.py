"""``counterfolio several``, ``diverse`` and ``front``: words, JSON, pictures and exit codes."""

import json

import pytest

from tests.portfolio.cli.test_cli import refused_row, run

FOREST = ("--train", "forest", "--trees", 6, "--depth", 3)


def ask(command, loans, *more):
    return run(command, "--dataset", loans, *FOREST, "--row", refused_row(loans), *more)


def test_answers_are_printed_and_are_json(loans):
    told = ask("several", loans, "--count", 2)
    assert told.exit_code == 0 and told.stdout.startswith("1. Optimal")
    plain = json.loads(ask("several", loans, "--count", 2, "--json").stdout)
    assert plain["status"] == "optimal" and 1 <= len(plain["answers"]) <= 2 and plain["query"]


def test_answers_that_are_far_apart(loans):
    told = ask("diverse", loans, "--count", 2, "--within", 0.5)
    assert told.exit_code == 0 and "(proved" in told.stdout
    plain = json.loads(ask("diverse", loans, "--count", 2, "--json").stdout)
    assert plain["within"] == 0.1 and plain["apart"] == plain["upper_bound"]


def test_a_front_is_drawn(loans, tmp_path):
    picture = tmp_path / "front.svg"
    told = ask("front", loans, "--plot", picture)
    assert told.exit_code == 0 and told.stdout.startswith("At most")
    assert "most changes" in picture.read_text() or picture.stat().st_size > 1000
    levels = ask("front", loans, "--by", "probability", "--levels", "0.5,1", "--json")
    assert [p["level"] for p in json.loads(levels.stdout)["points"]] == [0.5, 1.0]


def test_a_front_by_plausibility(loans):
    asked = ("--by", "plausibility", "--plausible", "--levels=-0.6,-0.5", "--json")
    told = ask("front", loans, *asked)
    assert told.exit_code == 0, told.output
    scores = [point["level"] for point in json.loads(told.stdout)["points"]]
    assert scores == [-0.6, -0.5]


def test_nothing_within_reach_has_its_exit_code(loans):
    assert ask("several", loans, "--max-changes", 0).exit_code == 4
    assert ask("front", loans, "--max-changes", 0).exit_code == 4


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("front", "--levels", "a,b"), "--levels a,b cannot be read. Write numbers"),
        (("front", "--by", "cost"), "by must be"),
        (("front", "--plot", "front.docx"), "--plot front.docx"),
        (("several", "--count", 0), "k must be"),
        (("several", "--different", "value"), "different must be"),
        (("diverse", "--within", "-1"), "within must be"),
        (("several", "--log", "logs"), "--log and --explore are supported by explain"),
    ],
)
def test_what_does_not_fit_is_told(loans, more, words):
    command, *rest = more
    result = ask(command, loans, *rest)
    assert result.exit_code != 0 and words in str(result.exception)


def test_of_equal_answers_the_first_and_other_ways(loans):
    first = json.loads(ask("explain", loans, "--norm", 0, "--tie-break", "--json").stdout)
    assert first["status"] == "optimal" and first["first"] is True
    ways = ask("several", loans, "--count", 2, "--different", "region", "--tie-break", "--json")
    plain = json.loads(ways.stdout)
    assert plain["different"] == "region" and len(plain["regions"]) == 1
