"""``counterfolio bench --service``: loops that take their time and no more, and nothing is lost."""

import io
import json
import os
import signal
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from rich.console import Console

import portfolio.bench.service
import portfolio.bench.service_load
from portfolio.bench.cases import Cases, RunLimits
from portfolio.bench.runner import run_plan
from portfolio.bench.served_apart import await_workers
from portfolio.bench.service import ROUND_S, LoopQuery, ServicePlan, rows_of_a_loop
from portfolio.bench.service_load import Cpu, timed_loop

WINE = ServicePlan(
    Cases(only=("wine",), kinds=("xgb",), trees=5, depth=3, queries=4),
    RunLimits(time_limit_s=30.0, threads=1),
)


class Ending(io.StringIO):
    """A terminal whose user ends the command as soon as 64 clients are spoken of."""

    ended = False

    def write(self, text):
        if not self.ended and "64 clients" in text:
            self.ended = True
            os.kill(os.getpid(), signal.SIGTERM)
        return super().write(text)


@pytest.fixture
def short(monkeypatch):
    """A loop need not be long to be told."""
    monkeypatch.setattr(portfolio.bench.service, "LOOP_S", (0.1, 0.5))
    monkeypatch.setattr(portfolio.bench.service_load, "COUNTED_S", 0.5)


@pytest.fixture
def as_in_a_command():
    """SIGTERM as a program finds it; Ray, where a test began it, has left its own."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.mark.slow
def test_a_command_that_is_ended_tells_all_that_it_measured(short, as_in_a_command, tmp_path):
    screen, out = Ending(), tmp_path / "runs.json"
    code = run_plan(WINE, Console(file=screen, width=200), out)
    told = screen.getvalue()
    assert (code, screen.ended) == (0, True), told
    [run] = json.loads(out.read_text())["runs"]
    assert [(load["clients"], load["workers"]) for load in run["loads"]] == [(1, 1), (8, 1)]
    assert all(load["seen"] > 0 and load["wrong"] == 0 for load in run["loads"])
    assert all(len(load["batch"]) == 1 and load["batch"][0]["rows"] > 0 for load in run["loads"])
    assert len(run["pairs"]) == run["in_loops"] == 4
    assert "Interrupted" in told and "HTTP adds" in told and "share" in told


def test_time_that_is_up_ends_the_command_before_the_next_step():
    screen = io.StringIO()
    assert run_plan(WINE, Console(file=screen), deadline_s=0.0) == 0
    assert "Time is up" in screen.getvalue()


def _queries(*seconds):
    return [LoopQuery(place, b"", {}, each) for place, each in enumerate(seconds)]


def test_a_loop_asks_about_as_many_rows_as_there_is_time_for():
    quick = _queries(*[ROUND_S / 100] * 30)
    assert rows_of_a_loop(quick) == quick
    slow = _queries(0.6 * ROUND_S, 0.5 * ROUND_S, 5.0 * ROUND_S, 0.4 * ROUND_S)
    assert [query.place for query in rows_of_a_loop(slow)] == [0, 3]
    hard = _queries(5.0 * ROUND_S, 2.0 * ROUND_S)
    assert [query.place for query in rows_of_a_loop(hard)] == [1]
    assert rows_of_a_loop([]) == []


class Answering(BaseHTTPRequestHandler):
    """Answers as its server says."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.tell(self.server.answer(body))

    def do_GET(self):
        self.tell(self.server.answer(b""))

    def tell(self, body):
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


@contextmanager
def answering(answer):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.answer = answer
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


def test_a_loop_hangs_up_on_an_answer_that_takes_too_long():
    never, calls = threading.Event(), iter(range(10_000))

    def answer(body):
        if next(calls) == 5:
            never.wait()
        return body

    with answering(answer) as port:
        seen = timed_loop(port, "/", [b"a", b"b"], 1, (0.05, 0.3), lambda: Cpu(1.0, 2.0, 3.0))
        never.set()
    assert [(place, code, body) for place, code, body in seen.answers] == [
        (0, 200, b"a"), (1, 200, b"b"), (0, 200, b"a"), (1, 200, b"b"), (0, 200, b"a")
    ]  # fmt: skip
    assert 0.3 <= seen.last.at - seen.first.at < 5.0
    assert seen.first.rows <= seen.last.rows == 5
    assert seen.last.cpu == Cpu(1.0, 2.0, 3.0)


def test_a_loop_that_nobody_answers_is_an_error():
    with answering(lambda body: body) as port:
        pass
    with pytest.raises(OSError):
        timed_loop(port, "/", [b"a"], 1, (0.05, 0.1), lambda: Cpu(0.0, 0.0, 0.0))


def test_nothing_is_measured_before_all_workers_are_warm():
    told = iter(["0.0", "1.0", "2.0"])
    with answering(lambda _: f"a 1\ncounterfolio_workers_warm {next(told)}\n".encode()) as port:
        await_workers(port, 2, lambda: True)
    assert next(told, None) is None
