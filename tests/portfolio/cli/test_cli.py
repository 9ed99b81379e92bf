"""The command line: exit codes, JSON, model files."""

import json
from dataclasses import replace
from importlib.metadata import version

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

from encoders.readers.readable import CATBOOST, READABLE, XGBOOST
from portfolio.cli.app import app, main
from portfolio.cli.model_table import installed_version
from portfolio.data.datasets import read_dataset
from portfolio.data.trained_models import train

pytestmark = pytest.mark.usefixtures("forked_children")


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def explain(loans, *more, model=("--train", "forest", "--trees", 6, "--depth", 3)):
    return run("explain", "--dataset", loans, *model, *more)


def refused_row(loans):
    data = read_dataset(loans)
    model = train(data, "forest", 6, 3, 0)
    return int(np.flatnonzero(model.predict(data.X) == 0)[0])


def test_json_is_one_object(loans):
    row = refused_row(loans)
    out = explain(loans, "--row", row, "--target", 1, "--json")
    answer = json.loads(out.stdout)
    assert out.exit_code == 0
    assert answer["status"] == "optimal" and answer["verified"] is True
    assert set(answer["query"]) == set(answer["counterfactual"])
    keys = {"distance", "lower_bound", "gap", "backend", "target", "changes", "timings", "trace"}
    assert keys <= set(answer)
    assert answer["counterfactual"]["Age"] >= answer["query"]["Age"]  # INC in the file
    assert answer["counterfactual"]["Sex"] == answer["query"]["Sex"]  # FIXED in the file


def test_goals_are_reached(loans):
    row = refused_row(loans)
    out = explain(loans, "--row", row, "--target", 1, "--probability", "0.8:", "--json")
    answer = json.loads(out.stdout)
    assert out.exit_code == 0 and answer["score"] >= 0.8 > answer["score_before"]
    assert answer["target"] == "Probability(label=1, at_least=0.8, at_most=None)"
    out = explain(loans, "--row", row, "--score", "0.6:0.75")
    assert out.exit_code == 0 and "reach a score from 0.6 to 0.75" in " ".join(out.stdout.split())


@pytest.mark.slow
def test_a_regressors_file_is_explained(loans, tmp_path):
    data = read_dataset(loans)
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=2).fit(data.X, data.y)
    model.save_model(tmp_path / "model.json")
    now = float(model.predict(data.X.iloc[[0]])[0])
    given = ("--model", tmp_path / "model.json")
    way = ("--less", "20%") if now > 0.5 else ("--more", "0.2")
    out = explain(loans, "--row", 0, *way, "--json", model=given)
    answer = json.loads(out.stdout)
    assert out.exit_code == 0 and answer["score_before"] == now
    assert answer["score"] <= 0.8 * now if now > 0.5 else answer["score"] >= now + 0.2


def test_table_shows_labels(loans):
    out = explain(loans, "--row", refused_row(loans), "--norm", "0")
    assert out.exit_code == 0
    assert "Optimal" in out.stdout and "verified by the model's predict" in out.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["forest", "hard-forest", "extra-trees", "xgboost"])
@pytest.mark.parametrize("norm", ["0", "2", "inf"])
def test_every_kind_and_norm_is_proved(loans, kind, norm):
    out = explain(
        loans, "--row", 3, "--norm", norm, "--json", model=("--train", kind, "--trees", 5)
    )
    assert out.exit_code == 0
    assert json.loads(out.stdout)["status"] == "optimal"


def test_infeasible_has_its_exit_code(loans):
    row = refused_row(loans)
    out = explain(loans, "--row", row, "--target", 1, "--fix", "Age,Sex,Job,Amount", "--json")
    assert out.exit_code == 4
    assert json.loads(out.stdout)["counterfactual"] is None


def test_options_make_constraints(loans):
    row = refused_row(loans)
    out = explain(
        loans, "--row", row, "--json", "--fix", "Job", "--range", "Amount=1:8", "--increase", "Age"
    )
    answer = json.loads(out.stdout)
    assert (out.exit_code, answer["status"]) in ((0, "optimal"), (4, "infeasible"))
    assert "Job" not in [c["feature"] for c in answer["changes"]]
    if answer["counterfactual"] is not None:
        assert 1 <= answer["counterfactual"]["Amount"] <= 8


