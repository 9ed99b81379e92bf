"""Workers that are killed, clients that go, queues that are full, and servers that end."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer
from portfolio.service.examples import typical_row
from portfolio.service.sources import AtHand
from tests.support.served import ready, until

pytestmark = pytest.mark.usefixtures("forked_children")

PATH = "/v1/models/credit/explain"
# Its optimum is not proved within the limit, so it takes all the time that it gets.
LONG = "diverse"


@pytest.fixture
def long_asked(row):
    return {"x": row, "k": 20, "within": 1000.0, "norm": 1}


def post_long(client, asked, limit_s):
    return client.post(f"/v1/models/credit/{LONG}", json=asked | {"time_limit_s": limit_s})


@pytest.fixture
def two():
    with ThreadPoolExecutor(8) as threads:
        yield threads


@pytest.mark.slow
def test_a_killed_worker_is_replaced_and_its_question_asked_again(client, pool, two, long_asked):
    told = two.submit(post_long, client, long_asked, 1.5)
    until(lambda: pool.busy)
    (pid,) = pool.pids
    os.kill(pid, signal.SIGKILL)
    assert told.result().status_code == 200
    assert pool.pids != [pid]
    assert pool.restarts


def test_who_goes_is_waited_for_no_more(service, client, pool, row, long_asked):
    url = client.base_url
    with httpx.Client(base_url=url, timeout=0.3) as hasty, pytest.raises(httpx.ReadTimeout):
        post_long(hasty, long_asked, 20.0)
    began = time.monotonic()
    until(lambda: not pool.busy)
    assert client.post(PATH, json={"x": row}).status_code == 200
    assert time.monotonic() - began < 8.0
    (pid,) = pool.pids
    os.kill(pid, 0)


def test_who_leaves_a_stream_is_waited_for_no_more(client, pool, long_asked):
    asked = long_asked | {"time_limit_s": 20.0}
    with client.stream("POST", f"/v1/models/credit/{LONG}/stream", json=asked) as told:
        assert told.status_code == 200
        until(lambda: pool.busy)
    began = time.monotonic()
    until(lambda: not pool.busy)
    assert time.monotonic() - began < 8.0


@pytest.mark.slow
def test_past_the_queue_there_is_429_and_nothing_else(client, pool, two, row, long_asked):
    first = two.submit(post_long, client, long_asked, 1.0)
    until(lambda: pool.busy)
    sent = [two.submit(client.post, PATH, json={"x": row}) for _ in range(7)]
    told = [each.result() for each in sent]
    codes = sorted(each.status_code for each in told)
    assert codes == [200] * 3 + [429] * 4
    refused = next(each for each in told if each.status_code == 429)
    assert int(refused.headers["retry-after"]) >= 1
    assert first.result().status_code == 200


@pytest.mark.slow
def test_who_goes_takes_no_place_in_the_queue(client, pool, two, row, long_asked):
    first = two.submit(post_long, client, long_asked, 3.0)
    until(lambda: pool.busy)
    with httpx.Client(base_url=client.base_url, timeout=0.2) as hasty:
        for _ in range(6):
            with pytest.raises(httpx.ReadTimeout):
                hasty.post(PATH, json={"x": row})
            time.sleep(0.1)
    assert client.post(PATH, json={"x": row}).status_code == 200
    assert first.result().status_code == 200


@pytest.mark.slow
def test_questions_end_on_the_model_that_they_were_asked_of(
    service, client, sources, two, explainer, credit, row, long_asked
):
    held, (model, X) = service[0].state.service, credit
    other = Explainer(RandomForestClassifier(3, random_state=5).fit(X, model.predict(X)), X)
    first = two.submit(post_long, client, long_asked, 1.0)
    until(lambda: held.pool.busy)
    before, sources[0] = sources[0], AtHand("credit", other, typical_row(other.features, X))
    try:
        held.refresh()
        second = client.post(PATH, json={"x": row}).json()
    finally:
        sources[0] = before
        held.refresh()
    assert first.result().json()["model"]["digest"] == explainer.digest
    assert second["model"]["digest"] == other.digest != explainer.digest
    assert second["answer"]["distance"] == other.explain(row).distance
    assert client.post(PATH, json={"x": row}).json()["model"]["digest"] == explainer.digest


@pytest.fixture
def process():
    """``counterfolio serve``, as users start it."""
    command = [sys.executable, "-m", "counterfolio", "serve", "--demo", "--port", "0",
               "--workers", "1"]  # fmt: skip
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    lines = []
    url = next(found for line in started.stderr if (found := told_address(lines, line)))
    drain = threading.Thread(target=lambda: lines.extend(started.stderr), daemon=True)
    drain.start()
    with httpx.Client(base_url=url, timeout=60.0) as client:
        until(lambda: ready(client))
        yield started, client, lines
    started.kill()
    started.wait()
    drain.join()


def told_address(lines, line):
    lines.append(line)
    told = json.loads(line)["message"]
    return told.split(" on ")[1].split()[0] if "running on" in told else None


def children_of(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in found.stdout.split()]


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture
def demo_row(process):
    return process[1].get("/v1/models/demo").json()["example"]


@pytest.mark.slow
@pytest.mark.parametrize("presses", [pytest.param(1, marks=pytest.mark.large), 2])
def test_ctrl_c_ends_in_lines_of_the_log_and_nothing_else(process, two, demo_row, presses):
    server, client, lines = process
    if presses == 2:  # the second one ends the request under way
        asked = {"x": demo_row, "k": 20, "within": 1000.0, "time_limit_s": 50.0}
        told = two.submit(client.post, f"/v1/models/demo/{LONG}", json=asked)
        until(lambda: "counterfolio_workers_busy 1.0" in client.get("/metrics").text)
    children = children_of(server.pid)
    os.kill(server.pid, signal.SIGINT)
    until(lambda: any("Shutting down" in line for line in lines))
    if presses == 2:
        os.kill(server.pid, signal.SIGINT)
        assert told.result().status_code == 503
    assert server.wait(20) == 0
    until(lambda: not any(lives(child) for child in children))
    assert not [line for line in lines if "traceback" in line.lower()]
    assert all(json.loads(line)["message"] for line in lines)  # no sentence beside them


@pytest.mark.slow
def test_sigterm_answers_what_is_under_way(process, two, demo_row):
    server, client, lines = process
    asked = {"x": demo_row, "k": 20, "within": 1000.0, "time_limit_s": 1.5}
    told = two.submit(client.post, f"/v1/models/demo/{LONG}", json=asked)
    until(lambda: "counterfolio_workers_busy 1.0" in client.get("/metrics").text)
    children = children_of(server.pid)
    assert children
    for pid in (*children, server.pid):  # as supervisors do
        os.kill(pid, signal.SIGTERM)
    assert told.result().status_code == 200
    assert server.wait(30) in (0, -signal.SIGTERM)
    assert not any(lives(child) for child in children)
    last = [json.loads(line) for line in lines if f'"/v1/models/demo/{LONG}"' in line]
    assert [each["status"] for each in last] == [200]
    assert last[0]["request"]


@pytest.mark.large
def test_no_worker_outlives_its_server(process, demo_row):
    server, client, _ = process
    asked = {"x": demo_row, "strategy": "plain-milp"}
    assert client.post("/v1/models/demo/explain", json=asked).status_code == 200
    children = children_of(server.pid)
    children += [own for child in children for own in children_of(child)]
    assert len(children) >= 2  # the worker, and its solver
    server.kill()
    server.wait()
    until(lambda: not any(lives(child) for child in children))
