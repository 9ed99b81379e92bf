"""The benchmark of questions: every question, and what it costs beside one answer."""

import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.bench.questions import (
    ANSWER,
    QUESTIONS,
    QuestionPlan,
    QuestionRun,
    summarise_questions,
)
from portfolio.cli.app import app
from tests.portfolio.bench.test_backends import LIMITS, WINE, runs_of


@pytest.mark.slow
def test_every_question_is_asked_about_the_same_rows():
    few = replace(WINE, kinds=("xgb",), queries=1)
    runs = runs_of(QuestionPlan(few, ("all",), LIMITS))
    assert [run.question for run in runs] == list(QUESTIONS)
    assert len({run.query for run in runs}) == 1
    for line in summarise_questions(runs).itertuples():
        assert line.proved == 1.0 or line.question == "robust"
        assert line.ratio > 0 and (line.question != ANSWER or line.ratio == 1)


def test_ratios_are_of_the_same_row():
    seconds = {(ANSWER, 1): 1.0, (ANSWER, 2): 10.0, ("front", 1): 3.0, ("front", 2): 20.0}
    runs = [
        QuestionRun("d", "soft", row, name, "optimal", own, own)
        for (name, row), own in seconds.items()
    ]
    assert summarise_questions(runs)["ratio"].tolist() == [1.0, 2.5]


def test_an_unknown_question_is_told():
    with pytest.raises(
        InputError, match=r"'why'\. Did you mean \"why-not\"\? Use one of all, explain"
    ):
        QuestionPlan(WINE, ("why",), LIMITS).total  # noqa: B018


def test_the_command_prints_a_line_each(tmp_path):
    call = ["bench", "--only", "wine", "--trees", "5", "--depth", "3", "--queries", "1"]
    out = tmp_path / "runs.json"
    done = CliRunner().invoke(app, [*call, "--questions", "reasons", "--json", str(out)])
    assert done.exit_code == 0, done.output
    assert "reasons:" in done.output and "times the time of explain" in done.output
    assert [r["question"] for r in json.loads(out.read_text())["runs"]] == [ANSWER, "reasons"]
