"""The benchmark: counts, ratios, agreement, and Ctrl-C keeps what is done."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from encoders.errors import InputError
from portfolio.benchmark import Plan, Run, disagreements, names, run_plan, size, summarise

PLAN = Plan(
    folder=None,
    only=("wine",),
    kinds=("soft", "hard", "xgb"),
    backends=("auto", "cp", "plain-cp"),
    trees=5,
    depth=3,
    queries=2,
    seed=0,
    norm="1",
    time_limit_s=30.0,
    threads=1,
)


def test_all_backends_answer_the_same_queries_and_agree():
    runs = []
    run_plan(PLAN, runs.append)
    assert len(runs) == size(PLAN) == 18
    assert disagreements(runs) == []
    for line in summarise(runs, "plain-cp"):
        assert line.proved == 1.0 and line.queries == 2
        assert line.ratio == 1.0 if line.backend == "plain-cp" else line.ratio > 0


def test_a_disagreement_is_found():
    run = Run("d", "soft", 1, "cp", "optimal", 0.1, 0.5, False, 3, 4)
    same = replace(run, backend="search")
    assert disagreements([run, same]) == []
    assert disagreements([run, replace(same, distance=0.4)])
    assert disagreements([run, replace(same, status="infeasible", distance=None)])
    assert disagreements([run, replace(same, status="feasible", distance=0.6)]) == []


def test_time_outs_count_at_the_limit():
    runs = [
        Run("d", "soft", q, b, "optimal", s, 0.5, False, 3, 4)
        for q in (1, 2, 3)
        for b, s in (("auto", 0.1), ("plain-cp", 5.0))
    ]
    lines = {line.backend: line for line in summarise(runs, "plain-cp")}
    assert lines["auto"].ratio == pytest.approx(50)


def test_unknown_names(tmp_path):
    with pytest.raises(InputError, match="no data set 'nix'"):
        names(replace(PLAN, only=("nix",)))
    with pytest.raises(InputError, match="no folder"):
        names(replace(PLAN, folder=tmp_path / "none"))
    with pytest.raises(InputError, match="unknown kind"):
        run_plan(replace(PLAN, kinds=("solid",)), lambda run: None)


def test_interrupt_keeps_what_is_done(tmp_path):
    run_plan(replace(PLAN, kinds=("soft",)), lambda run: None)  # compiled code is cached now
    out = tmp_path / "runs.json"
    command = [
        sys.executable, "-c", "from portfolio.cli import main; main()", "bench", "--only", "wine",
        "--trees", "60", "--queries", "150", "--backends", "auto", "--time-limit", "20",
        "--json", str(out),
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    time.sleep(25)
    process.send_signal(signal.SIGINT)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Interrupted" in text
    written = json.loads(out.read_text())["runs"]
    assert 0 < len(written) < 300
