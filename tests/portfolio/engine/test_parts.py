"""Parts of a question about many classes give the answer of the whole, and lose nothing cheaper."""

import math
import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from encoders.backends.interface import Request
from encoders.formulation import wide_columns
from encoders.formulation.pose import pose
from encoders.query.goal import ClassGoal
from encoders.search.backend import solve
from portfolio import Allowed, AllowMissing, Explainer, Fixed, MaxChanges
from portfolio.api.variants import asker_of
from portfolio.engine.certificate import Certificate
from portfolio.engine.question import Question
from portfolio.engine.split_columns import in_parts
from portfolio.engine.verify import Verified
from portfolio.model.tabular import read_row
from tests.support.category_tables import fitted, table

REQUEST = Request(time_limit_s=10.0, threads=1)
QUESTIONS = [
    {},
    {"norm": 0},
    {"norm": 2},
    {"norm": "inf"},
    {"weights": {"job": 0.1, "size": 0.0}},
    {"weights": {"income": 3.0}, "constraints": [Fixed("debt")]},
    {"norm": {"job": lambda old, new: len(str(old)) * len(str(new)) / 100, "size": {3: 0.1, 7: 1}}},
    {"constraints": [Allowed("job", ["cook", "nurse"]), Fixed("size")]},
    {"constraints": [MaxChanges(1), AllowMissing("job", cost=0.3)]},
    {"constraints": [Fixed("income"), Fixed("debt"), Fixed("size")]},
]


@pytest.fixture
def small(monkeypatch):
    """More than one class is many."""
    monkeypatch.setattr(wide_columns, "WIDE", 1)
    monkeypatch.setattr(wide_columns, "PART", 1)


def explained(kind, seed):
    X, y = table(seed, True, True)
    return Explainer(fitted(kind, seed, X, y), X), X


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "histograms"])
def test_parts_give_the_answer_of_the_whole(kind, monkeypatch):
    explainer, X = explained(kind, 4)
    rows = X[X.job.notna()].iloc[::100]
    asked = [(row, question) for _, row in rows.iterrows() for question in QUESTIONS]
    whole = [explainer.explain(row, **question) for row, question in asked]
    for size in (1, 2):
        monkeypatch.setattr(wide_columns, "WIDE", size)
        monkeypatch.setattr(wide_columns, "PART", size)
        for (row, question), one in zip(asked, whole, strict=True):
            parts = explainer.explain(row, **question)
            assert parts.status == one.status
            assert parts.distance == pytest.approx(one.distance, rel=1e-9)
            assert parts.lower_bound == pytest.approx(one.lower_bound, rel=1e-9)
    assert "optimal" in {one.status for one in whole}


def posing(explainer, row, question):
    """Return the arguments of pose() for the other class."""
    model = asker_of(explainer).model
    asked = read_row(row, model.space, model.ensemble.dtype, model.native.table)
    own = int(model.ensemble.scores(asked.values[None, :])[0].argmax())
    goal = ClassGoal((own + 1) % model.ensemble.n_classes)
    view = model.views[goal.target]
    query = Question(**question).query(model, asked, goal)
    return view.ensemble, view.cells, model.space, query


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["xgboost", "lightgbm"])
@pytest.mark.usefixtures("small")
def test_no_class_of_anything_cheaper_is_left_out(kind):
    kept = dropped = 0
    for seed, question in enumerate(QUESTIONS):
        explainer, X = explained(kind, 3 + seed % 2)
        given = posing(explainer, X[X.job.notna()].iloc[seed], question)
        wide = wide_columns.wide_columns(*given)
        alone = {}
        for classes in np.ndindex(*(column.cost.size for column in wide.columns)):
            region = {
                column.column: np.arange(column.cost.size) == own
                for column, own in zip(wide.columns, classes, strict=True)
            }
            if all((region[c.column] & np.isfinite(c.cost)).any() for c in wide.columns):
                alone[classes] = solve(pose(*given, region).problem, REQUEST).upper
        best = min(alone.values())
        for upper in {best + 0.2, best + 1e-6, best, math.inf}:
            found = wide.narrowed(wide.everything, upper)
            for classes, cost in alone.items():
                held = found is not None and all(
                    found[c.column][own] for c, own in zip(wide.columns, classes, strict=True)
                )
                assert held or not cost < upper
                kept, dropped = kept + held, dropped + (not held)
    assert kept > 50 and dropped > 50


