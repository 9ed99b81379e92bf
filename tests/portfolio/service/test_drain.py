"""A signal ends the service after all accepted requests; later connections fail."""

import asyncio
import json
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
import uvloop

from portfolio.service import server as servers
from portfolio.service.app import create_app
from portfolio.service.messages import CLOSING
from portfolio.service.pool import ServicePool
from portfolio.service.server import Server, configured
from portfolio.service.settings import Settings
from tests.support.served import Unserved, until

pytestmark = pytest.mark.usefixtures("forked_children")

CLIENTS = 12


@contextmanager
def running(app, new_loop=asyncio.new_event_loop):
    """A server in a thread, and its port."""
    service = app.state.service
    server = Server(configured(app, service.settings), service)
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # no delay
    listening.bind(("127.0.0.1", 0))

    def serve():
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(server.serve(sockets=[listening]))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        until(lambda: server.started)
        yield server, listening.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(60.0)
    assert not thread.is_alive()


@pytest.fixture
def app(source):
    return create_app(Settings(lambda: [source], workers=1, reload_s=0, longest_s=1.0))


def question(row):
    body = json.dumps({"x": row}).encode()
    head = (
        "POST /v1/models/credit/explain HTTP/1.1\r\nhost: localhost\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def answered(connection):
    """Status of the answer, and whether its connection is closed after it."""
    with connection.makefile("rb") as answer:
        line = answer.readline()
        assert line, "cut"
        head = [each.decode().lower().split() for each in iter(answer.readline, b"\r\n")]
        named = {each[0]: each[-1] for each in head}
        answer.read(int(named["content-length:"]))
    return int(line.split()[1]), named.get("connection:") == "close"


def ask_on(port, request, keep, told):
    """Ask again and again, on one connection or on many, until connections fail."""
    while True:
        try:
            connection = socket.create_connection(("127.0.0.1", port), timeout=30)
        except (ConnectionRefusedError, ConnectionResetError):
            return
        with connection:
            closed, first = False, True
            while not closed:
                try:
                    connection.sendall(request)
                    status, closed = answered(connection)
                except ConnectionResetError:  # the server had not accepted the connection
                    assert first
                    return
                told[status, closed] += 1
                closed, first = closed or not keep, False


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keep", "new_loop"),
    [
        pytest.param(True, asyncio.new_event_loop, id="kept"),
        pytest.param(False, uvloop.new_event_loop, id="fresh, uvloop"),
        pytest.param(True, uvloop.new_event_loop, id="kept, uvloop", marks=pytest.mark.large),
        pytest.param(False, asyncio.new_event_loop, id="fresh", marks=pytest.mark.large),
    ],
)
def test_nobody_who_was_let_in_is_cut_under_load(app, row, keep, new_loop):
    requests, told = [question(row), b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"], Counter()
    with ThreadPoolExecutor(CLIENTS) as threads, running(app, new_loop) as (server, port):
        until(lambda: app.state.service.pool.ready)
        asking = [
            threads.submit(ask_on, port, requests[number % 2], keep, told)
            for number in range(CLIENTS)
        ]
        until(lambda: sum(told.values()) > 20 * CLIENTS)
        server.should_exit = True
        for each in asking:
            each.result()
    assert {status for status, _ in told} == {200}
    assert told[200, True] >= CLIENTS


@pytest.mark.slow
def test_who_waits_for_too_long_is_told_that_the_service_goes(app, row, monkeypatch):
    """No worker ever begins; what waits has a problem document in time, and not a bare 500."""
    monkeypatch.setattr(servers, "DRAIN_S", 0.0)
    monkeypatch.setattr(ServicePool, "start", lambda pool, models: None)
    with (
        running(app) as (server, port),
        socket.create_connection(("127.0.0.1", port), timeout=30) as connection,
    ):
        connection.sendall(question(row))
        until(lambda: app.state.service.pool.waiting)
        server.should_exit = True
        assert answered(connection) == (503, True)


def test_a_service_that_drains_is_not_ready(app):
    app.state.service.drain()
    told = Unserved(app).get("/ready")
    assert (told.status_code, told.headers["retry-after"]) == (503, "1")
    assert told.json()["detail"] == CLOSING
    assert told.headers["connection"] == "close"
