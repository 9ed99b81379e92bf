"""The benchmark of backends: counts, ratios and agreement."""

from dataclasses import replace

import pytest

from encoders.core.errors import InputError
from portfolio.bench.backends import BackendPlan, BackendRun, disagreements, summarise
from portfolio.bench.cases import Cases, RunLimits
from portfolio.data.collection import datasets
from portfolio.data.trained_models import train

WINE = Cases(only=("wine",), kinds=("soft", "hard", "xgb"), trees=5, depth=3, queries=2)
LIMITS = RunLimits(time_limit_s=30.0, threads=1)


def runs_of(plan):
    """Return all runs of a plan."""
    return list(plan.runs())


@pytest.mark.slow
def test_all_backends_answer_the_same_queries_and_agree():
    plan = BackendPlan(WINE, ("auto", "cp", "plain-cp"), limits=LIMITS)
    runs = runs_of(plan)
    assert len(runs) == 18 and plan.total == 18
    assert disagreements(runs) == []
    lines = summarise(runs, "plain-cp").set_index("backend")
    assert (lines["proved"] == 1.0).all() and (lines["queries"] == 2).all()
    assert (lines["ratio"] > 0).all() and (lines.loc["plain-cp", "ratio"] == 1.0).all()


def test_a_disagreement_is_found():
    run = BackendRun("d", "soft", 1, "cp", "optimal", 0.1, 0.5, False, 3, 4)
    same = replace(run, backend="search")
    assert disagreements([run, same]) == []
    assert disagreements([run, replace(same, distance=0.4)])
    assert disagreements([run, replace(same, status="infeasible", distance=None)])
    assert disagreements([run, replace(same, status="feasible", distance=0.6)]) == []


def test_a_ratio_is_that_of_medians():
    runs = [
        BackendRun("d", "soft", q, b, "optimal", s, 0.5, False, 3, 4)
        for q in (1, 2, 3)
        for b, s in (("auto", 0.1), ("plain-cp", 5.0))
    ]
    lines = summarise(runs, "plain-cp").set_index("backend")
    assert lines.loc["auto", "ratio"] == pytest.approx(50)


def test_without_a_baseline_there_is_no_ratio():
    run = BackendRun("d", "soft", 1, "cp", "optimal", 0.1, 0.5, False, 3, 4)
    assert summarise([run], "plain-cp")["ratio"].isna().all()


def test_an_unknown_kind_is_an_error():
    with pytest.raises(InputError, match="unknown kind"):
        next(replace(WINE, kinds=("solid",)).each())


def test_a_depth_of_0_is_no_limit():
    (wine,) = datasets(None, ["wine"])
    deepest = [
        max(tree.tree_.max_depth for tree in train(wine, "forest", 5, depth, 0).estimators_)
        for depth in (2, 0)
    ]
    assert deepest[0] == 2 < deepest[1]
