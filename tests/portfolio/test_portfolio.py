"""A portfolio limits the backends of a query, whichever way it is asked."""

import json

import joblib
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer
from tests.portfolio.cli.test_cli import run

TWO = ["cp", "milp/highs"]


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(400, 8, n_informative=8, n_redundant=0, random_state=1)
    return pd.DataFrame(X).add_prefix("f"), y


@pytest.fixture(scope="module")
def forest(rows):
    X, y = rows
    return RandomForestClassifier(40, max_depth=6, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def explainer(forest, rows):
    return Explainer(forest, rows[0])


@pytest.fixture(scope="module")
def row(explainer, rows):
    """A row that presolve alone does not prove."""
    X = rows[0]
    return next(X.iloc[at] for at in range(50) if explainer.explain(X.iloc[at]).attempts)


@pytest.mark.slow
def test_only_its_backends_run(explainer, row):
    expected = explainer.explain(row)
    result = explainer.explain(row, portfolio=TWO, threads=2)
    assert result.decision == "milp/highs and CP race"
    assert {each.backend for each in result.attempts} == {"cp", "milp"}
    raced = explainer.explain(row, portfolio=TWO, strategy="race", threads=2)
    assert {each.backend for each in raced.attempts} == {"cp", "milp"}
    by_text = explainer.explain(row, portfolio="cp", threads=2)
    assert [each.backend for each in by_text.attempts] == ["cp"]
    twice = explainer.explain(row, portfolio=TWO, second="cp")
    assert twice.second == "cp"
    for answer in (result, raced, by_text, twice):
        assert (answer.status, answer.verified) == ("optimal", True)
        assert answer.distance == pytest.approx(expected.distance)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["paper", "no-licence"])
def test_shipped_portfolios_prove_the_same_optimum(explainer, row, name):
    result = explainer.explain(row, portfolio=name, threads=2)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.distance == pytest.approx(explainer.explain(row).distance)
    assert name != "paper" or "search" not in {each.backend for each in result.attempts}


@pytest.mark.slow
def test_batches_and_commands_accept_it(explainer, forest, rows, row, tmp_path):
    expected = explainer.explain(row)
    table = explainer.explain_batch(row.to_frame().T, portfolio=TWO)
    joblib.dump(forest, tmp_path / "model.joblib")
    rows[0].to_csv(tmp_path / "rows.csv", index=False)
    data = ["--model", tmp_path / "model.joblib", "--trust-pickle", "--data", tmp_path / "rows.csv"]
    limits = ["--portfolio", "cp,milp/highs"]
    at = int(row.name)
    document = json.loads(run("explain", *data, "--row", at, *limits, "--json").stdout)
    run("batch", *data, "--rows", f"{at}:{at + 1}", *limits, "--out", tmp_path / "answers")
    batch = pd.read_parquet(tmp_path / "answers" / "answers.parquet")
    for answer in (table.iloc[0], document, batch.iloc[0]):
        assert answer["distance"] == pytest.approx(expected.distance)
        assert answer["backend"] in ("cp", "milp")


@pytest.mark.slow
def test_a_batch_is_resumed_with_the_same_portfolio_only(explainer, rows, tmp_path):
    X = rows[0].head(2)
    explainer.explain_batch(X, portfolio=TWO, out=tmp_path / "a")
    again = explainer.explain_batch(X, portfolio=TWO, out=tmp_path / "a", resume=True)
    assert (again["status"] == "optimal").all()
    counts = []
    explainer.explain_batch(
        X,
        portfolio="cp",
        out=tmp_path / "a",
        resume=True,
        on_answer=lambda answered, rows: counts.append(answered),
    )
    assert counts[-1] == 2
