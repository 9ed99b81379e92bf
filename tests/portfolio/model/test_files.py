"""Files from strangers: one sentence, or loaded and right; never a crash, a hang or a traceback."""

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from typer.testing import CliRunner
from xgboost import XGBClassifier

from encoders.core.errors import InputError
from portfolio import AtLeast, Explainer
from portfolio.cli.app import app
from portfolio.data.datasets import MOST_COLUMNS, read_dataset
from portfolio.model import probe
from portfolio.model.files import load_model
from tests.support.damage import damaged
from tests.support.processes import command, probes_of

pytestmark = pytest.mark.usefixtures("forked_children")

PROBE = """
import sys
from pathlib import Path
from portfolio.model.probe import probe
probe(Path(sys.argv[1]))
"""
FILES = int(os.environ.get("DAMAGED_FILES", "21"))


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One file of each format, by ending, and the rows that the models were trained on."""
    folder = tmp_path_factory.mktemp("models")
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :6]
    np.save(folder / "X.npy", X)
    boosted = XGBClassifier(n_estimators=6, max_depth=3).fit(X, y)
    for ending in ("json", "ubj"):
        boosted.save_model(folder / f"model.{ending}")
    light = LGBMClassifier(n_estimators=6, num_leaves=8, verbose=-1).fit(X, y)
    light.booster_.save_model(folder / "model.txt")
    forest = RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y)
    cat = CatBoostClassifier(iterations=6, depth=3, verbose=0, allow_writing_files=False).fit(X, y)
    cat.save_model(str(folder / "model.cbm"))
    cat.save_model(str(folder / "model.catboost.json"), format="json")
    skops.io.dump(forest, folder / "model.skops")
    joblib.dump(forest, folder / "model.joblib")
    return sorted(folder.glob("model.*"))


@pytest.mark.slow
def test_damaged_files_are_refused_or_right(originals, tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(FILES):
        path = originals[number % len(originals)]
        content = path.read_bytes()
        if number >= len(originals):  # the first of each are whole
            content = damaged(rng, content)
        (folder / f"{number:03d}{path.suffix}").write_bytes(content)
    (tmp_path / "X.npy").write_bytes((originals[0].parent / "X.npy").read_bytes())
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.damage", str(folder)],
        capture_output=True, text=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    found = json.loads(done.stdout)
    assert len(found) == FILES
    for name, complaint, _, end, code, _ in found:  # a crash of the probe is what it is for
        assert code == 0 and "TRACEBACK" not in complaint + end, (name, complaint, end, code)
    assert [end for *_, end, _, _ in found[: len(originals)]] == ["explained optimal"] * 7
    assert sum(bool(complaint) or code != 0 for _, complaint, code, *_ in found) > FILES / 2


def test_a_file_that_crashes_its_reader_is_told(originals, monkeypatch):
    monkeypatch.setattr(probe, "START", "import os; os.kill(os.getpid(), 11)")
    with pytest.raises(InputError, match=r"crashed \(exit code -11"):
        load_model(originals[0], trust_pickle=True)


def test_a_file_that_hangs_its_reader_is_told(originals, monkeypatch):
    monkeypatch.setattr(probe, "START", "import signal, time; signal.alarm(1); time.sleep(9)")
    with pytest.raises(InputError, match="did not finish in time"):
        load_model(originals[0], trust_pickle=True)


def test_a_child_that_does_not_limit_itself_is_ended(originals, monkeypatch):
    monkeypatch.setattr(probe, "START", "import time; time.sleep(300)")
    monkeypatch.setattr(probe, "START_S", 0)
    monkeypatch.setattr(probe, "TIME_S", 0.0)
    with pytest.raises(InputError, match="did not finish in time"):
        load_model(originals[0], trust_pickle=True)


@pytest.mark.slow
def test_the_child_ends_with_a_parent_that_is_killed(tmp_path):
    os.mkfifo(tmp_path / "model.json")  # opening it waits for a writer
    parent = subprocess.Popen([sys.executable, "-c", PROBE, str(tmp_path / "model.json")])
    late_at = time.monotonic() + 300
    while not (children := probes_of(parent.pid)):
        assert time.monotonic() < late_at
        time.sleep(0.1)
    parent.kill()
    parent.wait()
    while any(command(pid) for pid in children):
        assert time.monotonic() < late_at
        time.sleep(0.1)


@pytest.mark.slow
def test_a_lightgbm_file_whose_trees_end_early_is_refused(originals, tmp_path):
    text = next(p for p in originals if p.suffix == ".txt").read_text()
    path = tmp_path / "model.txt"
    for broken, words in (
        (text[: text.index("Tree=4")], "ends before its last tree"),
        (text.replace("num_leaves=", "num_leaves= ", 1), "not where its header says"),
        (text.replace("end of trees", "Tree=6\nend of trees"), "not as long as its header says"),
    ):
        path.write_text(broken)
        with pytest.raises(InputError, match=words):
            load_model(path)


@pytest.mark.slow
def test_catboost_files_are_loaded_as_their_owner_would(originals):
    X = np.load(originals[0].parent / "X.npy")
    for name in ("model.cbm", "model.catboost.json"):
        path = originals[0].parent / name
        owner = CatBoostClassifier().load_model(str(path), format=path.suffix[1:])
        loaded = load_model(path)
        assert (loaded.predict(X) == owner.predict(X)).all()
        assert Explainer(loaded, X).explain(X[0]).status == "optimal"


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["cbm", "json"])
def test_a_catboost_file_of_a_regressor_is_loaded_as_one(originals, tmp_path, ending):
    X = np.load(originals[0].parent / "X.npy")
    settings = {"iterations": 2, "depth": 2, "verbose": 0, "allow_writing_files": False}
    path = tmp_path / f"regressor.{ending}"
    owner = CatBoostRegressor(**settings, loss_function="Poisson").fit(X, X[:, 0])
    owner.save_model(str(path), format=ending)
    loaded = load_model(path)
    assert np.allclose(loaded.predict(X), owner.predict(X), rtol=1e-12)
    least = float(np.median(owner.predict(X)))
    assert Explainer(loaded, X).explain(X[0], target=AtLeast(least)).status == "optimal"


def test_a_catboost_file_of_categories_is_read_with_its_table(originals, tmp_path):
    frame = pd.DataFrame(np.load(originals[0].parent / "X.npy")).assign(kind="u")
    frame.loc[::3, "kind"] = "v"
    settings = {"iterations": 4, "depth": 2, "verbose": 0, "allow_writing_files": False}
    path = tmp_path / "kinds.cbm"
    model = CatBoostClassifier(**settings, cat_features=["kind"]).fit(frame, frame.kind == "v")
    model.save_model(str(path))
    result = Explainer(load_model(path), frame).explain(frame.iloc[[0]])
    assert [change.feature for change in result.changed] == ["kind"]


class Unchanged(TransformerMixin, BaseEstimator):
    """A step of the user's own."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


