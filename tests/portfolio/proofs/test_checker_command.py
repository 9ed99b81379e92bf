"""The checker as a command: files, words, signals."""

import gzip
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from xgboost import XGBClassifier

import portfolio.checker
from counterfolio import Explainer
from portfolio.checker import main
from tests.support.claims import boxes, claimed, column, xgboost_of


def test_a_record_writes_no_lines_of_its_own(tmp_path, monkeypatch, capsys):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    model.save_model(tmp_path / "model.json")
    record = claimed(model, [0], [column()])
    record |= {"proof": None, "why_no_proof": "none\n2: verified: \x1b[2Jall"}
    (tmp_path / "a.json").write_text(json.dumps(record))
    told = ["counterfolio-check", str(tmp_path / "a.json"), "--model", str(tmp_path / "model.json")]
    monkeypatch.setattr(sys, "argv", told)
    assert main() == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("1: not verified") and "\x1b" not in line


@pytest.mark.slow
def test_ctrl_c_ends_it_at_once(tmp_path):
    model = xgboost_of([(k % 17, 0.5, -1.0, 1.0) for k in range(30)], 17)
    model.save_model(tmp_path / "model.json")
    asked = {"query": [0] * 17, "columns": [column()] * 17, "below": 0.1}
    record, quick = claimed(model, **asked, steps=boxes(17)), claimed(model, **asked)
    (tmp_path / "a.jsonl").write_text(f"{json.dumps(quick)}\n{json.dumps(record)}\n")
    words = [tmp_path / "a.jsonl", "--model", tmp_path / "model.json"]
    process = subprocess.Popen(
        [sys.executable, "-u", portfolio.checker.__file__, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert process.stdout.readline().startswith("1: verified")
    time.sleep(0.5)  # Python loses a signal that arrives while XGBoost deletes a model just read
    pressed = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 130 and time.monotonic() - pressed < 10
    assert said == "counterfolio-check: interrupted; the remaining records were not checked\n"


@pytest.mark.parametrize("name", ["model.pkl", "model.skops", "model.json"])
def test_a_model_that_cant_be_read_is_told_in_a_line(tmp_path, monkeypatch, capsys, name):
    (tmp_path / name).write_text("no model")
    (tmp_path / "a.json").write_text("{}")
    told = ["counterfolio-check", str(tmp_path / "a.json"), "--model", str(tmp_path / name)]
    monkeypatch.setattr(sys, "argv", [*told, "--trust-pickle"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("counterfolio-check: ")


def test_files_hold_one_record_a_line_or_one_in_all(tmp_path, monkeypatch, capsys):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    model.save_model(tmp_path / "model.json")
    record = claimed(model, [0], [column()], below=0.1)
    one, many = json.dumps(record, indent=1), f"{json.dumps(record)}\n\n{json.dumps(record)}\n"
    for name, text, code, told in (
        ("a.json", one, 0, "1: verified"),
        ("a.jsonl", many, 0, "3: verified"),
        ("b.json", many, 1, "invalid record"),
        ("c.json", '{"version": 2}', 1, "not version 5"),
        ("d.json", "[" * 100_000, 1, "invalid record"),
        ("e.jsonl", " \n", 2, "contains no record"),
    ):
        (tmp_path / name).write_text(text)
        words = [str(tmp_path / name), "--model", str(tmp_path / "model.json")]
        monkeypatch.setattr(sys, "argv", ["counterfolio-check", *words])
        assert main() == code, name
        assert told in "".join(capsys.readouterr()), name


def test_files_that_are_no_records_end_soon_and_in_a_line(tmp_path, monkeypatch, capsys):
    model = tmp_path / "model.json"
    XGBClassifier(n_estimators=1).fit([[0.0], [1.0]], [0, 1]).save_model(model)

    def told(name, content, of=model):
        (tmp_path / name).write_bytes(content)
        words = ["counterfolio-check", str(tmp_path / name), "--model", str(of)]
        monkeypatch.setattr("sys.argv", words)
        code, said = main(), capsys.readouterr()
        return code, said.out.splitlines(), said.err.splitlines()

    monkeypatch.setattr("portfolio.checker.MOST_VALUES", 10)
    code, out, err = told("blank.jsonl.gz", gzip.compress(b"\n" * 100))
    assert (code, out, len(err)) == (2, [], 1) and "too large" in err[0]
    code, out, err = told("few.jsonl", b"\n\n")
    assert (code, out) == (2, []) and "no record" in err[0]
    code, out, err = told("ones.jsonl.gz", gzip.compress(b"1\n" * 100))
    assert (code, len(out), len(err)) == (2, 10, 1) and "too large" in err[0]
    monkeypatch.setattr("portfolio.checker.MOST_BYTES", 10)
    code, out, err = told("large.json.gz", gzip.compress(b" " * 10 + b"1" * 90))
    assert (code, out, len(err)) == (2, [], 1) and "too large" in err[0]
    (tmp_path / "cut.json").write_bytes(model.read_bytes()[:50])
    code, out, err = told("one.json", b"{}", tmp_path / "cut.json")
    assert (code, out, len(err)) == (2, [], 1)


def test_a_skops_file_needs_no_flag_unless_it_holds_other_types(tmp_path, monkeypatch, capsys):
    X = np.random.default_rng(0).normal(size=(80, 3)).round(2)
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, X[:, 0] > X[:, 1])
    Explainer(forest, X).explain(X[0]).record().write(tmp_path / "r.json")
    skops.io.dump(forest, tmp_path / "plain.skops")
    skops.io.dump(make_pipeline(forest, Strange()), tmp_path / "strange.skops")
    for name, code, told in (("plain", 0, "1: verified"), ("strange", 2, "add --trust-pickle")):
        words = [str(tmp_path / "r.json"), "--model", str(tmp_path / f"{name}.skops")]
        monkeypatch.setattr(sys, "argv", ["counterfolio-check", *words])
        assert main() == code
        assert told in "".join(capsys.readouterr())


class Strange:
    """An object of a type that a file must not load unasked."""


def test_formats_without_a_proof_are_taken_and_others_named(tmp_path, monkeypatch, capsys):
    model = xgboost_of([(0, 0.5, -1.0, 1.0)], 1)
    with_proof = claimed(model, [0], [column()], below=0.1)
    without = with_proof | {"proof": None, "why_no_proof": "models of LightGBM are not supported"}
    (tmp_path / "with.json").write_text(json.dumps(with_proof))
    (tmp_path / "without.json").write_text(json.dumps(without))
    for name, record, code, told in (
        ("m.txt", "without", 1, "has no proof"),
        ("m.txt", "with", 1, "type LightGBM are not supported"),
        ("m.cbm", "with", 1, "type CatBoost are not supported"),
        ("m.json", "with", 2, "is not an XGBoost classifier"),
        ("m.onnx", "with", 2, "format '.onnx' are not supported; give .json"),
    ):
        (tmp_path / name).write_text('{"trees": 1}')
        words = [str(tmp_path / f"{record}.json"), "--model", str(tmp_path / name)]
        monkeypatch.setattr(sys, "argv", ["counterfolio-check", *words])
        assert main() == code
        assert told in "".join(capsys.readouterr())
