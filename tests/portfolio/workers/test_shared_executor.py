"""A thread of the caller's process answers rows beside worker processes."""

import os
import signal
import threading
import time
from collections import Counter

import pytest

from portfolio.workers import caller_thread, shared_executor
from portfolio.workers.local_executor import LocalExecutor
from portfolio.workers.shared_executor import SharedExecutor
from tests.support.answers import here, same
from tests.support.processes import batch_workers

pytestmark = pytest.mark.usefixtures("forked_children")


def shared(workers):
    return SharedExecutor(LocalExecutor(workers=workers))


def row_threads():
    return [each for each in threading.enumerate() if each.name == "counterfolio-rows"]


def test_one_worker_is_the_thread_and_starts_no_process(explainer, credit):
    rows, seen = credit[1].iloc[:30], []
    frame = explainer.explain_batch(
        rows, executor=shared(1), on_answer=lambda *counts: seen.append(batch_workers(os.getpid()))
    )
    same(frame, explainer.explain_batch(rows, executor=here))
    assert seen == [[]] * 30 and row_threads() == []


def test_answers_are_those_of_processes_and_are_counted_once(explainer, credit):
    rows, counts = credit[1].iloc[:120], []
    frame = explainer.explain_batch(
        rows, executor=shared(2), on_answer=lambda answered, n: counts.append(answered)
    )
    same(frame, explainer.explain_batch(rows, executor=LocalExecutor(workers=1)))
    assert counts == list(range(1, 121))
    assert batch_workers(os.getpid()) == row_threads() == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_takes_the_place_of_the_thread_if_rows_are_slow(
    workers, explainer, credit, monkeypatch
):
    monkeypatch.setattr(caller_thread, "LIMIT_S", 1e-6)
    rows, seen = credit[1].iloc[:20], set()
    frame = explainer.explain_batch(
        rows,
        executor=shared(workers),
        on_answer=lambda *counts: seen.update(batch_workers(os.getpid())),
    )
    same(frame, explainer.explain_batch(rows, executor=here))
    assert len(seen) >= workers


def test_a_killed_process_loses_no_row_and_its_rows_avoid_the_thread(
    explainer, credit, monkeypatch
):
    taken = Counter()
    answer = caller_thread.CallerThread._answer

    def noting(self, tasks):
        suspect = any(map(self._is_suspect, tasks))
        time.sleep(0.3)  # so that processes get rows as well
        answer(self, tasks)
        taken["suspect" if suspect else "plain"] += 1
        assert not suspect or not self.alive

    monkeypatch.setattr(caller_thread.CallerThread, "_answer", noting)
    rows, killed = credit[1], []

    def kill(answered, n):
        for pid in batch_workers(os.getpid()):
            if len(killed) < 2 and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    frame = explainer.explain_batch(rows, executor=shared(2), on_answer=kill)
    same(frame, explainer.explain_batch(rows, executor=here))
    assert killed and taken["plain"]


def test_a_suspect_row_ends_the_thread_and_is_sent_back(explainer, credit):
    pools = []

    class Watched(shared_executor._SharedPool):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            pools.append(self)

    class Suspicious(set):
        """Every task may have ended a worker."""

        def __contains__(self, key):
            return True

    rows = credit[1].iloc[:8]

    def executor(job, tasks):
        pool = Watched(job, job.together(), tasks, 1)
        pool._suspects = Suspicious()
        yield from pool.records()

    seen = set()
    frame = explainer.explain_batch(
        rows, executor=executor, on_answer=lambda *counts: seen.update(batch_workers(os.getpid()))
    )
    same(frame, explainer.explain_batch(rows, executor=here))
    assert seen and pools


def test_an_interrupt_keeps_answers_and_leaves_nothing_behind(explainer, credit, tmp_path):
    rows = credit[1].iloc[:200]

    def interrupt(answered, n):
        if answered == 5:
            raise KeyboardInterrupt

    frame = explainer.explain_batch(rows, executor=shared(2), out=tmp_path, on_answer=interrupt)
    assert (frame["stop_reason"] == "proved").sum() == 5
    assert batch_workers(os.getpid()) == row_threads() == []
    whole = explainer.explain_batch(rows, executor=shared(2), out=tmp_path, resume=True)
    same(whole, explainer.explain_batch(rows, executor=here))


def test_a_deadline_holds(explainer, credit):
    frame = explainer.explain_batch(credit[1].iloc[:200], executor=shared(2), deadline_s=0.05)
    assert set(frame["stop_reason"]) <= {"proved", "deadline"}
    assert (frame["stop_reason"] == "deadline").any() and row_threads() == []
