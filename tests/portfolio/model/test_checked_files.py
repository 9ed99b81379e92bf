"""Model files that this user has checked before are opened without a child process."""

import os
import stat

import numpy as np
import pytest
from lightgbm import LGBMClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from encoders.core.errors import InputError
from portfolio import Explainer
from portfolio.model import checked_files, library_versions, probe
from portfolio.model.checked_files import record_of
from portfolio.model.files import load_model

pytestmark = pytest.mark.usefixtures("forked_children")

CRASH = "import os; os.kill(os.getpid(), 11)"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("COUNTERFOLIO_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def file(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    XGBClassifier(n_estimators=2, max_depth=2).fit(X, X[:, 0] > 0).save_model(tmp_path / "m.json")
    return tmp_path / "m.json"


def test_a_file_is_checked_once_for_its_content_and_versions(cache, file, monkeypatch):
    load_model(file)
    monkeypatch.setattr(probe, "START", CRASH)  # every child that starts from now on
    load_model(file)
    file.rename(file.with_name("same.json"))
    load_model(file.with_name("same.json"))
    content = file.with_name("same.json").read_bytes()
    file.write_bytes(content + b" ")
    with pytest.raises(InputError, match="crashed"):
        load_model(file)
    assert not record_of(file).exists()
    file.write_bytes(content)
    load_model(file)
    versions = dict(library_versions.library_versions()) | {"xgboost": "0"}
    monkeypatch.setattr(checked_files, "library_versions", lambda: versions)
    with pytest.raises(InputError, match="crashed"):
        load_model(file)


def test_a_record_counts_only_where_nobody_else_can_write(cache, file, monkeypatch):
    load_model(file)
    record = record_of(file)
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700 and record.read_bytes() == b""
    monkeypatch.setattr(probe, "START", CRASH)
    for folder in (cache, record.parent):
        folder.chmod(0o777)
        with pytest.raises(InputError, match="crashed"):
            load_model(file)
        folder.chmod(0o700)
    load_model(file)
    monkeypatch.setenv("COUNTERFOLIO_CACHE", "")
    with pytest.raises(InputError, match="crashed"):
        load_model(file)


def test_a_file_that_changes_while_it_is_checked_gets_no_record(cache, file):
    with probe.probing([file]):
        os.utime(file)
    assert not record_of(file).exists()


def test_pickles_are_checked_every_time(cache, tmp_path):
    (tmp_path / "model.pkl").write_bytes(b"N.")
    assert record_of(tmp_path / "model.pkl") is None


def test_old_records_are_removed(cache, file, monkeypatch):
    monkeypatch.setattr(checked_files, "MOST", 2)
    folder = record_of(file).parent
    for at, name in enumerate("abc"):
        checked_files.add_record(folder / name)
        os.utime(folder / name, (at, at))
    checked_files.add_record(folder / "d")
    assert sorted(path.name for path in folder.iterdir()) == ["c", "d"]


def test_a_saved_explainer_is_loaded_where_it_was_saved_without_a_child(
    cache, credit, tmp_path, monkeypatch
):
    explainer = Explainer(*credit)
    explainer.save(tmp_path / "credit")
    monkeypatch.setattr(probe, "START", CRASH)
    assert Explainer.load(tmp_path / "credit").digest == explainer.digest


@pytest.mark.slow
def test_all_files_of_an_explainer_are_checked_by_one_child(credit, tmp_path, monkeypatch):
    """LightGBM needs no scikit-learn for the first file, but for the second one."""
    model, X = credit
    y = (model.predict(X) == "granted").astype(int)
    light = LGBMClassifier(n_estimators=3, verbose=-1)
    piped = make_pipeline(StandardScaler(), LGBMClassifier(n_estimators=3, verbose=-1)).fit(X, y)
    explainer = Explainer(light.fit(X, y).booster_, X, also=[piped])
    explainer.save(tmp_path / "light")
    children, child = [], probe._Child
    monkeypatch.setattr(probe, "_Child", lambda paths: children.append(paths) or child(paths))
    assert Explainer.load(tmp_path / "light").digest == explainer.digest
    assert [[path.name for path in paths] for paths in children] == [["model.txt", "also-0.skops"]]
