"""Small batches start no workers, and their answers are those of workers."""

import os
import signal
from contextlib import suppress

import pandas as pd
import pytest

from encoders.query.constraints import Fixed
from portfolio.workers import small_batches
from portfolio.workers.interrupt import ended_gently
from portfolio.workers.small_batches import SmallBatchesHere
from portfolio.workers.work import Task
from tests.support.answers import here, same
from tests.support.processes import batch_workers


def refuse(job, tasks):
    raise AssertionError("workers were started")
    yield


def later(job, tasks):
    """Workers that mark their records."""
    for record in here(job, tasks):
        yield record | {"by": "workers"}


class Counted:
    """Each row takes as long as its payload says, on a clock of its own."""

    def answer(self, task):
        limit_s = min(task.limit_s, task.payload)
        reason = "proved" if task.payload <= task.limit_s else "time_limit"
        return {"key": task.key, "message": "", "stop_reason": reason, "spent": limit_s}

    def answer_briefly(self, task, limit_s):
        return small_batches.settled(self, task, limit_s)

    def warm_up(self, task):
        pass

    def lost(self, task, message, late=False):
        raise AssertionError


def answered(payloads, limit_s=60.0):
    tasks = (Task(str(at), payload, limit_s) for at, payload in enumerate(payloads))
    return list(SmallBatchesHere(later)(Counted(), tasks))


def test_two_rows_start_no_worker_and_are_answered_alike(explainer, credit):
    rows, constraints = credit[1].iloc[:3], [Fixed("age")]
    seen = []
    frame = explainer.explain_batch(
        rows,
        constraints=constraints,
        on_answer=lambda *counts: seen.append(batch_workers(os.getpid())),
    )
    assert seen == [[], [], []]
    same(frame, explainer.explain_batch(rows, constraints=constraints, executor=here))
    reasons = explainer.ask_batch("reasons", rows, executor=SmallBatchesHere(refuse))
    pd.testing.assert_series_equal(
        reasons["text"], explainer.ask_batch("reasons", rows, executor=here)["text"]
    )


@pytest.mark.parametrize(
    ("payloads", "limit_s", "by_workers"),
    [
        ([0.0, 0.0, 0.0], 60.0, []),
        ([0.0, 9.0, 0.0], 60.0, ["1", "2"]),  # the second row gets its whole limit from workers
        ([9.0, 0.0], 60.0, ["0", "1"]),
        ([9.0, 9.0], 0.5, []),  # a limit below the patience is kept here
        ([0.0] * small_batches.MOST_ROWS, 60.0, None),
    ],
)
def test_rows_that_are_worth_workers_go_to_workers(payloads, limit_s, by_workers):
    records = answered(payloads, limit_s)
    assert [record["key"] for record in records] == [str(at) for at in range(len(payloads))]
    sent = [record["key"] for record in records if "by" in record]
    assert sent == ([record["key"] for record in records] if by_workers is None else by_workers)
    reached = [payload <= limit_s for payload in payloads]
    assert [record["stop_reason"] == "proved" for record in records] == reached


def test_a_slow_pace_starts_workers_for_the_rest(monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr(small_batches, "perf_counter", lambda: next(ticks))
    records = answered([0.0] * 8)
    assert [record["key"] for record in records] == list("01234567")
    assert 0 < sum("by" in record for record in records) < 8


def test_ctrl_c_ends_the_batch_and_keeps_what_is_answered(explainer, credit, tmp_path):
    rows, counts = credit[1].iloc[:4], []

    def count(answered, n):
        counts.append(answered)
        if answered == 2:
            raise KeyboardInterrupt

    frame = explainer.explain_batch(rows, out=tmp_path, on_answer=count)
    assert counts == [1, 2]
    assert list(frame["stop_reason"]) == ["proved", "proved", "interrupted", "interrupted"]
    whole = explainer.explain_batch(rows, out=tmp_path, resume=True)
    same(whole, explainer.explain_batch(rows, executor=here))


def test_a_row_that_ctrl_c_cut_short_is_not_kept():
    class Interrupted(Counted):
        def answer(self, task):
            return super().answer(task) | {"stop_reason": "interrupted"}

    with pytest.raises(KeyboardInterrupt):
        list(SmallBatchesHere(refuse)(Interrupted(), iter([Task("0", 0.0, 60.0)])))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_a_row_that_is_proved_ends_the_batch_after_it(number):
    class Signalled(Counted):
        """The second row is proved in spite of a signal, which it takes for its own."""

        def answer(self, task):
            if task.key == "1":
                with suppress(KeyboardInterrupt):
                    os.kill(os.getpid(), number)
            return super().answer(task)

    tasks = (Task(str(at), 0.0, 60.0) for at in range(4))
    answered = []
    with ended_gently(), pytest.raises(KeyboardInterrupt):
        records = SmallBatchesHere(refuse)(Signalled(), tasks)
        answered.extend(record["key"] for record in records)  # each as it comes
    assert answered == ["0", "1"]
