"""Exploration: a share of the queries is solved by every backend, so that logs compare them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from counterfolio import Explainer, Exploration, InputError, Logbook
from portfolio.batch.exploration import explorable
from portfolio.engine.logbook import EXPLORED
from selector import logs
from selector.learning.examples import covered
from tests.support.records import record

pytestmark = pytest.mark.usefixtures("forked_children")


@pytest.fixture(scope="module")
def hard():
    """Return an explainer and the rows of it that presolve does not prove."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(200, 6)), columns=list("abcdef"))
    y = np.where((X**2).sum(axis=1) + rng.normal(0, 2, 200) > 6, "out", "in")
    explainer = Explainer(RandomForestClassifier(12, max_depth=6, random_state=0).fit(X, y), X)
    rows = (X.iloc[[i]] for i in range(200))
    solved = (row for row in rows if explainer.explain(row, norm=2, threads=1).attempts)
    return explainer, pd.concat([next(solved), next(solved)])


@pytest.mark.slow
def test_an_explored_query_has_a_run_of_every_backend(hard, tmp_path):
    explainer, X = hard
    book, explore = Logbook(tmp_path, "hard"), Exploration(1.0, budget_s=16.0)
    result = explainer.explain(X.iloc[[0]], norm=2, threads=1, log=book, explore=explore)
    explored = logs.read(tmp_path / EXPLORED)
    assert set(explored["backend"]) == set(explorable()) and len(explored) == len(explorable())
    assert set(explored["query"]) == set(logs.read(tmp_path)["query"])
    assert (explored["limit_s"] <= 16.0 / 2 / len(explorable())).all()
    proved = explored.loc[explored["status"] == "optimal", "upper"]
    assert proved.to_numpy() == pytest.approx(result.distance, rel=1e-5)
    assert logs.check(explored) == []


@pytest.mark.slow
def test_explored_rows_of_a_batch_teach_what_its_own_logs_cannot(hard, tmp_path):
    explainer, X = hard
    explore = Exploration(1.0, budget_s=6.0)
    frame = explainer.explain_batch(X, norm=2, log=str(tmp_path), explore=explore)
    assert list(frame["status"]) == ["optimal"] * 2
    _, own = covered(logs.read(tmp_path))
    data, explored = covered(logs.read(tmp_path / EXPLORED))
    assert own.compared == 0 and own.complete == {"search": 2}
    assert 1 <= explored.compared == len(data)


def test_queries_that_presolve_proves_and_a_share_of_0_are_not_explored(hard, tmp_path):
    explainer, X = hard
    explainer.explain(X.iloc[[0]], norm=2, threads=1, log=tmp_path, explore=0.0)
    assert not (tmp_path / EXPLORED).exists()


@pytest.mark.parametrize(
    ("explore", "log", "message"),
    [
        (0.5, None, "Set log to a folder"),
        (0.5, lambda result: None, "Set log to a folder"),
        (1.5, "logs", "from 0 to 1, got 1.5"),
        (True, "logs", "from 0 to 1, got True"),
    ],
)
def test_exploration_that_cannot_be_done_is_refused(hard, explore, log, message):
    explainer, X = hard
    with pytest.raises(InputError, match=message):
        explainer.explain(X.iloc[[0]], log=log, explore=explore)


def test_the_budget_bounds_the_seconds_of_each_run(hard, tmp_path):
    explainer, X = hard
    budget = Exploration(1.0, budget_s=0.8)
    explainer.explain(X.iloc[[0]], norm=2, threads=1, log=tmp_path, explore=budget)
    explored = logs.read(tmp_path / EXPLORED)
    assert (explored["limit_s"] <= 0.8 / 2 / len(explorable())).all()


def test_runs_that_were_interrupted_do_not_compare_backends(tmp_path):
    stopped = {"censored": True, "stop_reason": "interrupted", "mode": "race"}
    logs.append(tmp_path, [
        record("a", "search", 1.0, mode="race"),
        record("a", "milp", None, total_s=0.5, **stopped),  # stopped before search ended
        record("b", "search", 1.0, mode="race"),
        record("b", "cp", None, total_s=1.5, **stopped),  # went on longer than search
        record("b", "cp", 2.0, run="own"),
    ])  # fmt: skip
    _, coverage = covered(logs.read(tmp_path))
    assert (coverage.solved, coverage.compared) == (2, 1)
    assert coverage.complete == {"search": 2, "cp": 1}
    assert coverage.interrupted == {"milp": 1, "cp": 1}
    assert "on 1 of 2 solved queries" in str(coverage) and "milp 1" in str(coverage)
