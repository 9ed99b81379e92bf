"""Batches: every row answered once, whatever dies, fills up, or is interrupted on the way."""

import io
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

from encoders.constraints import Fixed
from encoders.errors import InputError
from portfolio.batch import BatchError, Limits, Rows, _Batch, _Store
from portfolio.batch_job import failure
from portfolio.batch_log import LINES, TABLE, AnswerLog
from portfolio.batch_report import _lines
from portfolio.cli import app
from portfolio.fingerprint import fingerprint
from portfolio.frames import read_row, read_rows
from portfolio.local import LocalExecutor
from tests.test_cli import table as loans  # noqa: F401
from tests.test_workers import command

SETTLED = ["id", "status", "stop_reason", "distance", "target", "changed", "message"]


@pytest.fixture(scope="module")
def rows(credit):
    return credit[1].iloc[:40]


@pytest.fixture(scope="module")
def expected(explainer, rows):
    return explainer.explain_batch(rows)


def same(frame, expected):
    """Equal but for times, and for what answered."""
    pd.testing.assert_frame_equal(frame[SETTLED], expected[SETTLED])
    found = [name for name in expected.columns if name.startswith("cf_")]
    pd.testing.assert_frame_equal(frame[found], expected[found])


def lines(folder):
    return [json.loads(line) for line in (folder / LINES).read_text().splitlines()]


def helpers(parent):
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True, text=True
    )
    return [int(p) for p in listed.stdout.split() if "batch_main" in command(int(p))]


def test_a_batch_answers_like_explain(explainer, credit, rows, expected):
    model, _ = credit
    assert list(expected["id"]) == list(rows.index)
    for (_, x), (_, answer) in zip(rows.iterrows(), expected.iterrows(), strict=True):
        alone = explainer.explain(x)
        assert (answer["status"], answer["target"]) == (alone.status, alone.target)
        assert answer["distance"] == pytest.approx(alone.distance, rel=1e-9)
        assert answer["changed"] == ", ".join(change.feature for change in alone.changed)
    found = expected[[f"cf_{name}" for name in rows.columns]].set_axis(rows.columns, axis=1)
    assert (model.predict(found) == expected["target"]).all()
    assert (model.predict(found) != model.predict(rows)).all()


def test_what_comes_is_kept_and_nothing_is_asked_twice(explainer, rows, expected, tmp_path):
    twice = pd.concat([rows, rows.iloc[:10]])
    seen = []
    frame = explainer.explain_batch(
        twice, out=tmp_path, on_answer=lambda answered, n: seen.append((answered, n))
    )
    same(frame.iloc[:40], expected)
    assert len(lines(tmp_path)) == 40 and seen[-1] == (50, 50)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / TABLE), frame)
    again = explainer.explain_batch(
        rows, out=tmp_path, resume=True, on_answer=lambda *counts: pytest.fail("asked again")
    )
    same(again, expected)
    with pytest.raises(InputError, match="earlier run"):
        explainer.explain_batch(rows, out=tmp_path)
    other = explainer.explain_batch(rows.iloc[:5], norm=0, out=tmp_path, resume=True)
    assert set(other["distance"]) <= {0.0, 1.0, 2.0, 3.0} and len(lines(tmp_path)) == 45


def test_rows_that_fail_have_a_reason(explainer, rows, expected):
    broken = rows.astype(object)
    broken.iloc[3, 1] = np.nan
    broken.iloc[7, 0] = "old"
    frame = explainer.explain_batch(broken)
    for place, word in ((3, "missing (NaN)"), (7, "'old'")):
        assert frame.loc[place, "status"] == "unknown"
        assert frame.loc[place, "stop_reason"] == "error"
        assert word in frame.loc[place, "message"]
    good = [i for i in range(40) if i not in (3, 7)]
    pd.testing.assert_frame_equal(frame.loc[good, SETTLED], expected.loc[good, SETTLED])


def test_a_deadline_returns_what_is_done(explainer, rows, expected, tmp_path):
    frame = explainer.explain_batch(rows, deadline_s=0.05, out=tmp_path)
    assert len(frame) == 40 and set(frame["stop_reason"]) == {"deadline"}
    same(explainer.explain_batch(rows, out=tmp_path, resume=True), expected)


def test_a_killed_worker_loses_no_row(explainer, rows, expected):
    killed = []

    def kill(answered, n):
        if answered in (5, 20):
            killed.extend(helpers(os.getpid()))
            for pid in killed[-2:]:
                os.kill(pid, signal.SIGKILL)

    same(explainer.explain_batch(rows, executor=LocalExecutor(2), on_answer=kill), expected)
    assert len(killed) >= 2
    assert helpers(os.getpid()) == []


