"""Workers that get several tasks at once lose none, whatever becomes of one of them."""

import os
import signal
import time

import pytest

from portfolio.workers import local_executor
from portfolio.workers.local_executor import LocalExecutor
from portfolio.workers.process import Process
from portfolio.workers.work import TRIES, Task, Waiting
from tests.support.gathered import Echo


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
    monkeypatch.setattr(local_executor, "GRACE_S", 0.1)
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
        if isinstance(message, list):
            os.kill(process.pid, signal.SIGSTOP)
        send(process, message)

    monkeypatch.setattr(Process, "send", freeze_and_send)
    monkeypatch.setattr(local_executor, "GRACE_S", 0.1)
    assert told(["x" * 5_000_000], ends=time.monotonic() + 2.0) == []


@pytest.mark.parametrize("often", [1, 100])
def test_without_a_deadline_a_frozen_worker_is_replaced(monkeypatch, often):
    send, frozen = Process.send, []

    def freeze_and_send(process, message):
        large = isinstance(message, list) and len(message[0].payload) > 1_000_000
        if large and len(frozen) < often:
            frozen.append(process.pid)
            os.kill(process.pid, signal.SIGSTOP)
        send(process, message)

    monkeypatch.setattr(Process, "send", freeze_and_send)
    monkeypatch.setattr(local_executor, "SEND_S", 3.0)
    records = told(["x" * 5_000_000, "fine"], workers=2)
    large = next(record for record in records if record["key"] == "0")
    assert len(records) == 2 and len(frozen) == min(often, TRIES)
    assert large["message"] == ("" if often == 1 else "the worker died (exit code -9)")


@pytest.mark.parametrize(("pace_s", "count"), [(float("inf"), 1), (1.0, 1), (0.05, 8), (1e-6, 50)])
def test_a_worker_gets_what_it_can_do_soon(pace_s, count):
    assert len(Waiting(tasks(200), 2, 50).next(pace_s)) == count


def test_the_last_tasks_are_shared():
    waiting = Waiting(tasks(100), 2, 64)
    sizes = []
    while some := waiting.next(1e-3):
        sizes.append(len(some))
    assert sizes == [50, 25, 13, 6, 3, 2, 1] and sum(sizes) == 100


def test_a_task_is_given_up_after_its_tries_alone():
    waiting = Waiting(tasks(3), 1, 3)
    some = waiting.next(1e-3)
    assert waiting.put_back(some) == []
    for _ in range(TRIES - 1):
        assert waiting.put_back([some[0]]) == []
    assert waiting.put_back([some[0]]) == [some[0]]


def tasks(count):
    return (Task(str(at), None, 1.0) for at in range(count))