@pytest.mark.usefixtures("small")
def test_parts_part_all_classes():
    explainer, X = explained("xgboost", 4)
    wide = wide_columns.wide_columns(*posing(explainer, X[X.job.notna()].iloc[0], {}))
    waiting, seen = [wide.everything], []
    while waiting:
        part, rest = wide.part(waiting.pop())
        waiting += rest
        assert all(classes.sum() == 1 for classes in part.values())
        seen.append(tuple(int(classes.argmax()) for classes in part.values()))
    assert len(set(seen)) == len(seen) == math.prod(c.sum() for c in wide.everything.values()) > 5


NEAR = np.zeros((1, 1), dtype=np.int64)


class Halves:
    """Stands for columns with many classes: numbers that are parted from below, one at a time."""

    everything = (0, 1, 2)

    def __init__(self):
        self.narrowed_to = []

    def part(self, region):
        return region[:1], [region[1:]] if len(region) > 1 else []

    def narrowed(self, region, upper):
        self.narrowed_to.append(upper)
        return region

    def holding(self, rows):
        return (1,) if rows is NEAR else None


def answered(cost, lower=0.0, stop_reason="proved", **changes):
    row = None if cost is None else Verified(np.zeros(1), cost, (), ClassGoal(0))
    return Certificate(row, lower, stop_reason, **changes)


def asks(answers, told):
    def ask(region, request):
        told.append((region, request.cutoff))
        request.on_bounds(3.0, 2.0)
        return answers[region[0]]

    return ask


def test_each_part_is_cut_off_at_the_best_answer_so_far():
    told, bounds, wide = [], [], Halves()
    answers = [answered(3.0, 3.0), answered(None, 3.0), answered(2.0, 2.0)]
    request = replace(REQUEST, cutoff=5.0, on_bounds=lambda *pair: bounds.append(pair))
    joint = in_parts(asks(answers, told), wide, request, math.inf, NEAR)
    assert told == [((0,), 5.0), ((1,), 3.0), ((2,), 3.0)]
    assert wide.narrowed_to == [3.0, 3.0]
    assert joint.answer.distance == joint.lower == 2.0
    assert joint.status == "optimal"
    assert set(bounds) == {(3.0, 0.0)}, "what bounds a part bounds nothing else"


def test_that_there_is_no_answer_is_held_against_the_classes_of_training_rows():
    told, wide = [], Halves()
    nothing = [answered(None, math.inf)] * 3
    joint = in_parts(asks(nothing, told), wide, REQUEST, math.inf, NEAR)
    assert [region for region, _ in told] == [(0,), (1,), (2,), (1,)]
    assert wide.narrowed_to == [math.inf, math.inf]
    assert joint.status == "infeasible"
    wide.narrowed = lambda region, upper: None
    answers = [nothing[0], answered(3.0, 3.0), nothing[0]]
    joint = in_parts(asks(answers, told), wide, REQUEST, math.inf, NEAR)
    assert (joint.status, joint.stop_reason, joint.lower) == ("feasible", "error", 0.0)


def test_parts_that_there_was_no_time_for_prove_nothing():
    told = []
    joint = in_parts(asks([answered(3.0, 3.0)], told), Halves(), REQUEST, time.perf_counter(), NEAR)
    assert len(told) == 1
    assert joint.status == "feasible" and joint.lower == 0.0
    assert joint.stop_reason == "time_limit"
    stop = threading.Event()
    stop.set()
    joint = in_parts(
        asks([answered(3.0, 3.0)], told), Halves(), replace(REQUEST, stop=stop), math.inf, NEAR
    )
    assert joint.stop_reason == "interrupted"


def test_a_part_with_too_many_ties_ends_the_question():
    told = []
    answers = [answered(3.0, 3.0), answered(None, stop_reason="time_limit", gave_up=True)]
    joint = in_parts(asks(answers, told), Halves(), REQUEST, math.inf, NEAR)
    assert len(told) == 2
    assert joint.gave_up and joint.answer.distance == 3.0
