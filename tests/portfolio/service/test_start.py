"""A service without a warm worker reports why, also while the solver is compiled."""

import asyncio
import json
import logging
import os
import socket
import threading
import time
from contextlib import contextmanager
from functools import partial

import httpx
import numba
import pytest

from encoders.core.compiled import once_compiling
from encoders.core.errors import InputError
from portfolio.client.client import Client
from portfolio.service import pool as pools
from portfolio.service import server as servers
from portfolio.service import service as services
from portfolio.service.app import create_app
from portfolio.service.messages import COMPILING, LOADING, READING
from portfolio.service.pool import ServicePool
from portfolio.service.server import Server, address_of, configured
from portfolio.service.settings import Settings
from portfolio.workers import pool as shared_pool
from tests.support.served import Unserved, served, until

pytestmark = pytest.mark.usefixtures("forked_children")

EXPLAIN = "/v1/models/credit/explain"


class Slow:
    """A worker process that compiles until it is let go on, then loads what it is sent."""

    def __init__(self, go_on):
        self.pid, self.alive, self._go_on, self._asked = os.getpid(), True, go_on, []
        self._compiles = True

    def await_ready(self, give_up):
        return True

    def send(self, message):
        self._asked.append(message)

    def receive(self, timeout_s):
        if self._asked and self._compiles:
            self._compiles = False
            return "compiling", None
        if self._asked and self._go_on.wait(timeout_s):
            _, key, _ = self._asked.pop()
            return "loaded", key
        time.sleep(timeout_s)
        return None

    def death(self):
        return "the worker died"

    def kill(self):
        self.alive = False


@pytest.fixture
def slow(monkeypatch):
    """Workers that compile until the event is set; how many have begun."""
    go_on, begun = threading.Event(), []

    def made(*_):
        begun.append(Slow(go_on))
        return begun[-1]

    monkeypatch.setattr(pools, "Process", made)
    yield go_on, begun
    go_on.set()


class Model:
    key, content = "one", b""


def test_the_first_worker_compiles_alone_and_says_so(slow):
    go_on, begun = slow
    pool = ServicePool(3, 1)
    assert pool.why == LOADING
    pool.start([Model()])
    try:
        until(lambda: pool.why == COMPILING)
        assert not pool.ready and not pool.begun and len(begun) == 1
        go_on.set()
        until(lambda: pool.ready and len(begun) == 3)
        assert pool.begun and pool.why == LOADING
    finally:
        pool.close()


def test_a_process_that_compiles_has_more_time(slow, monkeypatch):
    monkeypatch.setattr(pools, "WARM_S", 0.0)
    go_on, begun = slow
    pool = ServicePool(1, 1)
    pool.start([Model()])
    try:
        until(lambda: pool.why == COMPILING)
        time.sleep(0.2)
        assert len(begun) == 1 and begun[0].alive
        monkeypatch.setattr(shared_pool, "COMPILE_S", 0.0)
        go_on.set()
        until(lambda: pool.ready)
    finally:
        pool.close()


@pytest.mark.slow
def test_the_port_answers_while_models_are_read(source):
    go_on = threading.Event()

    def sources():
        go_on.wait(60)
        return [source]

    with listening(Settings(sources, workers=1, reload_s=0)) as (_, app, url):
        with httpx.Client(base_url=url) as client:
            until(lambda: answers(client))
            assert client.get("/health").json() == {"status": "ok"}
            for told in (client.get("/ready"), client.post(EXPLAIN, json={})):
                assert (told.status_code, told.json()["detail"]) == (503, READING)
                assert told.headers["retry-after"] == "1"
                assert told.headers["x-content-type-options"] == "nosniff"
            go_on.set()
            until(lambda: client.get("/v1/models").status_code == 200)
            listed = client.get("/v1/models").json()["models"]
            assert [model["name"] for model in listed] == ["credit"]
        assert app.state.service.error is None


def test_a_server_whose_models_cannot_be_read_ends():
    def sources():
        raise InputError("the model is missing.")

    with listening(Settings(sources, workers=1, reload_s=0)) as (thread, app, _):
        thread.join(60)
        assert not thread.is_alive() and str(app.state.service.error) == "the model is missing."


