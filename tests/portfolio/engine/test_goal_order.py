"""The class that is nearest is asked first; what is answered does not depend on it."""

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from encoders.backends.interface import Request
from encoders.query.goal import ClassGoal
from portfolio.api.explainer import Explainer
from portfolio.engine import split_goals
from portfolio.engine.certificate import Certificate
from portfolio.engine.split_goals import nearest_first


def _three_classes(scale: float = 1.0) -> Explainer:
    """Classes side by side along the first column: 0 below 1, 1 below 2, and 2."""
    X = pd.DataFrame(np.random.default_rng(0).random((300, 2)) * [3.0, 1.0], columns=["a", "b"])
    y = X["a"].astype(int)
    model = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X * scale, y)
    return Explainer(model, X * scale)


def _order(
    explainer: Explainer, row: list[float], monkeypatch: pytest.MonkeyPatch, **settings: object
) -> list[int]:
    """The classes in the order in which they were asked."""
    seen: list[int] = []

    def noted(*asked: object) -> list[ClassGoal]:
        goals = nearest_first(*asked)  # type: ignore[arg-type]
        seen.extend(goal.target for goal in goals)
        return goals  # type: ignore[return-value]

    with monkeypatch.context() as patch:
        patch.setattr(split_goals, "nearest_first", noted)
        explainer.explain(row, **settings)  # type: ignore[arg-type]
    return seen


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_the_nearest_class_is_asked_first(norm: object, monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = _three_classes()
    assert _order(explainer, [0.2, 0.5], monkeypatch, norm=norm) == [1, 2]
    assert _order(explainer, [2.8, 0.5], monkeypatch, norm=norm) == [1, 0]


def test_a_lone_class_is_asked_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _order(_three_classes(), [0.2, 0.5], monkeypatch, target=2) == [2]


def test_choices_above_the_best_answer_are_not_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer, calls = _three_classes(), list[int]()
    likely = RandomForestClassifier.predict_proba

    def counted(model: RandomForestClassifier, rows: Any) -> Any:
        calls.append(len(rows))
        return likely(model, rows)

    monkeypatch.setattr(RandomForestClassifier, "predict_proba", counted)
    assert explainer.explain([0.2, 0.5]).target == 1
    assert calls == [2]  # the query and the answer; class 2 is farther


@pytest.mark.slow
def test_the_order_changes_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    explainer = _three_classes(scale=10.0)
    rows = np.random.default_rng(1).random((60, 2)) * [30.0, 10.0]
    near = [explainer.explain(row) for row in rows]
    monkeypatch.setattr(
        split_goals, "nearest_first", lambda *asked: list(reversed(nearest_first(*asked)))
    )
    for row, first in zip(rows, near, strict=True):
        second = explainer.explain(row)
        assert first.status == second.status == "optimal"
        assert second.distance == pytest.approx(first.distance, rel=1e-9)
        assert second.lower_bound == pytest.approx(first.lower_bound, rel=2e-9)


class _Clock:
    """A task whose time is over after some calls."""

    def __init__(self, calls: int) -> None:
        self.calls, self.deadline, self.request = (
            calls,
            time.perf_counter() + 60.0,
            Request(60.0, 1),
        )
        self.goals: list[str] = []
        self.turns_s: list[float] = []

    def over(self) -> bool:
        return len(self.goals) >= self.calls

    def ask(self, goal: str, until: float, turn_s: float, best: Certificate | None) -> Certificate:
        self.goals.append(goal)
        self.turns_s.append(turn_s)
        hard = goal == "hard" and self.goals.count(goal) == 1
        return Certificate(None, 0.5, "time_limit") if hard else Certificate(None, 1.0, "proved")


@pytest.mark.parametrize(
    ("calls", "order", "lower"),
    [
        (9, ["hard", "second", "third", "hard"], np.inf),
        (3, ["hard", "second", "third"], 0.5),
        (2, ["hard", "second"], 0.0),
    ],
)
def test_a_hard_goal_leaves_time_for_the_others(calls: int, order: list[str], lower: float) -> None:
    clock = _Clock(calls)
    joint = split_goals.in_turns(clock.ask, ["hard", "second", "third"], clock)  # type: ignore
    assert clock.goals == order
    assert joint.lower == lower or (lower == np.inf and joint.status == "infeasible")
    assert clock.turns_s[:3] == [clock.turns_s[0]] * min(calls, 3)
    assert all(later == np.inf for later in clock.turns_s[3:])  # no other goal waits
