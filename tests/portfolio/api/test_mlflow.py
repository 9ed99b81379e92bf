"""MLflow: explainers come back as they were, and its Python function gives their answers."""

import json

import pandas as pd
import pytest

from counterfolio import Explainer, Fixed
from encoders.core.errors import InputError
from portfolio.model.files import load_model
from portfolio.model.mlflow_places import resolved
from tests.portfolio.cli.test_cli import run

mlflow = pytest.importorskip("mlflow")
pyfunc = pytest.importorskip("mlflow.pyfunc")
door = pytest.importorskip("counterfolio.mlflow")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A tracking store and a registry in files."""
    place = (tmp_path / "store").as_uri()
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", place)
    mlflow.set_tracking_uri(place)
    yield tmp_path
    mlflow.set_tracking_uri(None)


def same(answers, expected):
    kept = [name for name in expected.columns if name not in ("id", "seconds", "backend")]
    pd.testing.assert_frame_equal(answers[kept], expected[kept], check_dtype=False)


def test_a_registered_explainer_is_loaded_by_its_address(store, explainer, credit):
    with mlflow.start_run():
        info = door.log_model(
            explainer, "explainer", {"target": "granted"}, registered_model_name="credit"
        )
    rows = credit[1].head(10)
    for address in ("models:/credit/1", info.model_uri):
        assert door.load_model(address).digest == explainer.digest
        assert Explainer.load(address).digest == explainer.digest
        function = pyfunc.load_model(address)
        same(function.predict(rows), explainer.explain_batch(rows, "granted"))
    other = pyfunc.load_model(
        "models:/credit/1", model_config={"target": "refused", "constraints": [Fixed("age")]}
    )
    same(
        other.predict(rows),
        explainer.explain_batch(rows, "refused", constraints=[Fixed("age")]),
    )
    assert not [path for path in store.rglob("*") if path.suffix in (".pkl", ".pickle", ".joblib")]


@pytest.mark.slow
def test_commands_accept_addresses(store, explainer, credit):
    with mlflow.start_run():
        door.log_model(explainer, "explainer", registered_model_name="credit")
    credit[1].head(3).to_csv(store / "rows.csv", index=False)
    data = ["--data", store / "rows.csv", "--row", 1, "--json"]
    printed = run("explain", "--model", "models:/credit/1", *data)
    assert printed.exit_code == 0, printed.output
    expected = explainer.explain(credit[1].iloc[1])
    assert json.loads(printed.stdout)["distance"] == pytest.approx(expected.distance)


@pytest.mark.slow
def test_models_of_other_flavours_are_files(store, trades):
    xgboost = pytest.importorskip("mlflow.xgboost")
    model, X = trades
    xgboost.save_model(model, store / "trades", model_format="ubj")
    path = resolved(store / "trades")
    assert Explainer(load_model(path), X).digest == Explainer(model, X).digest


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"constraints": [Fixed("age")]}, "the setting 'constraints' cannot be saved"),
        ({"aim": "granted"}, "unknown setting 'aim'"),
        ({"target": "forbidden"}, "forbidden"),
    ],
)
def test_invalid_settings_are_refused(tmp_path, explainer, settings, words):
    with pytest.raises(InputError, match=words):
        door.save_model(explainer, tmp_path / "model", settings)
    assert not (tmp_path / "model").exists()


def test_invalid_rows_are_refused_with_our_sentence(tmp_path, explainer, credit):
    door.save_model(explainer, tmp_path / "model", rows=False)
    function = pyfunc.load_model(str(tmp_path / "model"))
    with pytest.raises(InputError, match="age"):
        function.predict(credit[1].drop(columns="age"))
    broken = credit[1].head(2).assign(income=["much", 20.0])
    assert function.predict(broken)["stop_reason"].tolist() == ["error", "proved"]


def test_an_unknown_address_is_refused(store):
    with pytest.raises(InputError, match="MLflow cannot load models:/nothing/1"):
        Explainer.load("models:/nothing/1")
    with pytest.raises(InputError, match="MLflow cannot load models:/nothing/1"):
        raise run("explain", "--model", "models:/nothing/1", "--row", 0).exception


def test_a_model_of_another_flavour_is_refused(tmp_path):
    (tmp_path / "MLmodel").write_text("flavors: {spark: {data: part}}")
    with pytest.raises(InputError, match="has the flavours spark"):
        Explainer.load(tmp_path)