def test_the_log_has_the_address(source, caplog, monkeypatch):
    """The server itself is not run, but it listens when the address is logged."""
    caplog.set_level(logging.INFO, "counterfolio.service")
    monkeypatch.setattr(servers, "log_as_lines", lambda *names, form: None)
    monkeypatch.setattr(servers.signal, "signal", lambda *handler: None)

    def connect(server, sockets):
        url = address_of(sockets[0])
        assert f"running on {url} " in caplog.text
        socket.create_connection(sockets[0].getsockname(), 60).close()

    monkeypatch.setattr(Server, "run", connect)
    servers.run(Settings(lambda: [source], workers=1, reload_s=0), "127.0.0.1", 0)


def answers(client):
    try:
        return bool(client.get("/health"))
    except httpx.TransportError:
        return False


@contextmanager
def listening(settings):
    """Thread of a server that loads its models after its start, the application, and its URL."""
    with socket.create_server(("127.0.0.1", 0)) as own:
        app = create_app(settings, early=True)
        server = Server(configured(app, settings), app.state.service)
        runner = partial(asyncio.run, server.serve(sockets=[own]))
        thread = threading.Thread(target=runner, daemon=True)
        thread.start()
        try:
            yield thread, app, address_of(own)
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture
def beginning(source, slow, monkeypatch):
    """A service whose worker compiles."""
    monkeypatch.setattr(services, "START_S", 0.1)
    monkeypatch.setattr(services, "LOOK_S", 0.05)
    app = create_app(Settings(lambda: [source], workers=1, reload_s=0))
    pool = app.state.service.pool
    pool.start(app.state.service.catalogue.models.values())
    until(lambda: pool.why == COMPILING)
    yield app, slow[0]
    pool.close()


def test_meanwhile_questions_and_looks_are_told_why(beginning, row):
    client = Unserved(beginning[0])
    for told, again in ((client.get("/ready"), "1"), (client.post(EXPLAIN, json={"x": row}), "5")):
        assert (told.status_code, told.headers["retry-after"]) == (503, again)
        assert told.json()["detail"] == COMPILING
    assert client.get("/health").status_code == 200


def test_a_stream_waits_and_tells_why(beginning, row, monkeypatch):
    monkeypatch.setattr(services, "PATIENCE_S", 0.2)
    app, _ = beginning
    app.state.service._patience_s = 0.3
    told = Unserved(app).post(f"{EXPLAIN}/stream", json={"x": row}).text
    first, *_, last = told.strip().split("\n\n")
    waiting = {"detail": COMPILING, "code": "compiling"}
    assert first == f"event: waiting\ndata: {json.dumps(waiting)}"
    assert last.startswith("event: problem") and told.count("waiting") == 1


def test_the_log_tells_when_it_begins_to_answer(beginning, caplog):
    app, go_on = beginning
    with caplog.at_level(logging.INFO, "counterfolio.service"):

        async def start():
            telling = asyncio.create_task(app.state.service.log_start())
            await asyncio.sleep(0.3)
            go_on.set()
            await telling

        asyncio.run(start())
    assert [each.message.partition(":")[0] for each in caplog.records][-2:] == [
        "not ready",
        "ready",
    ]
    assert COMPILING in caplog.text


@pytest.mark.slow
def test_the_client_hears_bounds_and_nothing_else(source, row):
    """A stream that begins before any worker is warm has an event of another kind first."""
    heard = []
    with served(Settings(lambda: [source], workers=1, reload_s=0)) as (app, client):
        app.state.service.pool.begun = False
        with Client(str(client.base_url), "credit") as asking:
            found = asking.explain(row, on_progress=lambda *bounds: heard.append(bounds))
    assert found.status == "optimal" and all(len(bounds) == 3 for bounds in heard)


def test_only_the_first_compilation_is_told():
    told = []
    with once_compiling(lambda: told.append(True)):
        for kind in (numba.njit, numba.njit):
            assert kind(lambda x: x + 1)(1) == 2
    numba.njit(lambda x: x + 2)(1)
    assert told == [True]
