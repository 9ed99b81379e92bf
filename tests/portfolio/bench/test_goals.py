"""Goals of the benchmarks: each has figures, and a line that fails gives the reason."""

import json

import pytest

from encoders.core.errors import InputError
from portfolio.bench import goals
from portfolio.bench import hard_forests as hard
from portfolio.bench.goal_measures import map_batch, queries
from portfolio.bench.goals import GoalPlan, Line, chosen, reached, run_line
from portfolio.bench.runner import run_plan
from portfolio.cli.output import wide_console

pytestmark = pytest.mark.usefixtures("forked_children")

SMALL = "\n".join(
    ["a,b,Class", "N,D,B", "FREE,FREE,PREDICT"]
    + [f"{k / 7},{k % 5},{int((k * 3) % 11 > 5)}" for k in range(60)]
)


def test_goals_are_upper_limits_except_for_shares_and_rates():
    assert reached("median, s", 0.5, 1.0) and not reached("median, s", 1.5, 1.0)
    assert reached("rows/s", 300, 250) and not reached("proved", 0.9, 1.0)


def test_an_unknown_line_is_an_error_that_lists_all_lines():
    with pytest.raises(InputError, match=r"unknown line 'speed'\. Use one of import, .*evaluate"):
        chosen(("speed",))


def test_questions_to_a_model_give_every_figure_of_their_goals(tmp_path):
    (tmp_path / "S.csv").write_text(SMALL)
    figures = queries("S", "xgb", 5, 3, tmp_path, rows=3)
    wanted = {figure for line in chosen(()) if line.dataset for figure in line.goals}
    assert wanted - {"rows/s", "speed-up", "a row, ms"} <= figures.keys()
    assert figures["proved"] == 1.0
    assert 0 < figures["first, s"] <= figures["max, s"]
    assert figures["median, s"] <= figures["max, s"] < figures["peak, GB"] * 1e9


def test_hard_forests_are_measured_on_the_given_rows(tmp_path):
    (tmp_path / "SP.csv").write_text(SMALL)
    seen = []

    def rows(table):
        seen.append(hard.random_rows(table, 3))
        return seen[0]

    figures = hard.spambase(hard.Forest(5, depth=3), tmp_path, rows)
    assert len(seen[0]) == 4 and seen[0].index[0] == 0
    assert figures["proved"] == 1.0 and figures["max, medians"] >= 1.0


@pytest.mark.slow
def test_forests_of_digits_cancer_and_pipelines_are_measured(tmp_path, monkeypatch):
    monkeypatch.setattr(hard, "AD_ROWS", 60)
    (tmp_path / "AD.csv").write_text(SMALL.replace("N,D,B", "N,C,B"))
    shallow = hard.Forest(5, extra=True, depth=3)
    assert hard.digits(shallow, tmp_path)["proved"] == 1.0
    assert hard.cancer(shallow, tmp_path)["proved"] == 1.0
    figures = hard.adult_pipeline(tmp_path)
    assert figures["proved"] == 1.0 and figures["read, CPU s"] > 0


@pytest.mark.slow
def test_rows_of_a_batch_are_timed_by_a_map(tmp_path):
    (tmp_path / "S.csv").write_text(SMALL)
    figures = map_batch("S", tmp_path)
    assert figures.keys() == {"made, CPU s", "a row, ms"} and figures["a row, ms"] > 0


@pytest.mark.slow
def test_a_line_runs_in_a_process_of_its_own_and_is_kept(tmp_path):
    kept = tmp_path / "figures.json"
    assert run_plan(GoalPlan(None, ("help",), 60.0), wide_console(), kept) == 0
    assert json.loads(kept.read_text())["help"]["CPU s"] > 0


@pytest.mark.slow
def test_what_fails_and_what_takes_too_long_is_one_sentence(tmp_path, capsys):
    with pytest.raises(InputError, match=r"^ST failed: .*"):
        run_line(chosen(("ST",))[0], tmp_path, 60.0)
    with pytest.raises(
        InputError, match=r"^help did not finish within 0\.01 s\. Raise the time limit\.$"
    ):
        run_line(chosen(("help",))[0], tmp_path, 0.01)
    assert run_plan(GoalPlan(tmp_path, ("ST",), 60.0), wide_console()) == 0
    assert "ST needs data set ST. Give its folder with --datasets" in capsys.readouterr().out


def test_lines_have_names_of_their_own():
    lines = goals.lines()
    assert len({line.name for line in lines}) == len(lines)
    assert all(isinstance(line, Line) and line.goals for line in lines)
