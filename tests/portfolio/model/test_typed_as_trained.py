"""A CSV has no dtypes: text, or numbers, become the categories that the model keeps."""

import json

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost

from portfolio import Explainer
from portfolio.cli.app import main
from portfolio.data.plain_tables import read_plain
from portfolio.model.categories import typed_as_trained
from portfolio.model.files import load_model

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 300),
            "home region": pd.Categorical(rng.choice(["north", "south", "NA", "east"], 300)),
            "branch": pd.Categorical(rng.choice([10, 20, 30], 300)),
            "income": rng.normal(50, 20, 300).round(1),
        }
    )
    north = X["home region"] == "north"
    return X, ((X["income"] > 45) & ~north & (X["branch"] != 20)).astype(int)


def light(X, y, path):
    model = lightgbm.LGBMClassifier(n_estimators=8, num_leaves=7, verbose=-1, n_jobs=1)
    model.fit(X, y).booster_.save_model(path / "model.txt")
    return path / "model.txt"


def extreme(X, y, path):
    model = xgboost.XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True)
    model.fit(X, y).save_model(path / "model.ubj")
    return path / "model.ubj"


@pytest.fixture(scope="module", params=[light, extreme])
def file(frame, request, tmp_path_factory):
    return request.param(*frame, tmp_path_factory.mktemp("models"))


@pytest.mark.slow
def test_a_frame_from_csv_is_the_one_that_the_model_was_fitted_on(frame, file, tmp_path):
    X, _ = frame
    model = load_model(file, False)
    read = X.astype({"home region": str, "branch": int})
    typed = typed_as_trained(model, read)
    pd.testing.assert_frame_equal(typed, X, check_categorical=False)
    pd.testing.assert_frame_equal(typed_as_trained(model, X), X)
    assert pd.api.types.is_integer_dtype(read["branch"])  # what was given is as it was
    for at in (0, 1, 2):
        own, other = (Explainer(model, own).explain(X.iloc[at], threads=1) for own in (typed, X))
        assert (own.status, own.distance) == (other.status, other.distance)
        assert own.status == "optimal"


@pytest.mark.slow
def test_values_that_the_model_does_not_know_leave_a_column_as_it_is(frame, file):
    read = frame[0].astype({"home region": str, "branch": int})
    read.loc[3, "home region"] = "west"
    typed = typed_as_trained(load_model(file, False), read)
    assert not isinstance(typed["home region"].dtype, pd.CategoricalDtype)


@pytest.mark.slow
def test_the_command_line_takes_such_a_model_with_a_csv(frame, file, tmp_path, capsys, monkeypatch):
    X, y = frame
    data = tmp_path / "loans.csv"
    keep = X["home region"] != "NA"  # which a CSV says of what is missing
    X[keep].assign(granted=y[keep]).to_csv(data, index=False)
    row = str(int(np.flatnonzero(y[keep] == 0)[0]))
    given = ["explain", "--model", str(file), "--data", str(data), "--label", "granted"]
    monkeypatch.setattr("sys.argv", ["counterfolio", *given, "--row", row, "--json"])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 0
    assert json.loads(capsys.readouterr().out)["status"] == "optimal"
    assert list(read_plain(data, "granted").X.columns) == list(X.columns)
