"""Options are checked before data or a model is read; a hint names features that may be fixed."""

import subprocess
import sys

import pandas as pd
import pytest
from sklearn.datasets import make_classification
from typer.testing import CliRunner

from portfolio.cli.app import app, main

WRONG = {
    "norm": (["--norm", "foo"], "unknown norm 'foo'"),
    "scale": (["--scale", "foo"], "unknown scale"),
    "strategy": (["--strategy", "foo"], "unknown backend 'foo'"),
    "time": (["--time-limit", "-1"], "must be above 0 seconds"),
    "threads": (["--threads", "0"], "threads must be at least 1"),
    "score": (["--score", "a"], "--score a cannot be read. Write low:high"),
    "range": (["--range", "a"], "--range"),
    "changes": (["--train", "tree"], "--train tree is unknown. Use one of"),
    "features": (["--features", "no.json"], "no.json"),
    "constraints": (["--constraints", "no.json"], "no.json"),
    "row": (["--query", "a.csv"], "--query"),
}


@pytest.mark.slow
@pytest.mark.parametrize("command", ["explain", "several", "diverse", "region", "batch"])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_option_is_refused_before_data_is_read(command, wrong, monkeypatch, capsys):
    words, message = WRONG[wrong]
    if command == "batch" and wrong in ("row", "threads"):
        return
    given = {"--train": "forest", "--dataset": "there is no such file.csv", "--row": "0"}
    if command == "batch":
        given = given | {"--out": "there is no such folder either"}
        given.pop("--row")
    given |= {words[0]: words[1]}
    line = [word for pair in given.items() for word in pair]
    monkeypatch.setattr(sys, "argv", ["counterfolio", command, *line])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert message in " ".join(told.split()) and "no such file" not in told


@pytest.mark.slow
def test_no_heavy_library_is_loaded_to_refuse_an_option():
    code = (
        "import sys; from portfolio.cli.app import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print([m for m in ('numba', 'sklearn', 'xgboost', 'ortools') if m in sys.modules])"
    )
    words = ["explain", "--train", "forest", "--dataset", "a.csv", "--row", "0", "--norm", "foo"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]" and "norm 'foo'" in done.stderr


@pytest.mark.slow
def test_a_hint_names_what_may_be_fixed_unless_something_is(tmp_path):
    X, y = make_classification(80, 4, random_state=0)
    frame = pd.DataFrame(X.round(2), columns=["age", "income", "debts", "rooms"]).assign(y=y)
    frame.to_csv(tmp_path / "d.csv", index=False)
    words = ["explain", "--train", "forest", "--trees", "5", "--data", str(tmp_path / "d.csv")]
    words += ["--label", "y", "--row", "0"]
    plain = CliRunner().invoke(app, words)
    told = " ".join(plain.output.split())
    assert told.count("Hint: no feature is fixed") == 1 and "--fix" in told
    for more in (["--fix", "age"], ["--increase", "age"], ["--json"]):
        assert "Hint" not in CliRunner().invoke(app, [*words, *more]).output


def test_a_wrong_description_of_a_feature_is_refused_before_data_is_read(tmp_path):
    path = tmp_path / "f.json"
    path.write_text('{"age": {"kind": "colour"}}')
    words = ["explain", "--train", "forest", "--dataset", "no.csv", "--row", "0"]
    found = CliRunner().invoke(app, [*words, "--features", str(path)])
    assert "unknown kind 'colour'" in str(found.exception)
