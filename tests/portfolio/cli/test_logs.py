"""The command line: logs and figures."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from portfolio.bench.figures import draw_all
from portfolio.cli.app import app
from selector import logs


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.slow
def test_logs_are_shown(real_logs):
    shown = run("logs", "show", real_logs)
    assert shown.exit_code == 0 and "session" in shown.output


def test_logs_are_checked(real_logs):
    assert run("logs", "check", real_logs).exit_code == 0


@pytest.mark.slow
def test_a_torn_line_is_told_in_a_sentence(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"schema": 3, "que\n')
    code = "from portfolio.cli.app import main; main()"
    call = [sys.executable, "-c", code, "logs", "show", str(tmp_path / "a.jsonl")]
    told = subprocess.run(call, capture_output=True, text=True, timeout=120).stderr.splitlines()
    assert f"Warning: {tmp_path / 'a.jsonl'}: 1 torn line(s) skipped." in told
    assert not any("warnings.warn" in line for line in told)


def test_logs_are_merged(real_logs, tmp_path):
    assert run("logs", "merge", real_logs, "--out", tmp_path / "m.parquet").exit_code == 0
    assert len(logs.read(tmp_path / "m.parquet")) == len(logs.read(real_logs))


@pytest.mark.slow
def test_figures_are_drawn_on_a_page(real_logs, tmp_path):
    assert run("figures", real_logs, "--out", tmp_path / "f").exit_code == 0
    assert (tmp_path / "f" / "index.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cactus", "parts", "left"])
def test_each_figure_is_a_picture_and_a_drawing(real_logs, tmp_path, name):
    page = draw_all(logs.read(real_logs), tmp_path)
    assert page.read_text().count("<img") >= 3
    assert (tmp_path / f"{name}.png").stat().st_size > 5000
    assert "<svg" in (tmp_path / f"{name}.svg").read_text()
