"""Runs of ``counterfolio batch``: interrupted, resumed, and reported on a console."""

import io
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.batch.answer_log import LINES, TABLE, AnswerLog
from portfolio.batch.job import FIELDS
from portfolio.cli.app import app
from portfolio.cli.batch_report import progress_in_lines
from tests.support.answers import lines, same
from tests.support.processes import batch_workers, command

pytestmark = pytest.mark.usefixtures("forked_children")


def batch_options(data, out, *more):
    return [
        "batch", "--dataset", str(data), "--train", "forest", "--trees", "60", "--depth", "5",
        "--out", str(out), *more,
    ]  # fmt: skip


def batch_command(data, out, *more):
    code = "from portfolio.cli.app import main; main()"
    return [sys.executable, "-c", code, *batch_options(data, out, *more)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "signals",
    [
        [signal.SIGKILL],
        pytest.param([signal.SIGINT, signal.SIGKILL], marks=pytest.mark.large),
    ],
    ids=["killed", "interrupted, then killed"],
)
def test_the_command_stopped_and_resumed(loans, tmp_path, signals):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    done = CliRunner().invoke(app, batch_options(loans, whole, "--workers", "1"))
    assert done.exit_code == 0, done.output
    assert "120 rows: 120 optimal" in done.output
    for sign in signals:
        process = subprocess.Popen(
            batch_command(loans, parts, "--resume"), stdout=subprocess.PIPE, text=True
        )
        had = len(lines(parts)) if (parts / LINES).exists() else 0
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if (parts / LINES).exists() and (parts / LINES).read_bytes().count(b"\n") > had + 5:
                break
            time.sleep(0.005)
        workers = batch_workers(process.pid)
        process.send_signal(sign)
        process.wait(timeout=60)
        assert had + 5 < len(lines(parts)) < 120
        assert process.returncode == (3 if sign == signal.SIGINT else -9)
        left = time.monotonic() + 30
        while any("work_process" in command(pid) for pid in workers):
            assert time.monotonic() < left, "a worker outlived its parent"
            time.sleep(0.05)
    done = subprocess.run(batch_command(loans, parts, "--resume"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    same(pd.read_parquet(parts / TABLE), pd.read_parquet(whole / TABLE))
    keys = [record["key"] for record in lines(parts)]
    assert len(keys) == len(set(keys)) == len(lines(whole))


@pytest.mark.slow
def test_rows_from_a_file(loans, tmp_path):
    raw = pd.read_csv(loans, skiprows=[1, 2]).drop(columns="Class").iloc[:6]
    raw.to_csv(tmp_path / "rows.csv", index=False)
    raw.to_parquet(tmp_path / "rows.parquet")
    frames = []
    for name in ("rows.csv", "rows.parquet"):
        out = tmp_path / name.replace(".", "-")
        more = ("--input", str(tmp_path / name), "--norm", "0", "--workers", "1")
        done = CliRunner().invoke(app, batch_options(loans, out, *more))
        assert done.exit_code == 0, done.output
        frames.append(pd.read_parquet(out / TABLE))
    same(*frames)
    assert len(frames[0]) == 6


@pytest.mark.slow
def test_a_row_of_a_file_that_cannot_be_encoded_is_told(tmp_path):
    data = tmp_path / "d.csv"
    lines = [f"{i},{'xyz'[i % 3]},{int(i > 20)}" for i in range(40)]
    data.write_text("age,job,label\nN,C,B\nFREE,FREE,PREDICT\n" + "\n".join(lines))
    asked = tmp_path / "rows.csv"
    asked.write_text("age,job\n3,x\nold,y\n5,q\n,z\n30,y\n")
    words = ["batch", "--dataset", data, "--train", "forest", "--trees", 3, "--input", asked,
             "--out", tmp_path / "out", "--log", tmp_path / "log"]  # fmt: skip
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 3, done.output
    frame = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    assert (frame["status"] == "optimal").tolist() == [True, False, False, False, True]
    for place, word in ((1, "'old'"), (2, "job"), (3, "missing")):
        assert word in frame.loc[place, "message"]
    assert any((tmp_path / "log").iterdir())


def test_a_line_now_and_then_where_there_is_no_terminal():
    console = Console(file=io.StringIO(), width=200)
    with progress_in_lines(40, console, every_s=0.01) as on_answer:
        on_answer(10, 40)
        while "10 of 40 rows" not in console.file.getvalue():
            time.sleep(0.01)
    assert console.file.getvalue().startswith("explaining 40 rows")


def test_a_folder_in_use_is_refused_before_anything_is_read(loans, tmp_path):
    options = ["batch", "--dataset", "nothing.csv", "--train", "forest", "--out", str(tmp_path)]
    held = AnswerLog(tmp_path, False, FIELDS)
    try:
        with pytest.raises(InputError, match="another batch"):
            CliRunner().invoke(app, options, catch_exceptions=False)
    finally:
        held.close()
    (tmp_path / LINES).write_text("{}\n")
    with pytest.raises(InputError, match="Resume it"):
        CliRunner().invoke(app, options, catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_batch_that_a_script_began_with_its_table(loans, tmp_path, number):
    """Scripts start what runs in the background with SIGINT ignored."""
    raw = pd.read_csv(loans, skiprows=[1, 2]).drop(columns="Class")
    pd.concat([raw] * 40).to_csv(tmp_path / "rows.csv", index=False)  # more than are soon answered
    options = [
        *("batch", "--dataset", str(loans), "--train", "forest", "--trees", "30"),
        *("--input", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "out")),
    ]
    code = (
        "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "import os; from portfolio.cli.app import main; "
        "sys.argv = ['counterfolio', *sys.argv[1:]]; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, *options],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    path = tmp_path / "out" / LINES
    while not (path.exists() and path.read_bytes().count(b"\n") >= 3):
        assert process.poll() is None, process.stdout.read()
        time.sleep(0.01)
    process.send_signal(number)
    output = process.communicate(timeout=60)[0]
    assert process.returncode == 3, output
    frame = pd.read_parquet(tmp_path / "out" / TABLE)
    assert (frame["stop_reason"] == "interrupted").any() and (frame["status"] == "optimal").any()
    assert "Traceback" not in output and "interrupted" in output
