"""Questions without a worker, and workers that die: every request ends in time."""

import os
import signal
import threading
import time
from contextlib import suppress

import httpx
import pytest

from portfolio.service import service as services
from portfolio.service.app import create_app
from portfolio.service.pool import ServicePool
from portfolio.service.settings import Settings
from portfolio.workers.pool import TRIES
from tests.support.served import Unserved, served

EXPLAIN = "/v1/models/credit/explain"


@pytest.fixture
def hasty(monkeypatch):
    monkeypatch.setattr(services, "PATIENCE_S", 0.2)
    monkeypatch.setattr(services, "LOOK_S", 0.05)
    monkeypatch.setattr(services, "BEAT_S", 0.05)


@pytest.fixture
def alone(source, hasty):
    """A service none of whose workers ever begins."""
    return Unserved(create_app(Settings(lambda: [source], workers=1, reload_s=0, longest_s=0.1)))


@pytest.mark.parametrize(("warm", "code"), [(False, 503), (True, 429)])
def test_who_finds_no_worker_is_told_so_in_time(alone, row, monkeypatch, warm, code):
    monkeypatch.setattr(ServicePool, "ready", warm)
    told = alone.post(EXPLAIN, json={"x": row})
    assert told.status_code == code
    assert told.headers["retry-after"] == "1"
    assert told.json()["detail"] == "no worker was free within 0.3 seconds. Retry later."


def test_a_stream_tells_it_too(alone, row):
    told = alone.post(f"{EXPLAIN}/stream", json={"x": row})
    assert told.text.splitlines()[-3] == "event: problem"
    assert "no worker was free" in told.text


@pytest.mark.large
def test_nobody_waits_long_while_workers_die(source, row):
    """Contrasts of many clients with a short limit; once one of them had no answer in a minute."""
    settings = Settings(lambda: [source], workers=1, reload_s=0, longest_s=0.3)
    asked = {"x": row, "y": row | {"income": 90.0}}
    over, told = threading.Event(), []

    def ask(url):
        with httpx.Client(base_url=url, timeout=300.0) as client:
            while not over.is_set():
                began = time.monotonic()
                code = client.post("/v1/models/credit/contrast", json=asked).status_code
                told.append((time.monotonic() - began, code))

    with served(settings) as (app, client):
        asking = [threading.Thread(target=ask, args=(client.base_url,)) for _ in range(8)]
        for each in asking:
            each.start()
        for _ in range(20):
            time.sleep(2.0)
            for pid in app.state.service.pool.pids:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        over.set()
        for each in asking:
            each.join()
    assert max(told)[0] < services.PATIENCE_S + 0.3 + TRIES * 5.0
    assert {code for _, code in told} <= {200, 422, 429, 503}
