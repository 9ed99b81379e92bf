"""The cache of models that commands have read, and what makes an entry stale."""

import importlib
import json
import os
import stat
import subprocess
import sys

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

import counterfolio
from portfolio.cli import read_cache
from portfolio.cli.options import ModelOptions, QuestionOptions
from portfolio.model.cache_folder import cache_folder
from selector.diagram_places import SHIPPED

pytestmark = pytest.mark.usefixtures("forked_children")

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


def ask(folder):
    options = [
        *("explain", "--data", str(folder / "table.csv"), "--label", "y", "--row", "0"),
        *("--train", "forest", "--trees", "5"),
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


@pytest.mark.slow
def test_a_command_returns_what_another_has_read_unless_something_changed(files):
    first, before = ask(files), kept(files)
    assert ask(files) == first
    assert len(before) == 1 and kept(files) == before
    (path,) = (files / "cache").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
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
            places.add(read_cache._key(options, question))
            for path in (question.features, question.diagram, options.model, options.data):
                if path is not None:
                    content = path.read_bytes()
                    path.write_bytes(content + b" ")
                    places.add(read_cache._key(options, question))
                    path.write_bytes(content)
            assert read_cache._key(options, question) in places
    # Each file is changed in turn, without a question file and with each of them.
    assert len(places) == (3 + 4 + 4) + 3 * (2 + 3 + 3)


def test_an_installed_package_changes_the_key_and_a_temporary_file_does_not(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    options = ModelOptions(train="forest"), QuestionOptions()
    before = read_cache._key(*options)
    (tmp_path / "unfinished.tmp").write_text("")
    assert read_cache._key(*options) == before
    (tmp_path / "library-1.0.dist-info").mkdir()
    assert read_cache._key(*options) != before


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERFOLIO_CACHE", str(tmp_path / "cache"))
    assert cache_folder() == tmp_path / "cache"
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    (tmp_path / "cache").chmod(0o770)
    assert cache_folder() is None


def test_a_model_of_code_that_may_change_is_not_kept(tmp_path, monkeypatch):
    installed = {"numpy": np, "json": json, "counterfolio": counterfolio}
    assert not read_cache._has_local_code(installed)
    (tmp_path / "own_model.py").write_text("class Own:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    own = importlib.import_module("own_model")
    assert read_cache._has_local_code(installed | {"own_model": own})
    monkeypatch.delitem(sys.modules, "own_model")
