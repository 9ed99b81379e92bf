"""Training logs: written by many, torn by crashes, read as one; protocols that resume."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields

import pandas as pd
import pytest
from typer.testing import CliRunner

from encoders.errors import InputError
from portfolio.campaign import run_campaign
from portfolio.cli import app
from portfolio.figures import draw_all
from portfolio.logbook import Logbook
from portfolio.protocol import PAPER, QUICK, configurations, load_protocol, run_id, size
from selector import aslib, logs
from selector.descriptors import EnsembleDescriptors
from selector.summary import per_backend


@pytest.fixture(scope="module")
def folder(explainer, credit, tmp_path_factory):
    """Logs of solo runs, races and sessions."""
    made = tmp_path_factory.mktemp("logs")
    rows = [row for _, row in credit[1].iterrows() if explainer.predict(row) == "refused"][:6]
    for row in rows:
        for backend in ("search", "cp"):
            explainer.explain(row, "granted", backend=backend, log=Logbook(made, "credit"))
            explainer.explain(row, "granted", backend=backend, reduce=False, log=made)
        explainer.explain(row, "granted", race=["search", "cp"], log=made)
    with explainer.session("granted", backend="cp") as session:
        for row in rows:
            session.explain(row, log=made)
    return made


def test_records_tell_what_happened(folder, explainer):
    frame = logs.read(folder)
    assert logs.check(frame) == []
    assert set(frame["mode"]) == {"solo", "plain", "race", "session"}
    assert set(frame["backend"]) <= {"search", "cp", "reduce"}
    assert frame["run"].is_unique
    assert set(frame.loc[frame["mode"] == "solo", "dataset"]) == {"credit"}
    assert (frame["status"] == "optimal").all() or frame["censored"].any()
    first = frame.iloc[0]
    kinds = [f.kind for f in explainer.features.features]
    assert (first["numeric"], first["categorical"]) == (kinds.count("numeric"), 1)
    assert (first["trees"], first["classes"]) == (8, 2)
    assert not first["votes"] and not first["boosted"]
    parts = frame[["pose_s", "reduce_s", "build_s", "solve_s", "verify_s"]].sum(axis=1)
    alone = frame["mode"] != "race"
    assert (parts[alone] <= frame.loc[alone, "total_s"] * 1.05 + 0.005).all()
    assert (frame.loc[frame["mode"] == "plain", "reduce_s"] == 0).all()
    whole = frame[frame["mode"] == "plain"]
    assert (frame["stop_s"].dropna() >= 0).all()
    assert (whole["left_options"] > 0).all() and (whole["peak_bytes"] > 10**7).all()


def test_records_without_the_newest_columns_are_read(folder, tmp_path):
    frame = logs.read(folder)
    frame.drop(columns="stop_s").to_parquet(tmp_path / "old.parquet")
    line = next(folder.glob("*.jsonl")).read_text().splitlines()[0]
    row = json.loads(line)
    del row["stop_s"]
    (tmp_path / "old.jsonl").write_text(json.dumps(row | {"run": "other"}) + "\n")
    again = logs.read(tmp_path)
    assert len(again) == len(frame) + 1 and again["stop_s"].isna().all()
    assert logs.check(again) == []


def test_an_interrupted_loser_is_censored(explainer, credit, tmp_path):
    frame = logs.read(_raced(explainer, credit, tmp_path))
    raced = frame[frame["mode"] == "race"]
    for _, group in raced.groupby("race"):
        assert (group["status"] == "optimal").any()
        losers = group[group["stop_reason"] == "interrupted"]
        assert losers["censored"].all() and losers["stop_s"].isna().all()
    assert not raced.loc[raced["stop_reason"] == "proved", "censored"].any()


def _raced(explainer, credit, folder):
    rows = [row for _, row in credit[1].iterrows() if explainer.predict(row) == "refused"][:8]
    for row in rows:
        explainer.explain(row, "granted", race=["cp:plain", "milp"], log=folder)
        explainer.explain(row, "granted", backend="cp", log=folder)
    return folder


def test_a_log_that_cannot_be_written_costs_no_answer(explainer, refused):
    with pytest.warns(UserWarning, match="can't write logs to /proc/nothing"):
        result = explainer.explain(refused, "granted", log="/proc/nothing")
    assert result.status == "optimal"


def test_torn_lines_are_skipped_and_told(folder, tmp_path):
    whole = next(iter(sorted(folder.glob("*.jsonl")))).read_bytes()
    path = tmp_path / f"{os.uname().nodename}-{os.getpid()}.jsonl"
    path.write_bytes(whole[:-200])
    count = whole.count(b"\n") - 1
    with pytest.warns(UserWarning, match="1 torn"):
        assert len(logs.read(tmp_path)) == count
    # Whoever goes on writing to the file closes the torn line first.
    logs.append(tmp_path, [])
    path.write_bytes(path.read_bytes() + whole.splitlines(keepends=True)[-1])
    with pytest.warns(UserWarning, match="1 torn"):
        assert len(logs.read(tmp_path)) == count + 1


def record(run):
    """Any record."""
    described = {f.name: 1 for f in fields(EnsembleDescriptors)}
    values = {f.name: "" for f in fields(logs.LogRecord)}
    numbers = [f.name for f in fields(logs.LogRecord) if f.type in ("int", "float", int, float)]
    values |= dict.fromkeys(numbers, 1) | {"verified": True, "censored": False}
    values |= {"ensemble": EnsembleDescriptors(**described), "left": None, "trace": ((0.1, 2, 1),)}
    return logs.LogRecord(**(values | {"run": run, "query": run, "status": "optimal"}))


def write(folder, number):
    """A process that appends records one by one."""
    for i in range(500):
        logs.append(folder, [record(f"{number}-{i}")])


def test_four_writers_lose_nothing(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=write, args=(tmp_path, i)) for i in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(list(tmp_path.glob("*.jsonl"))) == 4
    frame = logs.read(tmp_path)
    assert len(frame) == 2000 and frame["run"].is_unique
    path = logs.compact(tmp_path)
    again = logs.read(tmp_path)
    pd.testing.assert_frame_equal(
        again.sort_values("run", ignore_index=True), frame.sort_values("run", ignore_index=True)
    )
    assert len(logs.read(path)) == 2000


def test_merging_keeps_each_run_once(folder, tmp_path):
    count = len(logs.read(folder))
    assert logs.merge([folder, folder], tmp_path / "a.parquet") == count
    assert logs.merge([tmp_path / "a.parquet", folder], tmp_path / "b.parquet") == count
    pd.testing.assert_frame_equal(
        logs.read(tmp_path / "a.parquet"), logs.read(tmp_path / "b.parquet")
    )


def test_wrong_records_are_found(folder):
    frame = logs.read(folder)
    broken = frame.copy()
    broken.loc[0, "upper"] *= 1.5
    assert "disagree" in " ".join(logs.check(broken))
    broken = frame.copy()
    broken.loc[0, "solve_s"] = -1.0
    broken.loc[1, "status"] = "perhaps"
    broken.loc[2, "verified"] = False
    told = " ".join(logs.check(broken))
    for words in ("negative seconds", "unknown status", "not verified"):
        assert words in told


def test_other_schemas_are_refused(folder, tmp_path):
    row = json.loads(next(iter(folder.glob("*.jsonl"))).read_text().splitlines()[0])
    (tmp_path / "x.jsonl").write_text(json.dumps(row | {"schema": 99}) + "\n")
    with pytest.raises(InputError, match="schema 99"):
        logs.read(tmp_path)
    with pytest.raises(InputError, match="no logs at"):
        logs.read(tmp_path / "nothing")


def test_summaries(folder):
    frame = logs.read(folder)
    lines = {(line.mode, line.backend): line for line in per_backend(frame)}
    assert lines["plain", "cp"].proved == 1.0


def test_aslib(folder, tmp_path):
    frame = logs.read(folder)
    frame["mode"] = frame["mode"].replace("plain", "solo")
    count = aslib.export(frame, tmp_path)
    runs = (tmp_path / "algorithm_runs.arff").read_text().split("@DATA\n")[1].splitlines()
    assert count > 0 and len(runs) >= count
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "description.txt", "algorithm_runs.arff", "feature_values.arff", "feature_costs.arff",
        "cv.arff",
    }  # fmt: skip


def test_figures(folder, tmp_path):
    page = draw_all(logs.read(folder), tmp_path)
    assert page.read_text().count("<img") >= 3
    for name in ("cactus", "parts", "left"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()


def test_the_command_line(folder, tmp_path):
    def run(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    shown = run("logs", "show", folder)
    assert shown.exit_code == 0 and "session" in shown.output
    assert run("logs", "check", folder).exit_code == 0
    assert run("logs", "merge", folder, "--out", tmp_path / "m.parquet").exit_code == 0
    assert run("figures", tmp_path / "m.parquet", "--out", tmp_path / "f").exit_code == 0
    assert (tmp_path / "f" / "index.html").exists()


def test_the_paper_protocol():
    datasets = ["AD", "BC"]
    every = configurations(PAPER, datasets)
    assert every == configurations(PAPER, datasets) and len(set(every)) == len(every)
    first = [c for c in every if c.dataset == "AD" and c.seed == 0 and c.kind == "soft"]
    assert {c.depth for c in first if c.trees == 100} == {3, 4, 5, 6, 7, 8}
    assert {c.trees for c in first if c.depth == 5} == {10, 20, 50, 100, 200, 500}
    assert {c.norm for c in first} == {"0", "1", "2"} and any(c.plausible for c in first)
    assert size(PAPER, datasets) == (len(every), len(every) * 50 * len(PAPER.entries))
    ids = {run_id(QUICK, c, q, e) for c in every[:20] for q in range(3) for e in QUICK.entries}
    assert len(ids) == 20 * 3 * len(QUICK.entries)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tree = [1]", "no setting 'tree'"),
        ("trees = 5", "must be a list"),
        ("kinds = ['xgboost']", "known are soft, hard, xgb"),
        ("trees = [", "is no TOML"),
    ],
)
def test_bad_protocols(tmp_path, text, message):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        load_protocol(str(path))
    with pytest.raises(InputError, match="known are paper, quick"):
        load_protocol("slow")


PROTOCOL = """
datasets = ["wine"]
trees = [10]
depths = [3]
kinds = ["soft", "hard", "xgb"]
norms = ["0", "1"]
queries = 2
entries = ["search", "cp", "plain-cp", "session-cp"]
time_limit_s = 20.0
"""


def bench(protocol, out):
    code = "from portfolio.cli import main; main()"
    return [sys.executable, "-c", code, "bench", "--protocol", str(protocol), "--out", str(out)]


def test_a_killed_protocol_is_resumed(tmp_path):
    protocol = tmp_path / "p.toml"
    protocol.write_text(PROTOCOL)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    done = subprocess.run(bench(protocol, whole), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 configurations on 1 data sets" in done.stdout
    process = subprocess.Popen(bench(protocol, parts), stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while time.monotonic() < until:
        written = sum(p.read_bytes().count(b"\n") for p in (parts / "logs").glob("*.jsonl"))
        if written > 8:
            break
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    time.sleep(1.0)
    had = len(logs.read(parts / "logs"))
    done = subprocess.run(bench(protocol, parts), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    one, two = logs.read(whole / logs.TABLE), logs.read(parts / logs.TABLE)
    assert 8 < had < len(one)
    assert set(one["run"]) == set(two["run"]) and len(one) == len(two)
    lines = [
        json.loads(line)["run"]
        for path in (parts / "logs").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(lines) == len(set(lines))
    again = subprocess.run(bench(protocol, parts), capture_output=True, text=True)
    assert "0 runs made" in again.stdout
    assert (parts / "figures" / "index.html").exists()


def test_own_norms_are_questions_of_their_own(explainer, refused, tmp_path):
    for factor in (1.0, 5.0):
        explainer.explain(refused, norm=lambda f, a, b, k=factor: k * (a != b), log=tmp_path)
    frame = logs.read(tmp_path)
    assert frame["query"].nunique() == 2 and logs.check(frame) == []


def test_records_that_lack_fields_are_skipped(folder, tmp_path):
    line = next(iter(folder.glob("*.jsonl"))).read_text().splitlines()[0]
    (tmp_path / "x.jsonl").write_text(line + '\n{"schema": 1, "run": "a"}\n')
    with pytest.warns(UserWarning, match="1 torn"):
        assert len(logs.read(tmp_path)) == 1
    pd.DataFrame({"schema": [1]}).to_parquet(tmp_path / "y.parquet")
    with pytest.raises(InputError, match="lacks the column"):
        logs.read(tmp_path / "y.parquet")


@pytest.mark.parametrize(
    "line",
    [
        'time_limit_s = "x"', "time_limit_s = -1", 'queries = "a"', "queries = 0", "threads = 0",
        "sample = -1", 'entries = ["nope"]', 'entries = ["session-search"]', 'seeds = ["x"]',
        'plausible = ["yes"]', 'cross = "no"', "trees = 5",
    ],
)  # fmt: skip
def test_wrong_protocols_are_refused(tmp_path, line):
    path = tmp_path / "p.toml"
    path.write_text(line)
    with pytest.raises(InputError, match=line.split()[0]):
        load_protocol(str(path))


def test_a_protocol_stops_when_records_cannot_be_written(tmp_path, monkeypatch):
    def full(folder, records):
        raise InputError("can't write logs to it: No space left on device.")

    monkeypatch.setattr("portfolio.logbook.append", full)
    protocol = load_protocol("quick")

    def here(job, tasks):
        for task in tasks:
            yield job.answer(task)

    with pytest.raises(InputError, match="Make room"):
        run_campaign(protocol, None, tmp_path, here, None, lambda done, total, wrong: None)
