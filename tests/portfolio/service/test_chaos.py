"""Full disks, slow clients, requests that are none, and servers that are killed at a batch."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from errno import ENOSPC
from pathlib import Path

import httpx
import pandas as pd
import pytest

from portfolio import Explainer
from portfolio.batch import answer_log
from portfolio.client.client import AsyncClient, Client, ServiceError
from portfolio.data.demo import make_demo
from portfolio.service import bodies, job, job_work
from portfolio.service.app import create_app
from portfolio.service.messages import Reply
from portfolio.service.settings import Settings
from tests.support.job_rows import folders
from tests.support.served import Unserved, ready, until

pytestmark = pytest.mark.usefixtures("forked_children")

BATCH = "/v1/models/credit/batch"
EXPLAIN = "/v1/models/credit/explain"


@pytest.fixture
def app_of(source):
    def made(folder):
        return create_app(Settings(lambda: [source], workers=1, reload_s=0, jobs=folder))

    return made


@pytest.fixture
def app(app_of, tmp_path):
    return app_of(tmp_path)


def full(*_, **__):
    raise OSError(ENOSPC, os.strerror(ENOSPC))


def test_a_batch_that_a_full_disk_can_not_keep_is_507_and_leaves_nothing(
    app, credit, tmp_path, monkeypatch
):
    asked = {"rows": credit[1].head(2).to_dict("records")}
    monkeypatch.setattr(job, "write_all", full)
    told = Unserved(app).post(BATCH, json=asked)
    assert told.status_code == 507
    assert "No space left on device" in told.json()["detail"]
    assert not folders(tmp_path)


def test_a_full_disk_ends_one_job_and_not_those_after_it(
    app, app_of, credit, tmp_path, monkeypatch
):
    client, held = Unserved(app), app.state.service.jobs
    asked = {"rows": credit[1].head(2).to_dict("records")}
    lost, later = (client.post(BATCH, json=asked).json()["id"] for _ in range(2))

    def run(_, own):
        if own.id == lost:
            full()
        own.put("done")

    monkeypatch.setattr(job_work.JobWork, "run", run)
    held.start()
    try:
        until(lambda: client.get(f"/v1/jobs/{later}").json()["state"] == "done")
        assert client.get(f"/v1/jobs/{lost}").json()["state"] == "failed"
    finally:
        held.close()
    monkeypatch.setattr(job_work.JobWork, "run", lambda _, own: own.put("done"))
    again = app_of(tmp_path)  # a service with room goes on with it
    again.state.service.jobs.start()
    try:
        until(lambda: Unserved(again).get(f"/v1/jobs/{lost}").json()["state"] == "done")
    finally:
        again.state.service.jobs.close()


@pytest.mark.slow
def test_a_group_that_a_full_disk_can_not_keep_says_so(app, credit, monkeypatch):
    client, held = Unserved(app), app.state.service.jobs
    asked = {"rows": credit[1].head(2).to_dict("records")}
    told = Reply({"answer": "{}", "text": '""', "after": "[]"}, "optimal", "")
    monkeypatch.setattr(job_work, "ask_group", lambda *_: told)
    number = client.post("/v1/models/credit/explain_group", json=asked).json()["id"]
    monkeypatch.setattr(job, "replace_whole", full)
    held.start()
    try:
        until(lambda: client.get(f"/v1/jobs/{number}").json()["state"] == "failed")
    finally:
        held.close()
    assert "No space left on device" in client.get(f"/v1/jobs/{number}").json()["message"]
    assert client.get(f"/v1/jobs/{number}/result").status_code == 404


@pytest.mark.slow
@pytest.mark.parametrize("where", ["write_all", "to_parquet"])
def test_a_batch_that_had_no_room_is_resumed_with_what_it_had(
    app, credit, tmp_path, monkeypatch, where
):
    client, held = Unserved(app), app.state.service.jobs
    asked = {"rows": credit[1].head(4).to_dict("records")}
    number = client.post(BATCH, json=asked).json()["id"]
    lacking = {"write_all": answer_log, "to_parquet": pd.DataFrame}[where]
    calls, own = [], getattr(lacking, where)

    def until_full(*given):
        calls.append(given)
        return own(*given) if where == "write_all" and len(calls) < 3 else full()

    def state():
        return client.get(f"/v1/jobs/{number}").json()

    monkeypatch.setattr(lacking, where, until_full)
    held.start()
    try:
        until(lambda: state()["state"] == "failed")
        told, page = state(), client.get(f"/v1/jobs/{number}/results").json()["rows"]
        answered = 3 if where == "write_all" else 4
        assert told["resumable"] and told["answered"] == answered
        assert [row["status"] for row in page].count("optimal") == answered
        words = f"{answered} of 4 rows are answered. "
        words += f"Free disk space, then POST /v1/jobs/{number}/resume."
        assert told["message"].endswith(words)
        kept = tmp_path / number / job.ANSWERS / answer_log.LINES
        before = kept.read_text()
        monkeypatch.setattr(lacking, where, own)
        assert resumed(app, number)["state"] in ("queued", "running", "done")
        until(lambda: state()["state"] == "done")
        assert not state()["resumable"] and state()["answered"] == 4
        assert kept.read_text().startswith(before)
        page = client.get(f"/v1/jobs/{number}/results").json()["rows"]
        assert [row["status"] for row in page] == ["optimal"] * 4
        with pytest.raises(ServiceError, match="the job is done"):
            resumed(app, number)
        assert client.post("/v1/jobs/none/resume").status_code == 404
    finally:
        held.close()


def resumed(app, number):
    async def ask():
        transport = httpx.ASGITransport(app)
        async with AsyncClient("http://localhost", "credit", transport=transport) as client:
            return await client.resume(number)

    return asyncio.run(ask())


def test_a_client_that_waits_resumes_a_job_by_its_id():
    def answer(request):
        assert (request.method, request.url.path) == ("POST", "/v1/jobs/7/resume")
        return httpx.Response(202, json={"id": "7", "state": "queued"})

    with Client("http://localhost", "credit", transport=httpx.MockTransport(answer)) as client:
        assert client.resume("7")["state"] == "queued"


@pytest.mark.slow
def test_clients_that_dawdle_or_vanish_take_nothing_from_others(client, row, monkeypatch):
    monkeypatch.setattr(bodies, "LONGEST_S", 0.3)
    head = (
        f"POST {EXPLAIN} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        "content-length: 100\r\n\r\n{"
    )
    dawdling = [sent(client, head) for _ in range(20)]
    vanished = [sent(client, head) for _ in range(20)]
    for each in vanished:
        each.close()
    assert client.post(EXPLAIN, json={"x": row}).status_code == 200
    for each in dawdling:
        with each, each.makefile("rb") as answer:
            assert b" 408 " in answer.readline()


def sent(client, text):
    made = socket.create_connection((client.base_url.host, client.base_url.port), timeout=10)
    made.sendall(text.encode())
    return made


def nonsense(chance):
    """Return a body that is not a valid question."""
    return chance.choice(
        ["", "null", "{}", "[]", "{", '{"x": 1}', "\x00", "9" * 400, '{"rows": [[]]}', '"é"',
         '{"rows": [{"age": {}}]}', '{"x": [[]], "target": {"All": []}}']
    )  # fmt: skip


def operations(app):
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            if not path.endswith("/ready"):  # which answers 503 without workers
                yield path, method


def ask_nonsense(client, every, seed):
    """Any operation, none of whose parts means anything."""
    chance = random.Random(seed)
    path, method = chance.choice(every)
    for name in ("name", "number"):
        given = chance.choice(["credit", "nobody", "..", "%00", "%2e%2e%2f", "a" * 300, "é"])
        path = path.replace("{" + name + "}", given)
    if chance.random() < 0.2:
        method = chance.choice(["get", "post", "put", "delete", "patch", "options"])
    query = {
        name: chance.choice(["-1", "x", "", "1e400", "9" * 30, "{", "null"])
        for name in chance.sample(["limit", "offset", "question", "settings", "decision", "y"], 2)
    }
    kind = chance.choice(
        ["application/json", "text/csv", "application/vnd.apache.parquet", "a", ""]
    )
    told = client.request(method.upper(), path, params=query, content=nonsense(chance).encode(),
                       headers={"content-type": kind})  # fmt: skip
    assert told.status_code < 500, (seed, path, told.text)
    assert "Traceback" not in told.text
    if told.status_code >= 400:
        answer = told.json()  # the protocols of KServe have a member of their own for errors
        assert answer.get("detail", answer.get("error", "")).endswith(".")


def test_nonsense_is_never_a_fault_of_the_service(app):
    client, every = Unserved(app), list(operations(app))
    for seed in range(100):
        ask_nonsense(client, every, seed)


@pytest.mark.large
def test_much_nonsense_is_never_a_fault_of_the_service(app):
    client, every = Unserved(app), list(operations(app))
    for seed in range(100, 1500):
        ask_nonsense(client, every, seed)


@contextmanager
def process(folder, *options, program=("-m", "counterfolio")):
    """``counterfolio serve`` with batches in a folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, *program, "serve", "--demo", "--port", str(port),
               "--workers", "1", "--jobs", str(folder), *options]  # fmt: skip
    started = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0) as client:
            until(lambda: ready(client))
            yield started, client
    finally:
        started.kill()
        started.wait()


