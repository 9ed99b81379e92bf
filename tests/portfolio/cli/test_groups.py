"""``counterfolio group`` and ``counterfolio audit``: words, JSON, files and exit codes."""

import json

import pandas as pd
import pytest

from tests.portfolio.cli.test_cli import run

pytestmark = pytest.mark.usefixtures("forked_children")

FOREST = ("--train", "forest", "--trees", 6, "--depth", 3, "--target", 1)


def ask(command, loans, *more):
    return run(command, "--dataset", loans, *FOREST, *more)


def test_actions_are_printed_and_are_json(loans, tmp_path):
    table = tmp_path / "rows.csv"
    told = ask("group", loans, "--rows", "0:8", "--actions", 2, "--out", table)
    assert told.exit_code == 0 and "give" in told.stdout and "proved" in told.stdout
    assert len(pd.read_csv(table)) == 8
    plain = json.loads(ask("group", loans, "--rows", "0:8", "--json").stdout)
    assert plain["status"] == "optimal" and plain["covered"] == plain["bound"]
    assert ask("group", loans, "--rows", "0:8", "--budget", 0).exit_code in (0, 4)


@pytest.mark.slow
def test_an_audit_is_printed_written_and_drawn(loans, tmp_path):
    answers, picture, few = (tmp_path / name for name in ("answers", "audit.svg", "few.csv"))
    few.write_text("".join(first_rows(loans, 12)), encoding="utf-8")
    own = ("--by", "Sex", "--input", few, "--workers", 1)
    told = ask("audit", loans, *own, "--out", answers, "--plot", picture)
    assert told.exit_code == 0 and "mean cost" in told.stdout and "minus" in told.stdout
    assert picture.stat().st_size > 1000 and any(answers.iterdir())


def first_rows(loans, count):
    names, _, _, *rows = loans.read_text(encoding="utf-8").splitlines(keepends=True)
    return [names, *rows[:count]]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("group", "--rows", "a"), "from:to such as 0:20"),
        (("group", "--budget", -1), "budget must be"),
        (("group", "--strategy", "cp"), "group does not support --strategy"),
        (("audit", "--by", "nothing"), "is not a feature"),
        (("audit", "--by", "Sex", "--reference", "7"), "is not a group"),
        (("audit", "--by", "Sex", "--log", "logs"), "--log is supported by explain and batch only"),
    ],
)
def test_what_does_not_fit_is_told(loans, more, words):
    command, *rest = more
    result = ask(command, loans, *rest)
    assert result.exit_code != 0 and words in str(result.exception)
