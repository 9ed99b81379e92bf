"""Batches: every row answered once, whatever dies, fills up, or is interrupted on the way."""

import math
import os
import resource
import signal
from functools import partial

import numpy as np
import pandas as pd
import pytest

from encoders.core.errors import InputError
from portfolio.batch.answer_log import TABLE
from portfolio.batch.run import BatchError
from portfolio.workers.local_executor import LocalExecutor
from tests.support.answers import SETTLED, here, lines, same
from tests.support.processes import batch_workers
from tests.support.questions import scaled

pytestmark = pytest.mark.usefixtures("forked_children")


def test_what_comes_is_appended_as_it_comes(explainer, rows, expected, tmp_path):
    seen = []
    frame = explainer.explain_batch(
        rows, out=tmp_path, on_answer=lambda answered, n: seen.append((answered, n))
    )
    same(frame, expected)
    assert seen == [(answered, 40) for answered in range(1, 41)]
    assert len(lines(tmp_path)) == 40
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / TABLE), frame)


def test_what_was_answered_is_not_asked_again(explainer, rows, expected, tmp_path):
    explainer.explain_batch(rows, executor=here, out=tmp_path)
    again = explainer.explain_batch(
        rows, out=tmp_path, resume=True, on_answer=lambda *counts: pytest.fail("asked again")
    )
    same(again, expected)
    with pytest.raises(InputError, match="earlier run"):
        explainer.explain_batch(rows, out=tmp_path)


def test_another_question_may_share_the_folder(explainer, rows, tmp_path):
    explainer.explain_batch(rows.iloc[:5], executor=here, out=tmp_path)
    other = explainer.explain_batch(rows.iloc[:5], norm=0, executor=here, out=tmp_path, resume=True)
    assert set(other["distance"]) <= {0.0, 1.0, 2.0, 3.0} and len(lines(tmp_path)) == 10


def test_equal_rows_are_asked_once_and_counted_each(explainer, rows):
    twice = pd.concat([rows.iloc[:3]] * 2)
    seen = []
    frame = explainer.explain_batch(
        twice, executor=here, on_answer=lambda answered, n: seen.append((answered, n))
    )
    assert seen == [(2, 6), (4, 6), (6, 6)]
    assert (frame["status"] == "optimal").all()


def test_what_a_folder_holds_counts_as_answered(explainer, rows, tmp_path):
    explainer.explain_batch(rows.iloc[:3], executor=here, out=tmp_path)
    seen = []
    explainer.explain_batch(
        rows.iloc[:4], executor=here, out=tmp_path, resume=True,
        on_answer=lambda answered, n: seen.append((answered, n)),
    )  # fmt: skip
    assert seen == [(4, 4)]


def test_a_batch_answers_like_explain(explainer, credit, rows, expected):
    model, _ = credit
    assert list(expected["id"]) == list(rows.index)
    for (_, x), (_, answer) in zip(rows.iterrows(), expected.iterrows(), strict=True):
        alone = explainer.explain(x)
        assert (answer["status"], answer["target"]) == (alone.status, alone.target)
        assert answer["distance"] == pytest.approx(alone.distance, rel=1e-9)
        assert answer["changed"] == ", ".join(change.feature for change in alone.changed)
    found = expected[[f"cf_{name}" for name in rows.columns]].set_axis(rows.columns, axis=1)
    assert (model.predict(found) == expected["target"]).all()
    assert (model.predict(found) != model.predict(rows)).all()


def test_rows_that_fail_have_a_reason(explainer, rows, expected):
    broken = rows.astype(object)
    broken.iloc[3, 1] = np.nan
    broken.iloc[7, 0] = "old"
    frame = explainer.explain_batch(broken, executor=here)
    for place, word in ((3, "missing (NaN)"), (7, "'old'")):
        assert frame.loc[place, "status"] == "unknown"
        assert frame.loc[place, "stop_reason"] == "error"
        assert word in frame.loc[place, "message"]
    good = [i for i in range(40) if i not in (3, 7)]
    pd.testing.assert_frame_equal(frame.loc[good, SETTLED], expected.loc[good, SETTLED])


@pytest.mark.slow
def test_a_deadline_returns_what_is_done(explainer, rows, expected, tmp_path):
    frame = explainer.explain_batch(rows, deadline_s=1e-6, out=tmp_path)
    assert len(frame) == 40 and set(frame["stop_reason"]) == {"deadline"}
    same(explainer.explain_batch(rows, out=tmp_path, resume=True), expected)


@pytest.mark.slow
def test_a_killed_worker_loses_no_row(explainer, rows, expected):
    killed = []

    def kill(answered, n):
        if answered in (5, 20):
            killed.extend(batch_workers(os.getpid()))
            for pid in killed[-2:]:
                os.kill(pid, signal.SIGKILL)

    same(explainer.explain_batch(rows, executor=LocalExecutor(2), on_answer=kill), expected)
    assert len(killed) >= 2
    assert batch_workers(os.getpid()) == []


def test_a_full_disk_loses_nothing_that_was_written(explainer, rows, expected, tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]))
    try:
        with pytest.raises(BatchError, match="can't write the answers: File too large") as full:
            explainer.explain_batch(rows, out=tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    kept = lines(tmp_path)
    assert 0 < len(kept) < 40
    answered = full.value.frame["status"] == "optimal"
    assert len(kept) < answered.sum() < 40
    same(explainer.explain_batch(rows, out=tmp_path, resume=True), expected)
    assert len({record["key"] for record in lines(tmp_path)}) == len(lines(tmp_path)) == 40


@pytest.mark.slow
def test_another_norm_is_asked_anew(explainer, rows, tmp_path):
    asked = {"out": tmp_path, "executor": LocalExecutor(1)}
    first = explainer.explain_batch(rows.head(3), norm=partial(scaled, 1.0), **asked)
    again = explainer.explain_batch(rows.head(3), norm=partial(scaled, 5.0), resume=True, **asked)
    assert again["distance"].to_numpy() == pytest.approx(5 * first["distance"].to_numpy())


def test_labels_that_no_table_holds_become_text(explainer, rows, tmp_path):
    odd = rows.head(3).set_axis(pd.Index([1, "a", None]))
    frame = explainer.explain_batch(odd, executor=here, out=tmp_path)
    assert list(frame["id"]) == ["1", "a", "None"]


@pytest.mark.slow
def test_no_limit_is_a_long_limit(explainer, rows):
    frame = explainer.explain_batch(rows.head(2), time_limit_s=math.inf, executor=LocalExecutor(1))
    assert set(frame["stop_reason"]) == {"proved"}