def below(pid):
    """All processes that this one began, and theirs."""
    for each in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, each.read_text().split()):
            yield child
            yield from below(child)


@pytest.mark.large
def test_a_batch_outlives_its_server(tmp_path):
    made = make_demo(1, 0)
    rows = pd.concat([made.X] * 2, ignore_index=True).head(800)
    rows["mean texture"] += rows.index * 1e-3  # all different
    expected = Explainer(made.model, made.X).explain_batch(rows)
    with process(tmp_path) as (server, client):
        told = client.post("/v1/models/demo/batch", content=rows.to_csv(index=False).encode(),
                           headers={"content-type": "text/csv"}).json()  # fmt: skip
        log = tmp_path / told["id"] / "answers" / "answers.jsonl"
        until(lambda: log.exists() and log.read_bytes().count(b"\n") > 20)
        orphans = list(below(server.pid))
        assert len(orphans) >= 2
        server.send_signal(signal.SIGKILL)
        server.wait()
        until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in orphans))
    answered = log.read_bytes().splitlines()
    assert len(answered) < len(rows)
    with process(tmp_path) as (_, client):
        where = f"/v1/jobs/{told['id']}"
        until(lambda: client.get(where).json()["state"] == "done")
        assert log.read_bytes().splitlines()[: len(answered) - 1] == answered[:-1]
        found = client.get(f"{where}/results?limit=1000").json()["rows"]
    assert [row["status"] for row in found] == expected["status"].tolist()
    assert [row["distance"] for row in found] == expected["distance"].tolist()


@pytest.mark.large
def test_workers_that_die_all_the_time_lose_no_question(client, pool, row):
    over = threading.Event()

    def strike():
        while not over.wait(1.0):
            for pid in pool.pids:
                with suppress(ProcessLookupError):  # it may be gone by now
                    os.kill(pid, signal.SIGKILL)

    striking = threading.Thread(target=strike)
    striking.start()
    began, codes = time.monotonic(), set()
    try:
        while time.monotonic() - began < 60.0:
            told = client.post(EXPLAIN, json={"x": row})
            codes.add(told.status_code)
            assert told.status_code == 503 or told.json()["answer"]["status"] == "optimal"
    finally:
        over.set()
        striking.join()
    assert codes <= {200, 503}
