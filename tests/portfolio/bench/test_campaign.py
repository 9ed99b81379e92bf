"""Campaigns: killed ones resume, and records that can't be written stop them."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.bench.campaign_plan import CampaignPlan
from portfolio.bench.protocol import Protocol, load_protocol
from portfolio.bench.runner import run_plan
from portfolio.cli.app import app
from portfolio.results.timings import duration
from selector import logs
from selector.logs.summary import second_opinions

pytestmark = pytest.mark.usefixtures("forked_children")

PROTOCOL = """
datasets = ["wine"]
trees = [10]
depths = [3]
kinds = ["soft", "xgb"]
norms = ["1"]
queries = 2
entries = ["search", "cp", "second-cp", "plain-cp", "session-cp"]
time_limit_s = 20.0
"""


def options(protocol, out, *more):
    return ["bench", "--protocol", str(protocol), "--out", str(out), *more]


def bench(protocol, out):
    code = "from portfolio.cli.app import main; main()"
    return [sys.executable, "-c", code, *options(protocol, out)]


@pytest.mark.slow
def test_a_killed_protocol_is_resumed(tmp_path):
    protocol = tmp_path / "p.toml"
    protocol.write_text(PROTOCOL)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    done = CliRunner().invoke(app, options(protocol, whole, "--workers", "1"))
    assert done.exit_code == 0, done.output
    assert "2 configurations on 1 data sets" in done.output
    [second] = second_opinions(logs.read(whole / logs.TABLE))
    assert f"cp confirmed 4 of 4 proofs, median {duration(second.median_s)}," in done.output
    process = subprocess.Popen(bench(protocol, parts), stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while time.monotonic() < until:
        written = sum(p.read_bytes().count(b"\n") for p in (parts / "logs").glob("*.jsonl"))
        if written > 4:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.0)
    had = len(logs.read(parts / "logs"))
    done = subprocess.run(bench(protocol, parts), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    one, two = logs.read(whole / logs.TABLE), logs.read(parts / logs.TABLE)
    assert 4 < had < len(one)
    assert set(one["run"]) == set(two["run"]) and len(one) == len(two)
    lines = [
        json.loads(line)["run"]
        for path in (parts / "logs").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(lines) == len(set(lines))
    again = CliRunner().invoke(app, options(protocol, parts))
    assert "0 runs finished" in again.output
    assert (parts / "figures" / "index.html").exists()


def here(job, tasks):
    for task in tasks:
        yield job.answer(task)


def test_second_opinions_can_be_asked_later(tmp_path):
    """Only they are missing of a campaign; the first answers are not logged again."""
    protocol = replace(
        Protocol(), datasets=("wine",), trees=(5,), depths=(3,), kinds=("xgb",), entries=("cp",)
    )

    def run(entries):
        plan = CampaignPlan(replace(protocol, entries=entries), None, tmp_path, here)
        return list(plan.runs())[-1]

    assert run(("cp",)) == "3 runs finished."
    assert run(("cp", "second-milp")) == "3 runs finished."
    frame = logs.read(tmp_path / "logs")
    assert logs.check(frame) == [] and list(frame["mode"]).count("second") == 3
    assert frame.groupby("query")["upper"].nunique().max() == 1
    (of,) = second_opinions(frame)
    assert (of.backend, of.asked, of.confirmed, of.contradicted) == ("milp", 3, 3, 0)


def test_only_slow_queries_are_solved_by_other_backends(tmp_path):
    protocol = replace(
        Protocol(), datasets=("breast-cancer",), trees=(20,), depths=(5,), kinds=("extra",),
        entries=("search", "cp"), time_limit_s=5.0,
    )  # fmt: skip

    def run(slow_s):
        list(CampaignPlan(replace(protocol, slow_s=slow_s), None, tmp_path, here).runs())
        frame = logs.read(tmp_path / "logs")
        return frame[frame["backend"] != "reduce"]["backend"].value_counts().to_dict()

    searched = run(1e6)
    assert searched == run(1e5) and set(searched) == {"search"}
    assert run(1e-9) == {"search": searched["search"], "cp": searched["search"]}


def test_an_interrupted_campaign_reports_its_logs_and_how_to_resume(tmp_path):
    protocol = replace(
        Protocol(), datasets=("wine",), trees=(5,), depths=(3,), kinds=("soft", "xgb"), queries=1
    )

    def interrupted(job, tasks):
        yield job.answer(next(tasks))
        raise KeyboardInterrupt

    console = Console(record=True, width=200)
    assert run_plan(CampaignPlan(protocol, None, tmp_path, interrupted), console) == 0
    text = console.export_text()
    assert "2 configurations on 1 data sets" in text and "runs finished" not in text
    assert "Interrupted: run the same command again to resume." in text
    assert f"logs: {tmp_path / logs.TABLE}" in text


def test_a_protocol_stops_when_records_cannot_be_written(tmp_path, monkeypatch):
    def full(folder, records):
        raise InputError("can't write logs to it: No space left on device.")

    monkeypatch.setattr("portfolio.engine.logbook.append", full)
    with pytest.raises(InputError, match=r"Make room on the disk, then repeat the command\."):
        list(CampaignPlan(load_protocol("quick"), None, tmp_path, here).runs())
