"""The class that is nearest is asked first; what is answered does not depend on it."""

import threading
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

from encoders.backends.interface import Request
from encoders.query.goal import ClassGoal
from portfolio.api.explainer import Explainer
from portfolio.engine import goal_turns, near_first, split_goals
from portfolio.engine.certificate import Certificate
from portfolio.engine.goal_turns import HARD_S, GoalTurn, GoalTurns
from portfolio.engine.reduced import ReductionMemo
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

    def __init__(self, calls: int, threads: int = 1) -> None:
        self.calls, self.deadline = calls, time.perf_counter() + 60.0
        self.request = Request(60.0, threads)
        self.goals: list[str] = []
        self.turns: list[GoalTurn] = []

    def over(self) -> bool:
        return len(self.goals) >= self.calls

    def ask(self, goal: str, turn: GoalTurn) -> Certificate:
        self.goals.append(goal)
        self.turns.append(turn)
        hard = goal == "hard" and self.goals.count(goal) == 1
        return Certificate(None, 0.5, "time_limit") if hard else Certificate(None, 1.0, "proved")


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("calls", "order", "lower"),
    [
        (9, ["hard", "second", "third", "hard"], np.inf),
        (3, ["hard", "second", "third"], 0.5),
        (2, ["hard", "second"], 0.0),
    ],
)
def test_a_hard_goal_leaves_time_for_the_others(
    calls: int, order: list[str], lower: float, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(goal_turns, "HARD_S", np.inf)  # also on a busy machine
    clock = _Clock(calls, threads)
    joint = GoalTurns(clock.ask, ["hard", "second", "third"], clock).run()  # type: ignore
    assert clock.goals == order
    assert joint.lower == lower or (lower == np.inf and joint.status == "infeasible")
    seconds = [turn.seconds for turn in clock.turns]
    assert seconds[:3] == [seconds[0]] * min(calls, 3)
    assert all(later == np.inf for later in seconds[3:])  # no other goal waits
    assert all(turn.threads == threads for turn in clock.turns)


class _Pair(_Clock):
    """Goals after the first, each of which ends once another one has begun."""

    def __init__(self, fails: str = "") -> None:
        super().__init__(99, threads=4)
        self.fails, self.both = fails, threading.Barrier(2)

    def ask(self, goal: str, turn: GoalTurn) -> Certificate:
        super().ask(goal, turn)
        if goal == "first":
            time.sleep(2 * HARD_S)
        else:
            self.both.wait(30)
        if goal == self.fails:
            raise ZeroDivisionError(goal)
        return Certificate(None, 1.0, "proved")


def test_goals_after_a_hard_one_are_solved_at_once() -> None:
    pair = _Pair()
    joint = GoalTurns(pair.ask, ["first", "second", "third"], pair).run()  # type: ignore
    assert joint.status == "infeasible"
    assert [turn.threads for turn in pair.turns] == [4, 2, 2]


def test_goals_after_a_hard_one_are_bounded_before_any_is_searched_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(goal_turns, "HARD_S", -1.0)  # every turn counts as hard
    clock = _Clock(9)
    GoalTurns(clock.ask, ["hard", "second", "third"], clock).run()  # type: ignore
    assert clock.goals == ["hard", "second", "third", "hard"]
    assert [turn.seconds for turn in clock.turns] == [goal_turns.FIRST_TURN_S, 0.0, 0.0, np.inf]


@pytest.mark.parametrize("fails", ["second", "third"])
def test_an_error_of_one_of_several_goals_is_raised(fails: str) -> None:
    pair = _Pair(fails)
    with pytest.raises(ZeroDivisionError, match=fails):
        GoalTurns(pair.ask, ["first", "second", "third"], pair).run()  # type: ignore


@pytest.mark.slow
@pytest.mark.parametrize("most_leaves", [near_first.MANY_LEAVES, 0])
def test_turns_and_threads_change_no_answer(
    most_leaves: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With 0, levels and leaves within limited distances are encoded."""
    monkeypatch.setattr(near_first, "MANY_LEAVES", most_leaves)
    monkeypatch.setattr(goal_turns, "HARD_S", 0.0)
    X, y = load_digits(return_X_y=True)
    model = RandomForestClassifier(10, max_depth=6, random_state=0).fit(X, y)
    explainer = Explainer(model, X)
    solved: list[bool] = []

    def noted(memo: ReductionMemo, *asked: Any) -> Any:
        solved.append(memo.problem is asked[0])
        return reduce(memo, *asked)

    reduce = ReductionMemo.reduce
    monkeypatch.setattr(ReductionMemo, "reduce", noted)
    for row in X[::600]:
        own = model.predict(row[None, :])[0]
        one = explainer.explain(row, threads=1, strategy="search")
        each = [explainer.explain(row, target=t) for t in range(10) if t != own]
        with monkeypatch.context() as patch:
            patch.setattr(goal_turns, "FIRST_TURN_S", 1e-6)  # for presolve only
            two = explainer.explain(row, threads=2, strategy="search")
        assert one.status == two.status == "optimal"
        assert one.distance == pytest.approx(min(result.distance for result in each), rel=1e-9)
        assert two.distance == pytest.approx(one.distance, rel=1e-9)
        assert two.lower_bound == pytest.approx(one.lower_bound, rel=2e-9)
    assert any(solved)  # some turns began with an earlier reduction