@pytest.mark.slow
def test_what_skops_does_not_trust_has_a_remedy(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    steps = make_pipeline(Unchanged(), RandomForestClassifier(2)).fit(X, X[:, 0] > 0)
    skops.io.dump(steps, tmp_path / "steps.skops")
    with pytest.raises(InputError, match=r"Unchanged.*joblib.dump and add --trust-pickle"):
        load_model(tmp_path / "steps.skops")


@pytest.mark.slow
def test_skops_files_may_contain_models_of_other_libraries(tmp_path):
    X = np.random.default_rng(0).normal(size=(40, 2))
    for model in (XGBClassifier(n_estimators=2), LGBMClassifier(n_estimators=2, verbose=-1)):
        steps = make_pipeline(StandardScaler(), model).fit(X, X[:, 0] > 0)
        skops.io.dump(steps, tmp_path / "steps.skops")
        assert np.array_equal(load_model(tmp_path / "steps.skops").predict(X), steps.predict(X))


def test_what_unpacks_to_too_much_is_refused(originals, tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("schema.json", b" " * 3_000_000)
    assert path.stat().st_size < 10_000
    monkeypatch.setattr("portfolio.model.open_file.LARGEST_FILE", 2**20)
    monkeypatch.setattr("portfolio.model.files.probe", lambda path: "")
    with pytest.raises(InputError, match="unpacks to more than 1 MiB"):
        load_model(path)


def test_a_table_as_wide_as_others_are_long_is_refused_at_once(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{i}" for i in range(MOST_COLUMNS + 1)) + "\n")
    with pytest.raises(InputError, match="more than 10000 columns"):
        read_dataset(path)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [("N", "-1e308", "a value of magnitude 1e.308"), ("D", "9" * 400, "larger than any float64")],
)
def test_numbers_beyond_what_models_read(tmp_path, kind, value, words):
    path = tmp_path / "data.csv"
    rows = "".join(f"{i},{i % 2}\n" for i in range(20))
    path.write_text(f"a,y\n{kind},B\nFREE,PREDICT\n{rows}{value},1\n")
    options = ["explain", "--dataset", str(path), "--train", "forest", "--row", "0"]
    with pytest.raises(InputError, match=words):
        CliRunner().invoke(app, options, catch_exceptions=False)


def test_a_feature_file_of_brackets_is_refused(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,y\nN,B\nFREE,PREDICT\n" + "".join(f"{i},{i % 2}\n" for i in range(20)))
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 200_000)
    options = [
        *("explain", "--dataset", str(path), "--train", "forest", "--row", "0"),
        *("--features", str(deep)),
    ]
    with pytest.raises(InputError, match="nested too deeply"):
        CliRunner().invoke(app, options, catch_exceptions=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "model"),
    [
        (
            "model.joblib",
            HistGradientBoostingClassifier(max_iter=2, categorical_features="from_dtype"),
        ),
        ("model.txt", LGBMClassifier(n_estimators=2, verbose=-1)),
        ("lightgbm.joblib", LGBMClassifier(n_estimators=2, verbose=-1)),
        ("model.json", XGBClassifier(n_estimators=2, enable_categorical=True)),
    ],
)
def test_categories_that_no_split_asks_about_are_no_reason_to_refuse(tmp_path, name, model):
    X = pd.DataFrame({"a": np.arange(60.0), "c": pd.Categorical(["p", "q", "r"] * 20)})
    path = tmp_path / name
    model.fit(X, X["a"] > 30)
    if path.suffix == ".joblib":
        joblib.dump(model, path)
    elif path.suffix == ".txt":
        model.booster_.save_model(path)
    else:
        model.save_model(path)
    assert probe.probe(path) == ""


def test_a_pickle_whose_package_is_missing_names_it_with_a_remedy(tmp_path):
    path = tmp_path / "model.pkl"
    path.write_bytes(b"cno_such_package\nMapper\n.")
    words = "cannot be read: No module named 'no_such_package'. Install the packages"
    with pytest.raises(InputError, match=words):
        load_model(path, trust_pickle=True)
