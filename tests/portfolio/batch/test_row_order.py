"""Rows of a batch are solved in an order in which neighbours share an encoding."""

import numpy as np
import pytest

from portfolio import Decrease, Fixed, MaxChanges, Precedence
from portfolio.batch.row_order import alike_together
from portfolio.batch.run import read_batch
from portfolio.engine.question import Question
from tests.support.answers import here, same


def neighbours(values, order):
    """Return how often two neighbours have equal values."""
    ordered = np.array([values[at] for at in order])
    return int((ordered[1:] == ordered[:-1]).all(axis=1).sum())


@pytest.mark.parametrize(
    ("constraints", "names"),
    [
        ([Fixed("age")], ["age"]),
        ([MaxChanges(2), Decrease("age"), Fixed("income")], ["age", "income"]),
    ],
)
def test_rows_with_the_same_limits_are_neighbours(explainer, credit, constraints, names):
    rows = credit[1].iloc[:60].round(1)
    asker = explainer._asker
    read = read_batch(asker, Question(constraints=constraints), rows)
    assert sorted(read.order) == list(range(60))
    values = rows[names].to_numpy()
    assert neighbours(values, read.order) == 60 - len(np.unique(values, axis=0))


def test_rows_that_no_constraint_limits_keep_their_order(explainer, credit):
    rows = credit[1].iloc[:20]
    read = read_batch(explainer._asker, Question(constraints=[MaxChanges(2)]), rows)
    assert list(read.order) == list(range(20))


def test_rows_that_cannot_be_read_come_first_and_the_others_are_answered(explainer, credit):
    rows = credit[1].iloc[:12].round(1).astype(object)
    rows.iloc[5, 0] = "many"
    constraints = [Fixed("age")]
    read = read_batch(explainer._asker, Question(constraints=constraints), rows)
    assert read.order[0] == 5 and sorted(read.order) == list(range(12))
    answers = explainer.explain_batch(rows, constraints=constraints, executor=here)
    assert (answers["status"] == "optimal").sum() == 11 and "many" in answers["message"].iloc[5]
    good = rows.drop(index=rows.index[5]).astype(float)
    alone = [
        explainer.explain_batch(good.iloc[[at]], constraints=constraints, executor=here)
        for at in range(11)
    ]
    every = explainer.explain_batch(good, constraints=constraints, executor=here)
    for at, one in enumerate(alone):
        same(every.iloc[[at]].reset_index(drop=True), one)


def test_rows_are_solved_in_their_order_before_a_deadline(explainer, credit):
    solved = []

    def noting(job, tasks):
        for task in tasks:
            solved.append(task.payload.tolist())
            yield job.answer(task)

    rows = credit[1].iloc[:12].round(1)
    settings = {"constraints": [Fixed("age")], "executor": noting}
    explainer.explain_batch(rows, deadline_s=600.0, **settings)
    assert solved == rows.to_numpy().tolist()
    solved.clear()
    explainer.explain_batch(rows, **settings)
    assert solved != rows.to_numpy().tolist() and sorted(solved) == sorted(rows.to_numpy().tolist())


def test_constraints_that_a_row_contradicts_do_not_end_the_batch(explainer):
    space = explainer._asker.model.space
    rules = [Precedence(space.features[0].name, ["a", "b"])]  # of a column of numbers
    rows = [np.zeros(len(space.columns)) for _ in range(3)]
    assert alike_together(space, rules, rows) == [0, 1, 2]
