"""Questions that wait are given to a worker together; each has its own outcome all the same."""

import json
import os
import signal
import time
from contextlib import suppress

import pytest

from portfolio.service.catalogue import Catalogue
from portfolio.service.messages import LOST, QuestionTicket, Reply
from portfolio.service.pool import ServicePool
from portfolio.service.worker_process import WRITING_S
from portfolio.workers import process
from portfolio.workers import turn as turns
from portfolio.workers.process import Process
from portfolio.workers.turn import GRACE_S, LateError, Turn
from tests.support.served import lasting, until

pytestmark = pytest.mark.usefixtures("forked_children")

SHORT = {"time_limit_s": 10.0, "threads": 1}


@pytest.fixture(scope="module")
def model(source):
    return Catalogue(lambda: [source]).models["credit"]


@pytest.fixture(scope="module")
def warm(model, row):
    """Return a pool with one warm worker."""
    pool = ServicePool(1, 200)
    pool.start([model])
    try:
        until(lambda: pool.ready)
        for number in range(30):  # the pool learns that these questions are short
            ticket = ticket_of(model, row, number)
            pool.submit(ticket)
            ticket.future.result(timeout=60.0)
        yield pool
    finally:
        pool.close()


def ticket_of(model, x, number=0, **more):
    return QuestionTicket(model, "explain", SHORT | {"x": x | {"age": 20.0 + number}} | more, 10.0)


def long_ticket(model, row, limit_s):
    asked = {"x": row, "k": 20, "within": 1000.0, "norm": 1, "time_limit_s": limit_s, "threads": 1}
    return QuestionTicket(model, "diverse", asked, limit_s)


@pytest.fixture
def tickets(model, row):
    return [ticket_of(model, row, number) for number in range(24)]


def submit_behind(pool, first, tickets):
    """Have tickets wait behind one that takes long."""
    pool.submit(first)
    until(lambda: pool.busy)
    for each in tickets:
        pool.submit(each)


def document(told):
    return {name: lasting(json.loads(own)) for name, own in told.members.items()}


def outcomes(tickets):
    return [ticket.future.result(timeout=60.0) for ticket in tickets]


@pytest.mark.slow
def test_those_that_wait_are_asked_together(warm, model, row, tickets, monkeypatch):
    sizes, own = [], ServicePool.next

    def counted(pool, worker, wait=True):
        taken = own(pool, worker, wait)
        sizes.append(len(taken))
        return taken

    monkeypatch.setattr(ServicePool, "next", counted)
    submit_behind(warm, long_ticket(model, row, 0.3), tickets)
    together = outcomes(tickets)
    assert max(sizes) >= 2
    alone = [ticket_of(model, row, number, tie_break=False) for number in range(24)]
    for ticket in alone:
        ticket.alone = True
        warm.submit(ticket)
    for told, other in zip(together, outcomes(alone), strict=True):
        assert isinstance(told, Reply), told
        assert told.status == other.status == "optimal"
        assert document(told) == document(other)


@pytest.mark.parametrize(
    "waits_s",
    [(0.01,), pytest.param(tuple(0.002 * at for at in range(25)), marks=pytest.mark.large)],
    ids=["once", "often"],
)
def test_a_worker_that_is_killed_among_several_loses_none(warm, model, row, waits_s):
    """Solve unanswered questions again, one by one, without an error."""
    for waited_s in waits_s:
        tickets = [ticket_of(model, row, number) for number in range(24)]
        submit_behind(warm, long_ticket(model, row, 0.2), tickets)
        until(lambda own=tickets: sum(ticket.assigned for ticket in own) > 1)
        time.sleep(waited_s)
        with suppress(ProcessLookupError):
            os.kill(warm.pids[0], signal.SIGKILL)
        assert {told.status for told in outcomes(tickets)} == {"optimal"}
        assert not any(ticket.deaths > 1 for ticket in tickets)


