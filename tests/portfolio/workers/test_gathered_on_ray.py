"""Actors that get several rows at once lose none, whatever becomes of one of them."""

import time

import pytest

from portfolio.workers.ray import executor
from portfolio.workers.ray.executor import ActorPool
from portfolio.workers.work import Task
from tests.support.cluster import Cluster
from tests.support.gathered import Echo


def told(payloads, limit_s=30.0, actors=2, job=None):
    tasks = (Task(str(at), payload, limit_s) for at, payload in enumerate(payloads))
    pool = ActorPool(Cluster(), job or Echo(), tasks, actors, 1)
    records = list(pool.answers())
    pool.close()
    assert sorted(int(record["key"]) for record in records) == list(range(len(payloads)))
    return {int(record["key"]): record for record in records}


def test_quick_rows_are_verified_together():
    records = told(["fine"] * 200)
    assert max(record["count"] for record in records.values()) > 20


def test_what_is_refused_is_asked_alone():
    records = told(["refused" if at % 10 == 5 else "fine" for at in range(50)])
    assert {records[at]["count"] for at in range(5, 50, 10)} == {1}


def test_who_dies_costs_the_others_nothing():
    records = told(["dies" if at == 30 else "fine" for at in range(50)])
    assert [at for at, record in records.items() if record["message"]] == [30]
    assert records[30]["message"] == "the worker on the cluster died 3 times"


@pytest.mark.slow
def test_who_takes_too_long_costs_the_others_nothing(monkeypatch):
    monkeypatch.setattr(executor, "LATE_S", 0.1)
    records = told(["sleeps" if at == 30 else "fine" for at in range(50)], limit_s=0.1)
    assert [at for at, record in records.items() if record.get("late")] == [30]


class Slow(Echo):
    """Work that takes longer than it seemed."""

    def answer(self, task, count=1):
        time.sleep(0.08 if 20 <= int(task.key) < 26 else 0.0)
        return super().answer(task, count)


def test_rows_that_were_not_begun_come_next():
    records = told(["fine"] * 40, actors=1, job=Slow())
    assert max(records[at]["count"] for at in range(20, 26)) <= 25
    assert records[39]["count"] > 1