def test_a_full_disk_loses_nothing_that_was_written(explainer, rows, expected, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        with pytest.raises(BatchError, match="can't write the answers: File too large") as full:
            explainer.explain_batch(rows, out=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    kept = lines(tmp_path)
    assert 0 < len(kept) < 40
    answered = full.value.frame["status"] == "optimal"
    assert len(kept) < answered.sum() < 40
    same(explainer.explain_batch(rows, out=tmp_path, resume=True), expected)
    assert len({record["key"] for record in lines(tmp_path)}) == len(lines(tmp_path)) == 40


def test_a_torn_line_is_cut_off(explainer, rows, expected, tmp_path):
    explainer.explain_batch(rows.iloc[:10], out=tmp_path)
    with (tmp_path / LINES).open("a") as file:
        file.write('{"key": "abc", "stat')
    same(explainer.explain_batch(rows, out=tmp_path, resume=True), expected)
    assert len(lines(tmp_path)) == 40
    (tmp_path / LINES).write_text("not ours\n")
    with pytest.raises(InputError, match="damaged at byte 0"):
        explainer.explain_batch(rows, out=tmp_path, resume=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": lambda feature, before, after: 1.0}, "can't be sent to workers"),
        ({"resume": True}, "without the folder"),
        ({"executor": "cloud"}, "'local', 'ray'"),
        ({"backend": "nobody"}, "no backend 'nobody'"),
        ({"target": "maybe"}, "unknown target"),
        ({"deadline_s": -1}, "above 0"),
        ({"out": "/proc/nothing"}, "can't write to /proc/nothing"),
    ],
)
def test_bad_settings_are_told_in_a_sentence(explainer, rows, options, message):
    with pytest.raises(InputError, match=message):
        explainer.explain_batch(rows, **options)


def test_other_columns_are_refused(explainer, rows):
    with pytest.raises(InputError, match="lacks 'age'"):
        explainer.explain_batch(rows.drop(columns="age"))
    with pytest.raises(InputError, match="takes 6"):
        explainer.explain_batch(np.zeros((3, 5)))


def batch_command(data, out, *more):
    code = "from portfolio.cli import main; main()"
    return [
        sys.executable, "-c", code, "batch", "--dataset", str(data), "--train", "forest",
        "--trees", "60", "--depth", "5", "--out", str(out), *more,
    ]  # fmt: skip


def test_the_command_stopped_and_resumed(loans, tmp_path):  # noqa: F811
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    done = subprocess.run(batch_command(loans, whole), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "120 rows: 120 optimal" in done.stdout
    for sign in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(
            batch_command(loans, parts, "--resume"), stdout=subprocess.PIPE, text=True
        )
        had = len(lines(parts)) if (parts / LINES).exists() else 0
        until = time.monotonic() + 120
        while time.monotonic() < until:
            if (parts / LINES).exists() and (parts / LINES).read_bytes().count(b"\n") > had + 5:
                break
            time.sleep(0.005)
        workers = helpers(process.pid)
        process.send_signal(sign)
        process.wait(timeout=60)
        assert had + 5 < len(lines(parts)) < 120
        assert process.returncode == (3 if sign == signal.SIGINT else -9)
        left = time.monotonic() + 30
        while any("batch_main" in command(pid) for pid in workers):
            assert time.monotonic() < left, "a worker outlived its parent"
            time.sleep(0.05)
    done = subprocess.run(batch_command(loans, parts, "--resume"), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    same(pd.read_parquet(parts / TABLE), pd.read_parquet(whole / TABLE))
    keys = [record["key"] for record in lines(parts)]
    assert len(keys) == len(set(keys)) == len(lines(whole))


def test_rows_from_a_file(loans, tmp_path):  # noqa: F811
    raw = pd.read_csv(loans, skiprows=[1, 2]).drop(columns="Class").iloc[:6]
    raw.to_csv(tmp_path / "rows.csv", index=False)
    raw.to_parquet(tmp_path / "rows.parquet")
    frames = []
    for name in ("rows.csv", "rows.parquet"):
        out = tmp_path / name.replace(".", "-")
        more = ("--input", str(tmp_path / name), "--norm", "0", "--workers", "1")
        done = subprocess.run(batch_command(loans, out, *more), capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        frames.append(pd.read_parquet(out / TABLE))
    same(*frames)
    assert len(frames[0]) == 6


def scaled(k, feature, before, after):
    return k * abs(after - before)


class Scaled:
    def __init__(self, k):
        self.k = k

    def __call__(self, feature, before, after):
        return self.k * abs(after - before)


FACTOR = 1.0


def by_global(feature, before, after):
    return FACTOR * abs(after - before)


def closed_over(k):
    return lambda feature, before, after: k * abs(after - before)


def test_fingerprints_tell_functions_apart(monkeypatch):
    made = [make(k) for make in (lambda k: partial(scaled, k), Scaled, closed_over) for k in (1, 5)]
    assert len({fingerprint(norm) for norm in made}) == 6
    assert fingerprint(partial(scaled, 1)) == fingerprint(partial(scaled, 1))
    assert fingerprint(Scaled(2)) == fingerprint(Scaled(2))
    before = fingerprint(by_global)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert fingerprint(by_global) != before


def test_another_norm_is_asked_anew(explainer, rows, tmp_path):
    asked = {"out": tmp_path, "executor": LocalExecutor(1)}
    first = explainer.explain_batch(rows.head(3), norm=partial(scaled, 1.0), **asked)
    again = explainer.explain_batch(rows.head(3), norm=partial(scaled, 5.0), resume=True, **asked)
    assert again["distance"].to_numpy() == pytest.approx(5 * first["distance"].to_numpy())


def test_settings_are_refused_before_anyone_is_asked(explainer, rows, tmp_path):
    for wrong in ({"norm": "x"}, {"scale": "x"}, {"weights": [1]}, {"constraints": [Fixed("x")]}):
        with pytest.raises(InputError):
            explainer.explain_batch(rows, out=tmp_path, **wrong)
    with pytest.raises(InputError, match="can't write logs"):
        explainer.explain_batch(rows, log="/proc/nothing")
    assert not any(tmp_path.iterdir())


def test_one_batch_a_folder(explainer, rows, tmp_path):
    held = AnswerLog(tmp_path, False)
    with pytest.raises(InputError, match="another batch is writing"):
        explainer.explain_batch(rows.head(2), out=tmp_path, resume=True)
    held.close()
    assert len(explainer.explain_batch(rows.head(2), out=tmp_path, resume=True)) == 2


def test_labels_that_no_table_holds_become_text(explainer, rows, tmp_path):
    odd = rows.head(3).set_axis(pd.Index([1, "a", None]))
    assert list(explainer.explain_batch(odd, out=tmp_path)["id"]) == ["1", "a", "None"]


def test_no_limit_is_a_long_limit(explainer, rows):
    frame = explainer.explain_batch(
        rows.head(2), per_query_limit_s=math.inf, executor=LocalExecutor(1)
    )
    assert set(frame["stop_reason"]) == {"proved"}


def test_functions_of_a_script_are_refused_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from sklearn.tree import DecisionTreeClassifier\n"
        "from portfolio import Explainer, InputError\n"
        "def cost(feature, before, after): return abs(after - before)\n"
        "if __name__ == '__main__':\n"
        "    X = np.arange(20.0).reshape(10, 2)\n"
        "    e = Explainer(DecisionTreeClassifier().fit(X, [0, 1] * 5), X)\n"
        "    try: e.explain_batch(X, norm=cost)\n"
        "    except InputError as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)
    assert "of a module that can be imported there" in done.stdout, done.stderr


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


def test_rows_are_counted_as_they_come_however_many(explainer, credit):
    """Counting all rows anew at every answer made a batch quadratic."""
    rows = Rows(credit[1].index, tuple(credit[1].columns), list(credit[1].to_numpy()))
    keys = [str(place // 2) for place in range(len(rows.values))]
    store = _Store(None, False)
    batch = _Batch(rows, keys, store, 0.0, Limits(1.0, None))
    for place in (0, 1, 0):
        batch.keep(failure(str(place), "done"))
    assert batch.answered() == 4
    again = _Batch(rows, keys, store, 0.0, Limits(1.0, None))
    assert again.answered() == 4


def test_rows_read_at_once_are_those_read_one_by_one(explainer, credit):
    frame = pd.concat([credit[1]] * 2, ignore_index=True).astype(object)
    for place, (column, value) in enumerate(
        [("age", "33"), ("age", 33.5), ("age", "old"), ("income", np.inf), ("income", 1e300),
         ("home_own", 2.0), ("employed", True), ("income", None), ("age", 10**400)]
    ):  # fmt: skip
        frame.loc[place, column] = value
    space = explainer.features
    _, _, found = read_rows(frame, space, np.dtype(np.float32))
    for place, values in enumerate(frame.to_numpy()):
        try:
            expected = read_row(values, space, np.dtype(np.float32)).values
        except InputError as error:
            expected = str(error)
        if isinstance(expected, str):
            assert found[place] == expected
        else:
            np.testing.assert_array_equal(found[place], expected)


def test_a_line_now_and_then_where_there_is_no_terminal():
    console = Console(file=io.StringIO(), width=200)
    with _lines(40, console, every_s=0.01) as on_answer:
        on_answer(10, 40)
        while "10 of 40 rows" not in console.file.getvalue():
            time.sleep(0.01)
    assert console.file.getvalue().startswith("explaining 40 rows")


def test_a_folder_in_use_is_refused_before_anything_is_read(loans, tmp_path):  # noqa: F811
    options = ["batch", "--dataset", "nothing.csv", "--train", "forest", "--out", str(tmp_path)]
    held = AnswerLog(tmp_path, resume=False)
    try:
        with pytest.raises(InputError, match="another batch"):
            CliRunner().invoke(app, options, catch_exceptions=False)
    finally:
        held.close()
    (tmp_path / LINES).write_text("{}\n")
    with pytest.raises(InputError, match="resume it"):
        CliRunner().invoke(app, options, catch_exceptions=False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_batch_that_a_script_began_with_its_table(loans, tmp_path, number):  # noqa: F811
    """Scripts start what runs in the background with SIGINT ignored."""
    options = [
        *("batch", "--dataset", str(loans), "--train", "forest", "--trees", "30"),
        *("--out", str(tmp_path / "out")),
    ]
    code = (
        "import signal, subprocess, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        "import portfolio.cli, os; sys.argv = ['counterfolio', *sys.argv[1:]]; "
        "portfolio.cli.main()"
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
