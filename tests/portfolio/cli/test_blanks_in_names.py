"""Names of a CSV keep the blanks around them, as pandas reads them and models know them."""

import json

import numpy as np
import pandas as pd
import pytest
import xgboost as xgb
from typer.testing import CliRunner

from portfolio.cli.app import app

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.mark.slow
@pytest.mark.parametrize("names", [["age", " hours", " y"], ["age ", "hours", "y"]])
@pytest.mark.parametrize("asked", ["as they are", "without blanks"])
def test_names_keep_their_blanks(names, asked, tmp_path):
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.integers(1, 99, (200, 2)), columns=names[:2])
    table[names[2]] = (table.iloc[:, 0] > 40).astype(int)
    table.to_csv(tmp_path / "table.csv", index=False)
    read = pd.read_csv(tmp_path / "table.csv")
    model = xgb.XGBClassifier(n_estimators=4, max_depth=3).fit(read[names[:2]], read[names[2]])
    model.save_model(tmp_path / "model.ubj")
    row = table.iloc[[0]].rename(columns=str if asked == "as they are" else str.strip)
    row.to_csv(tmp_path / "row.csv", index=False)
    options = ["explain", "--data", str(tmp_path / "table.csv"), "--label", "y", "--json"]
    options += ["--model", str(tmp_path / "model.ubj"), "--query", str(tmp_path / "row.csv")]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["status"] == "optimal" and list(answer["query"]) == names[:2]
