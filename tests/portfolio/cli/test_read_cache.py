"""What a command has read is kept for the next one, and no longer than it is true."""

import os
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio.cli.options import ModelOptions, QuestionOptions
from portfolio.cli.read_cache import _key
from selector.diagram_places import SHIPPED

CODE = (
    "import sys; from portfolio.cli import read_cache; read_cache.LEAST_S = 0.0; "
    "from portfolio.cli.app import main; main()"
)


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.integers(0, 9, 80), "b": rng.integers(0, 9, 80)})
    fit(X, X["a"] > 4, tmp_path)
    return tmp_path


def fit(X, y, folder):
    X.assign(y=y.astype(int)).to_csv(folder / "table.csv", index=False)
    model = RandomForestClassifier(5, random_state=0).fit(X, y.astype(int))
    joblib.dump(model, folder / "model.joblib")


def ask(folder, *more):
    options = [
        *("explain", "--data", str(folder / "table.csv"), "--label", "y", "--row", "0"),
        *("--model", str(folder / "model.joblib"), "--trust-pickle", *more),
    ]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *options],
        env=os.environ | {"COUNTERFOLIO_CACHE": str(folder / "cache")},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("verified by")[0]


def kept(folder):
    return {path.name: path.stat().st_ino for path in (folder / "cache").iterdir()}


def test_a_command_returns_what_another_has_read_unless_something_changed(files):
    first, before = ask(files), kept(files)
    assert ask(files) == first
    assert len(before) == 1 and kept(files) == before
    (path,) = (files / "cache").iterdir()
    path.write_bytes(path.read_bytes()[:-100])
    assert ask(files) == first
    table = pd.read_csv(files / "table.csv")
    fit(table[["a", "b"]], table["b"] > 4, files)
    assert ask(files) != first
    assert len(kept(files)) == 2


def test_each_file_and_option_counts(files):
    features, diagram = files / "features.json", files / "diagram.json"
    features.write_text("{}")
    diagram.write_bytes(SHIPPED.read_bytes() + b"\n")
    places = set()
    for options in (
        ModelOptions(data=files / "table.csv", model=files / "model.joblib"),
        ModelOptions(data=files / "table.csv", train="forest"),
        ModelOptions(data=files / "table.csv", train="forest", trees=7),
        ModelOptions(data=files / "table.csv", train="forest", plausible=True),
    ):
        for question in (
            QuestionOptions(),
            QuestionOptions(features=features),
            QuestionOptions(diagram=diagram),
        ):
            places.add(_key(options, question))
            for path in (question.features, question.diagram, options.model, options.data):
                if path is not None:
                    content = path.read_bytes()
                    path.write_bytes(content + b" ")
                    places.add(_key(options, question))
                    path.write_bytes(content)
            assert _key(options, question) in places
    # files that are changed one at a time, and none, without a question of its own, with each
    assert len(places) == (3 + 4 + 4) + 3 * (2 + 3 + 3)


def test_a_folder_that_others_can_write_to_is_not_used(files):
    (files / "cache").mkdir()
    (files / "cache").chmod(0o777)
    ask(files)
    assert kept(files) == {}


def test_a_model_of_code_that_may_change_is_not_kept(files):
    (files / "own_model.py").write_text(
        "from sklearn.ensemble import RandomForestClassifier\n"
        "class Own(RandomForestClassifier):\n    pass\n"
    )
    code = (
        f"import sys; sys.path.insert(0, {str(files)!r}); import joblib, own_model; "
        f"m = joblib.load({str(files / 'model.joblib')!r}); m.__class__ = own_model.Own; "
        f"joblib.dump(m, {str(files / 'model.joblib')!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    env = os.environ | {"PYTHONPATH": str(files), "COUNTERFOLIO_CACHE": str(files / "cache")}
    options = ["explain", "--data", "table.csv", "--label", "y", "--row", "0"]
    options += ["--model", "model.joblib", "--trust-pickle"]
    done = subprocess.run(
        [sys.executable, "-c", CODE, *options], env=env, cwd=files, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert kept(files) == {}
