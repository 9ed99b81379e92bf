"""Goals that are solved part by part: bounds while parts are open, gaps, and claims that fail."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier, VotingClassifier

from encoders.core.errors import BrokenProblemError
from encoders.problem.problem import Problem
from portfolio import Explainer, Probability


@pytest.fixture(scope="module")
def voting():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(150, 3)), columns=list("abc"))
    y = (X.to_numpy() @ rng.normal(size=3) + rng.normal(0, 0.4, 150) > 0).astype(int)
    boosted = [
        (
            f"boosted {seed}",
            GradientBoostingClassifier(n_estimators=8, max_depth=2, random_state=seed),
        )
        for seed in (0, 1)
    ]
    forest = ("forest", RandomForestClassifier(5, max_depth=3, random_state=0))
    model = VotingClassifier([*boosted, forest], voting="soft").fit(X, y + (X["a"] > 0.5))
    return Explainer(model, X), X


def test_a_bound_is_told_while_parts_are_open_and_none_is_too_high(voting):
    explainer, X = voting
    for at in (1, 17, 60):
        result = explainer.explain(X.iloc[at], Probability(2, at_least=0.7))
        lowers = [lower for _, _, lower in result.trace]
        assert result.status == "optimal" and result.lower_bound == result.distance
        assert sum(0 < lower < result.distance for lower in lowers) > 3
        assert max(lowers) <= result.distance and lowers == sorted(lowers)


def test_a_solver_that_stops_at_a_gap_tells_one_or_none(voting):
    explainer, X = voting
    seen = set()
    for at in (17, 21):
        result = explainer.explain(X.iloc[at], strategy="smt")
        best = explainer.explain(X.iloc[at])
        assert result.lower_bound <= best.distance <= result.distance
        assert (result.status == "optimal") == (result.gap == 0) == (result.stop_reason == "proved")
        seen.add(result.status)
    assert seen == {"optimal", "feasible"}


def test_nothing_is_proved_of_trees_that_break_the_law(voting, monkeypatch):
    explainer, X = voting

    def check(problem):
        raise BrokenProblemError("problem invariant violated: trees are trees.")

    monkeypatch.setattr(Problem, "check", check)
    target = Probability(2, at_least=0.9999)
    result = explainer.explain(X.iloc[1], target)
    assert (result.status, result.stop_reason, result.lower_bound) == ("unknown", "error", 0.0)
    assert "trees are trees" in result.message
    monkeypatch.undo()
    proved = explainer.explain(X.iloc[1], target)
    assert proved.status == "infeasible" and math.isinf(proved.distance)