@pytest.mark.slow
def test_a_row_may_come_from_a_file(loans, tmp_path):
    data = pd.read_csv(loans, skiprows=[1, 2])
    row = refused_row(loans)
    query = tmp_path / "query.csv"
    data.drop(columns="Class").iloc[[row]].to_csv(query, index=False)
    one = json.loads(explain(loans, "--query", query, "--json").stdout)
    two = json.loads(explain(loans, "--row", row, "--json").stdout)
    assert one["distance"] == two["distance"]
    data.iloc[:2].to_csv(query, index=False)
    assert isinstance(explain(loans, "--query", query).exception, ValueError)
    data.iloc[[0]].assign(Job="pirate").to_csv(query, index=False)
    assert "pirate" in str(explain(loans, "--query", query).exception)


@pytest.mark.slow
def test_models_may_come_from_files(loans, tmp_path):
    data = read_dataset(loans)
    forest = RandomForestClassifier(6, max_depth=3, random_state=0).fit(data.X, data.y)
    boosted = train(data, "xgboost", 5, 3, 0)
    from lightgbm import LGBMClassifier

    light = LGBMClassifier(n_estimators=5, verbose=-1).fit(data.X, data.y)
    skops.io.dump(forest, tmp_path / "forest.skops")
    joblib.dump(forest, tmp_path / "forest.joblib")
    boosted.save_model(tmp_path / "boosted.json")
    boosted.save_model(tmp_path / "boosted.ubj")
    light.booster_.save_model(tmp_path / "light.txt")
    row = refused_row(loans)
    for name in ("forest.skops", "boosted.json", "boosted.ubj", "light.txt"):
        out = explain(loans, "--row", row, "--json", model=("--model", tmp_path / name))
        assert out.exit_code in (0, 4), (name, out.exception)
        assert json.loads(out.stdout)["status"] in ("optimal", "infeasible")
    pickled = ("--model", tmp_path / "forest.joblib")
    assert "trust" in str(explain(loans, "--row", row, model=pickled).exception)
    assert explain(loans, "--row", row, "--trust-pickle", model=pickled).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--row", "9999"], "has no row 9999. Give a row from 0 to"),
        ([], "exactly one of --row and --query is required"),
        (["--row", "0", "--target", "7"], "unknown target '7'"),
        (["--row", "0", "--fix", "Wealth"], "unknown feature 'Wealth'"),
        (["--row", "0", "--range", "Age"], "--range Age cannot be read. Write name=low:high"),
        (["--row", "0", "--time-limit", "0"], "must be above 0"),
        (["--row", "0", "--train", "svm"], "--train svm is unknown. Use one of forest"),
        (["--row", "0", "--model", "m.json"], "exactly one of --train and --model"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(loans, arguments, message, monkeypatch, capsys):
    base = ["counterfolio", "explain", "--dataset", str(loans), "--trees", "3"]
    monkeypatch.setattr("sys.argv", [*base, "--train", "forest", *arguments])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert message in " ".join(error.split())
    assert "Traceback" not in error


def test_ctrl_c_before_there_is_an_answer_is_told(loans, monkeypatch, capsys):
    def pressed(*given, **named):
        raise KeyboardInterrupt

    monkeypatch.setattr("portfolio.data.datasets.read_dataset", pressed)
    base = ["counterfolio", "explain", "--dataset", str(loans), "--trees", "3"]
    monkeypatch.setattr("sys.argv", [*base, "--train", "forest", "--row", "0"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 130
    assert "Interrupted: no result." in capsys.readouterr().err


def test_the_demo_ends_with_a_counterfactual():
    out = run("demo", "--rows", 1, "--norm", "0", "--time-limit", 20)
    assert out.exit_code in (0, 3)
    assert "benign" in out.stdout


def test_models_are_listed():
    out = run("models")
    assert out.exit_code == 0
    words = " ".join(out.stdout.split())
    for each in READABLE:
        assert all(kind in words for kind in each.kinds)
    assert f"tested {XGBOOST.oldest} to {XGBOOST.newest}, installed {version('xgboost')}" in words
    assert "refused: passthrough=True" in words


def test_a_library_that_is_not_installed_is_named():
    missing = replace(CATBOOST, distribution="no-such-library")
    assert installed_version(missing) == "no: pip install 'counterfolio[catboost]'"


def test_backends_are_listed():
    out = run("backends")
    assert out.exit_code == 0
    assert all(name in out.stdout for name in ("search", "cp", "milp", "maxsat", "smt"))
