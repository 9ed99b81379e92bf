"""Ordinary files on the command line: a table with a label, and a pipeline in a file."""

import json

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio.cli.app import app
from portfolio.data.plain_tables import read_plain
from portfolio.model.files import load_model

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture(scope="module")
def loans(tmp_path_factory):
    """A folder with loans.csv, loans.parquet and pipeline.skops."""
    folder, random = tmp_path_factory.mktemp("plain"), np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "income": random.gamma(2, 1500, 80).round(),
            "job": random.choice(["cook", "nurse", "pilot"], 80),
            "owns": random.random(80) < 0.5,
        }
    )
    frame["granted"] = np.where((frame.income > 2500) ^ (frame.job == "cook"), "yes", "no")
    frame.loc[::9, "income"] = np.nan
    frame.to_csv(folder / "loans.csv", index=False)
    frame.to_parquet(folder / "loans.parquet")
    steps = make_column_transformer(
        (SimpleImputer(), ["income"]), (OneHotEncoder(), ["job"]), remainder="passthrough"
    )
    model = make_pipeline(steps, RandomForestClassifier(5, max_depth=3, random_state=0))
    skops.io.dump(
        model.fit(frame.drop(columns="granted"), frame.granted), folder / "pipeline.skops"
    )
    return folder


def run(*words):
    done = CliRunner().invoke(app, list(map(str, words)))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done


@pytest.mark.slow
@pytest.mark.parametrize("name", ["loans.csv", "loans.parquet"])
def test_a_pipeline_explains_a_row_of_any_table(loans, name):
    done = run(
        *("explain", "--data", loans / name, "--label", "granted", "--row", 1, "--json"),
        *("--model", loans / "pipeline.skops"),
    )
    assert done.exit_code == 0, done.output
    answer = json.loads(done.output)
    assert answer["status"] == "optimal" and answer["verified"]
    assert set(answer["query"]) == {"income", "job", "owns"}


@pytest.mark.slow
def test_an_answer_holds_under_the_model_of_another_file(loans, tmp_path):
    whole = pd.read_csv(loans / "loans.csv")
    model = load_model(loans / "pipeline.skops")
    other = clone(model).set_params(randomforestclassifier__random_state=7)
    skops.io.dump(other.fit(whole.drop(columns="granted"), whole.granted), tmp_path / "new.skops")
    given = ("explain", "--data", loans / "loans.csv", "--label", "granted", "--row", 1, "--json")
    alone = run(*given, "--model", loans / "pipeline.skops")
    both = run(*given, "--model", loans / "pipeline.skops", "--also", tmp_path / "new.skops")
    assert both.exit_code == 0, both.output
    told = json.loads(both.output)
    assert told["distance"] >= json.loads(alone.output)["distance"]
    row = pd.DataFrame([told["counterfactual"]])
    assert model.predict(row) == other.predict(row) == [told["target"]]


def test_a_batch_takes_rows_of_another_file(loans, tmp_path):
    whole = pd.read_csv(loans / "loans.csv")
    whole.head(5).to_csv(tmp_path / "rows.csv", index=False)
    done = run(
        *("batch", "--data", loans / "loans.csv", "--label", "granted", "--train", "forest"),
        *("--trees", 5, "--input", tmp_path / "rows.csv", "--out", tmp_path / "out"),
    )
    assert done.exit_code == 0, done.output
    found = pd.read_parquet(tmp_path / "out" / "answers.parquet")
    assert list(found["status"]) == ["optimal"] * 5
    assert set(found["cf_job"].dropna()) <= {"cook", "nurse", "pilot"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--label", "wealth"), "has no column 'wealth'. Use one of income, job"),
        (("--label", "granted", "--dataset", "x.csv"), "exactly one of --dataset and --data"),
        (("--label", "granted", "--query", "none.csv"), "file none.csv does not exist"),
    ],
)
def test_what_does_not_fit_is_told(loans, words, told):
    row = () if "--query" in words else ("--row", 1)
    command = ("explain", "--data", loans / "loans.csv", "--train", "forest", *row, *words)
    with pytest.raises(Exception, match=told):
        run(*command)


def test_a_name_twice_and_a_label_alone_are_refused(tmp_path):
    """Pandas renames the second column of a name; scikit-learn raises for a table of none."""
    for text, words in (
        ("a,a,b\n1,2,0\n3,4,1\n", "two columns named 'a'"),
        ("b\n0\n1\n", "only the label column 'b'"),
    ):
        (tmp_path / "table.csv").write_text(text)
        with pytest.raises(InputError, match=words):
            read_plain(tmp_path / "table.csv", "b")