@pytest.mark.slow
def test_who_goes_takes_nobody_along(warm, model, row, tickets):
    submit_behind(warm, long_ticket(model, row, 0.3), tickets)
    for ticket in tickets[::3]:
        ticket.stop()
    told = outcomes([ticket for at, ticket in enumerate(tickets) if at % 3])
    assert {each.status for each in told} == {"optimal"}


def test_what_can_not_be_asked_is_said_of_that_question_only(warm, model, row, tickets):
    wrong = ticket_of(model, row, target="nobody")
    submit_behind(warm, long_ticket(model, row, 0.3), [*tickets[:6], wrong, *tickets[6:12]])
    assert "nobody" in outcomes([wrong])[0].detail
    assert all(isinstance(told, Reply) for told in outcomes(tickets[:12]))


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["start", "load", "tasks", "send"])
def test_a_frozen_worker_is_replaced(model, row, monkeypatch, moment):
    """It may freeze at its start, when it loads a model, at a question, or amid a message."""
    monkeypatch.setattr(process, "SEND_S", 3.0)
    frozen, send = [], Process.send

    def freeze(worker):
        frozen.append(worker.pid)
        os.kill(worker.pid, signal.SIGSTOP)
        monkeypatch.setattr(process, "SEND_S", 60.0)  # its successor may be slow to read

    def freeze_and_send(worker, message):
        if message[0] == ("tasks" if moment == "send" else moment) and not frozen:
            freeze(worker)
        send(worker, message)

    monkeypatch.setattr(Process, "send", freeze_and_send)
    pool = ServicePool(1, 10)
    pool.prepare()
    if moment == "start":
        freeze(pool._workers[0]._program)
        pool.patience_s = 3.0
    if moment == "load":
        pool.warm_s = 30.0
    pool.start([model])
    try:
        until(lambda: pool.restarts or moment in ("tasks", "send"))
        pool.patience_s = pool.warm_s = 120.0
        large = {"weights": {"x" * 2_000_000: 1.0}} if moment == "send" else {}
        ticket = ticket_of(model, row, time_limit_s=1.0, **large)
        ticket.limit_s = 1.0
        pool.submit(ticket)
        told = ticket.future.result(timeout=120.0)
        if moment == "tasks":
            assert told.detail == LOST["late"]
        elif moment == "send":
            assert told.why == "input"
        else:
            assert told.status == "optimal"
        again = ticket_of(model, row)
        pool.submit(again)
        assert again.future.result(timeout=120.0).status == "optimal"
        # With the short patience at its start, a slow machine may replace more than one.
        assert pool.restarts >= 1 if moment == "start" else pool.restarts == 1
        assert pool.pids != frozen
    finally:
        pool.close()


class Deaf:
    """A worker that records messages and never answers."""

    def __init__(self):
        self.told = []

    def send(self, message):
        self.told.append(message)


@pytest.fixture
def clock(monkeypatch):
    """A clock that is put forward by hand."""
    now = [100.0]
    monkeypatch.setattr(turns.time, "monotonic", lambda: now[0])
    return now


def test_time_is_up_sooner_once_nobody_waits(tickets, clock):
    turn, worker = Turn(tickets[:2]), Deaf()
    first, second = turn.open
    turn.begin(15.0)
    tickets[0].stop()
    turn.check(worker)
    assert worker.told == [("stop", first)] and turn.kill_at == clock[0] + 30.0
    del turn.open[first]
    tickets[1].stop()
    turn.check(worker)
    assert worker.told[1:] == [("stop", second)] and turn.kill_at == clock[0] + GRACE_S
    turn.extend(WRITING_S)
    assert turn.kill_at == clock[0] + GRACE_S
    clock[0] += GRACE_S
    with pytest.raises(LateError):
        turn.check(worker)


def test_an_answer_that_is_found_has_time_to_be_written(tickets, clock):
    turn = Turn(tickets[:1])
    turn.begin()
    assert turn.kill_at == clock[0] + 10.0 + GRACE_S
    turn.extend(WRITING_S)
    assert turn.kill_at == clock[0] + WRITING_S
