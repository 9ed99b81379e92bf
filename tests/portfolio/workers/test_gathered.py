"""Workers that get several tasks at once lose none, whatever becomes of one of them."""

import os
import signal
import time

import pytest

from portfolio.workers import local_executor, process, turn
from portfolio.workers.local_executor import LocalExecutor, WorkPool
from portfolio.workers.pool import TRIES
from portfolio.workers.process import Process
from portfolio.workers.work import Task
from tests.support.gathered import Echo

pytestmark = pytest.mark.usefixtures("forked_children")


def told(payloads, limit_s=30.0, ends=float("inf"), workers=1):
    tasks = (Task(str(at), payload, limit_s, ends) for at, payload in enumerate(payloads))
    return list(LocalExecutor(workers)(Echo(), tasks))


def test_quick_tasks_are_verified_together():
    records = told(["fine"] * 200)
    assert sorted(int(record["key"]) for record in records) == list(range(200))
    assert max(record["count"] for record in records) > 20


def test_what_is_refused_is_asked_alone():
    records = told(["refused" if at % 10 == 5 else "fine" for at in range(50)])
    assert len(records) == 50
    assert {record["count"] for record in records if int(record["key"]) % 10 == 5} == {1}


@pytest.mark.slow
def test_who_dies_costs_the_others_nothing():
    records = told(["dies" if at == 30 else "fine" for at in range(50)])
    lost = [record for record in records if record["message"]]
    assert len(records) == 50 and [record["key"] for record in lost] == ["30"]
    assert lost[0]["message"] == "the worker died (exit code 3)"


@pytest.mark.slow
def test_who_takes_too_long_costs_the_others_nothing(monkeypatch):
    monkeypatch.setattr(turn, "GRACE_S", 0.1)
    records = told(["sleeps" if at == 30 else "fine" for at in range(50)], limit_s=0.2)
    lost = [record for record in records if record["message"]]
    assert len(records) == 50 and [record["key"] for record in lost] == ["30"]
    assert lost[0]["late"]


def test_the_deadline_holds_for_each_of_them():
    ends = time.monotonic() + 10.0
    records = told(["fine"] * 100, limit_s=30.0, ends=ends)
    assert len(records) == 100 and all(record["limit_s"] < 10.0 for record in records)


@pytest.mark.slow
def test_a_worker_that_freezes_before_a_large_message_ends_with_the_deadline(monkeypatch):
    send = Process.send

    def freeze_and_send(process, message):
        if message[0] == "tasks":
            os.kill(process.pid, signal.SIGSTOP)
        send(process, message)

    monkeypatch.setattr(Process, "send", freeze_and_send)
    monkeypatch.setattr(local_executor, "GRACE_S", 0.1)
    assert told(["x" * 5_000_000], ends=time.monotonic() + 2.0) == []


@pytest.mark.parametrize("often", [1, 100])
def test_without_a_deadline_a_frozen_worker_is_replaced(monkeypatch, often):
    send, frozen = Process.send, []

    def freeze_and_send(process, message):
        large = message[0] == "tasks" and len(message[2][0].payload) > 1_000_000
        if large and len(frozen) < often:
            frozen.append(process.pid)
            os.kill(process.pid, signal.SIGSTOP)
        send(process, message)

    monkeypatch.setattr(Process, "send", freeze_and_send)
    monkeypatch.setattr(process, "SEND_S", 3.0)
    records = told(["x" * 5_000_000, "fine"], workers=2)
    large = next(record for record in records if record["key"] == "0")
    assert len(records) == 2 and len(frozen) == min(often, TRIES)
    assert large["message"] == ("" if often == 1 else "the worker died (exit code -9)")


def pool_of(count, workers):
    tasks = (Task(str(at), None, 1.0) for at in range(count))
    return WorkPool(Echo(), b"", tasks, workers, None)


@pytest.mark.parametrize(("pace_s", "count"), [(float("inf"), 1), (1.0, 1), (0.05, 8), (1e-6, 64)])
def test_a_worker_gets_what_it_can_do_soon(pace_s, count):
    pool = pool_of(200, 2)
    pool._pace_s = pace_s
    assert len(pool.next(pool._workers[0])) == count


def test_the_pool_learns_how_fast_its_workers_are():
    pool = pool_of(200, 1)
    sizes = []
    for _ in range(7):
        sizes.append(len(pool.next(pool._workers[0])))
        pool.count(1e-3)
    assert sizes[0] == 1 and sorted(sizes) == sizes and sizes[-1] > 20


def test_the_last_tasks_are_shared():
    pool = pool_of(100, 2)
    pool._pace_s = 1e-3
    sizes = []
    while some := pool.next(pool._workers[0], wait=False):
        sizes.append(len(some))
    assert sizes == [50, 25, 13, 6, 3, 2, 1] and sum(sizes) == 100


def test_a_task_is_given_up_after_its_tries_alone():
    pool = pool_of(3, 1)
    pool._pace_s = 1e-3
    some = pool.next(pool._workers[0])
    assert len(some) == 3
    pool.retry(some, "died")
    for _ in range(TRIES):
        assert pool.done.empty()
        assert pool.next(pool._workers[0]) == some[:1]
        pool.retry(some[:1], "died", "it died")
    assert pool.done.get_nowait() == {"key": "0", "message": "it died", "late": False}
