"""Gurobi beyond the licence that its package brings: told clearly, and done without."""

import gurobipy
import pytest

from encoders.backends.interface import Request
from encoders.backends.milp.gurobi import SIZE_LIMIT, TOO_LARGE
from encoders.testing.hard_problem import hard_problem
from portfolio.workers.solver_workers import Workers
from tests.support.checks import backend


def size_limited():
    try:
        with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
            model.addMVar(SIZE_LIMIT + 1)
            model.optimize()
    except gurobipy.GurobiError as error:
        return error.errno == TOO_LARGE
    return False


pytestmark = pytest.mark.skipif(not size_limited(), reason="there is another licence here")


@pytest.fixture
def workers():
    made = Workers()
    yield made
    made.close()


def test_a_model_over_the_limit_is_refused_in_one_sentence(workers):
    request = Request(60.0, 1, engine="gurobi")
    outcome = workers.run(backend("milp"), hard_problem(), request)
    assert (outcome.status, outcome.stop_reason) == ("unknown", "error")
    assert outcome.raw.startswith("a model of") and "Gurobi's size-limited licence" in outcome.raw


@pytest.mark.slow
def test_auto_falls_back_to_highs(workers):
    outcome = workers.run(backend("milp"), hard_problem(), Request(2.0, 1, engine="auto"))
    assert outcome.stop_reason == "time_limit"
    assert "gurobi" not in outcome.raw.lower()
