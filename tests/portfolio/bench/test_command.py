"""``counterfolio bench``: its table, its file, and what Ctrl-C leaves."""

import io
import json
import os
import re
import signal

import pytest
from rich.console import Console
from typer.testing import CliRunner

from portfolio.bench.backends import BackendPlan
from portfolio.bench.cases import Cases, RunLimits
from portfolio.bench.runner import run_plan
from portfolio.cli.app import app

WINE = BackendPlan(
    Cases(only=("wine",), trees=5, depth=3, queries=150),
    ("auto", "plain-cp"),
    limits=RunLimits(time_limit_s=30.0, threads=1),
)


class Interrupting(io.StringIO):
    """A terminal whose user presses Ctrl-C once the bar has counted a run."""

    pressed = False

    def write(self, text):
        if not self.pressed and re.search(r"[1-9]\d*/300", text):
            self.pressed = True
            os.kill(os.getpid(), signal.SIGINT)
        return super().write(text)


def test_an_interrupt_keeps_what_is_done(tmp_path):
    screen = Interrupting()
    console = Console(file=screen, force_terminal=True, width=200)
    code = run_plan(WINE, console, tmp_path / "runs.json")
    assert (code, screen.pressed) == (0, True)
    assert "Interrupted" in screen.getvalue()
    assert 0 < len(json.loads((tmp_path / "runs.json").read_text())["runs"]) < 300


@pytest.fixture(scope="module")
def benched(tmp_path_factory):
    out = tmp_path_factory.mktemp("bench") / "runs.json"
    words = ["bench", "--only", "wine", "--trees", 5, "--depth", 3, "--queries", 2, "--kind",
             "soft,hard", "--backends", "auto,plain-cp:published", "--json", out]  # fmt: skip
    return CliRunner().invoke(app, [str(word) for word in words]), out


def test_a_table_compares_with_the_baseline(benched):
    done, _ = benched
    assert done.exit_code == 0, done.output
    assert "12 runs: 1 data sets, kinds soft, hard" in done.output
    assert "times faster than plain-cp" in done.output and "All proofs agree" in done.output


def test_all_runs_can_be_written(benched):
    written = json.loads(benched[1].read_text())
    assert set(written) == {"plan", "machine", "versions", "runs"}
    assert len(written["runs"]) == 12
    assert {run["backend"] for run in written["runs"]} == {
        "auto", "plain-cp:published", "plain-cp"
    }  # fmt: skip


def test_written_plans_contain_the_name_of_the_folder_without_its_path(tmp_path):
    rows = "\n".join(f"{k / 7},{k % 5},{int(k % 11 > 5)}" for k in range(60))
    (tmp_path / "S.csv").write_text(f"a,b,Class\nN,D,B\nFREE,FREE,PREDICT\n{rows}\n")
    out = tmp_path / "runs.json"
    words = ["bench", "--datasets", tmp_path, "--trees", 3, "--queries", 1, "--backends", "auto",
             "--against", "auto", "--json", out]  # fmt: skip
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    assert json.loads(out.read_text())["plan"]["folder"] == tmp_path.name
