"""MLflow: explainers come back as they were, and its Python function gives their answers."""

import json
import tomllib
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from counterfolio import Explainer, Fixed, MaxChanges, Probability
from encoders.core.errors import InputError
from portfolio.model.files import load_model
from portfolio.model.mlflow_places import resolved
from portfolio.service.sources import read_folder
from tests.portfolio.cli.test_cli import run

mlflow = pytest.importorskip("mlflow")
pyfunc = pytest.importorskip("mlflow.pyfunc")
door = pytest.importorskip("counterfolio.mlflow")

pytestmark = pytest.mark.usefixtures("forked_children")

ROOT = Path(__file__).parents[3]
GROUP = "mlflow.model_evaluator"


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
    config = {"target": "refused", "constraints": [Fixed("age")], "norm": 0}
    other = pyfunc.load_model("models:/credit/1", model_config=config)
    same(
        other.predict(rows),
        explainer.explain_batch(rows, "refused", constraints=[Fixed("age")], norm=0),
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
        ({"norm": lambda feature, before, after: 1.0}, "function"),
        ({"constraints": [Fixed("agee")]}, "agee"),
        ({"aim": "granted"}, "unknown setting 'aim'"),
        ({"target": "forbidden"}, "forbidden"),
    ],
)
def test_invalid_settings_are_refused(tmp_path, explainer, settings, words):
    with pytest.raises(InputError, match=words):
        door.save_model(explainer, tmp_path / "model", settings)
    assert not (tmp_path / "model").exists()


def test_settings_may_contain_constraints_goals_and_costs(tmp_path, explainer, credit):
    settings = {
        "target": Probability("granted", at_least=0.7),
        "constraints": [Fixed("age"), MaxChanges(2)],
        "norm": {"income": {30.0: 0.5}},
    }
    door.save_model(explainer, tmp_path / "model", settings)
    rows = credit[1].head(10)
    same(
        pyfunc.load_model(str(tmp_path / "model")).predict(rows),
        explainer.explain_batch(rows, **settings),
    )


@pytest.mark.parametrize("kind", ["a regressor", "several outputs"])
def test_models_that_need_a_target_can_be_saved_without_one(kind, tmp_path, credit):
    _, X = credit
    labels = np.column_stack([X.iloc[:, 0] > X.iloc[:, 0].median(), X.iloc[:, 1] > 20]).astype(int)
    if kind == "a regressor":
        model = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X, X.iloc[:, 0])
        target = (40.0, 60.0)
    else:
        model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, labels)
        target = {0: 1}
    explainer, folder = Explainer(model, X), str(tmp_path / "model")
    door.save_model(explainer, folder)
    assert door.load_model(folder).digest == explainer.digest
    with pytest.raises(InputError, match="target=None"):
        pyfunc.load_model(folder)
    expected = explainer.explain_batch(X.head(4), target)
    expected["target"] = expected["target"].map(str)  # tables of fixed types have text
    same(pyfunc.load_model(folder, model_config={"target": target}).predict(X.head(4)), expected)
    door.save_model(explainer, tmp_path / "with target", {"target": target})
    same(pyfunc.load_model(str(tmp_path / "with target")).predict(X.head(4)), expected)


def test_folders_of_models_accept_addresses(store, explainer):
    with mlflow.start_run():
        door.log_model(explainer, "explainer", registered_model_name="credit")
    (store / "credit.toml").write_text('model = "models:/credit/1"')
    (store / "other.toml").write_text('model = "models:/other/1"')
    credit, other = read_folder(store)
    assert credit.open().explainer.digest == explainer.digest
    with pytest.raises(InputError, match="MLflow cannot load models:/other/1"):
        other.open()
    again, _ = read_folder(store)
    assert again.state() == credit.state()  # the model is not downloaded, nor loaded, again


def test_the_evaluator_logs_the_audit_of_groups(store, explainer, credit):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, name = project["entry-points"][GROUP]["counterfolio"].split(":")
    registry = import_module("mlflow.models.evaluation.evaluator_registry")
    registry._model_evaluation_registry.register(
        "counterfolio", getattr(import_module(module), name)
    )
    rows = credit[1].head(30)
    region = np.where(np.arange(30) % 3, "north & south", "east")
    door.save_model(explainer, store / "credit")
    settings = {"target": "granted", "constraints": [{"Fixed": "age"}]}

    def evaluated(**config):
        with mlflow.start_run() as run_of_mlflow:
            result = mlflow.models.evaluate(
                str(store / "credit"), rows.assign(region=region), model_type="recourse",
                evaluators="counterfolio", evaluator_config=config,
            )  # fmt: skip
        return result.metrics, run_of_mlflow.info.run_id

    metrics, number = evaluated(by="region", explainer=str(store / "credit"), **settings)
    audit = explainer.audit(rows, region, "granted", constraints=[Fixed("age")])
    for group, label in zip(audit.groups, ("north _ south", "east"), strict=True):
        assert metrics[f"recourse/{label}/adverse"] == group.adverse
        assert metrics[f"recourse/{label}/mean_low"] == pytest.approx(group.mean.low)
        assert metrics[f"recourse/{label}/without_high"] == pytest.approx(group.without.high)
    client = mlflow.MlflowClient()
    assert client.get_run(number).data.metrics == metrics
    report = json.loads(Path(client.download_artifacts(number, "recourse.json")).read_text())
    assert [each["adverse"] for each in report["groups"]] == [g.adverse for g in audit.groups]
    assert "answers" not in report
    with pytest.raises(InputError, match="has no 'target'"):
        evaluated(by="region")
    with pytest.raises(InputError, match="unknown column 'income_'"):
        evaluated(by="income_", target="granted")


def test_invalid_rows_are_refused_with_our_sentence(tmp_path, explainer, credit):
    door.save_model(explainer, tmp_path / "model", rows=False)
    function = pyfunc.load_model(str(tmp_path / "model"))
    with pytest.raises(InputError, match="age"):
        function.predict(credit[1].drop(columns="age"))
    broken = credit[1].head(2).assign(income=["much", 20.0])
    assert function.predict(broken)["stop_reason"].tolist() == ["error", "proved"]


def test_a_file_in_place_of_the_folder_is_refused(tmp_path, explainer):
    (tmp_path / "model").write_text("mine")
    with pytest.raises(InputError, match=r"cannot write .*model"):
        door.save_model(explainer, tmp_path / "model")


def test_an_unknown_address_is_refused(store):
    with pytest.raises(InputError, match="MLflow cannot load models:/nothing/1"):
        Explainer.load("models:/nothing/1")
    with pytest.raises(InputError, match="MLflow cannot load models:/nothing/1"):
        raise run("explain", "--model", "models:/nothing/1", "--row", 0).exception


def test_a_model_of_another_flavour_is_refused(tmp_path):
    (tmp_path / "MLmodel").write_text("flavors: {spark: {data: part}}")
    with pytest.raises(InputError, match="has the flavours spark"):
        Explainer.load(tmp_path)
