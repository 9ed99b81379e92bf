"""The service on a Ray cluster of two nodes, of which one is lost, as is a replica, under load."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import httpx
import pandas as pd
import pytest
import skops.io
import yaml
from sklearn.ensemble import RandomForestClassifier
from starlette.responses import PlainTextResponse
from typer.testing import CliRunner

from encoders.core.errors import InputError
from portfolio import Explainer
from portfolio.cli.app import app
from portfolio.service.unanswered import Unanswered
from tests.support.served import Unserved, lasting, until

CLIENTS = 4
BATCH = "/v1/models/credit/batch"
BATCH_S = 400.0  # seconds of a batch that waits two minutes for room
ENOUGH = 10  # answers that every client gets after each blow


@pytest.fixture
def folder(credit, tmp_path):
    """The forest, and another one to come."""
    model, X = credit
    other = RandomForestClassifier(6, max_depth=3, random_state=5).fit(X, model.predict(X))
    skops.io.dump(model, tmp_path / "forest.skops")
    skops.io.dump(other, tmp_path / "coming.skops")
    X.assign(y=model.predict(X)).to_csv(tmp_path / "rows.csv", index=False)
    text = 'model = "forest.skops"\ndata = "rows.csv"\nlabel = "y"\n'
    (tmp_path / "credit.toml").write_text(text)
    return tmp_path, Explainer(other, X)


@pytest.fixture
def cluster(monkeypatch):
    """Two nodes with room for a replica each."""
    import ray
    from ray.cluster_utils import Cluster

    from portfolio.service.on_ray import AROUND

    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    monkeypatch.setenv(AROUND, "portfolio.service.unanswered.around_proxies")
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made
    ray.shutdown()
    made.shutdown()


class Clients:
    """Clients that send queries until they are stopped, and retry after a 503."""

    def __init__(self, url, rows, expected):
        self.url, self.rows, self.expected = url, rows, expected
        self.codes, self.digests, self.wrong = Counter(), Counter(), []
        self.over = threading.Event()

    def ask_on(self, number):
        with httpx.Client(base_url=self.url, timeout=60.0) as client:
            at = number
            while not self.over.is_set():
                at = (at + 1) % len(self.rows)
                while not self.told(client, at):
                    time.sleep(0.1)

    def told(self, client, at):
        """Return whether there is an answer."""
        got = client.post("/v1/models/credit/explain", json={"x": self.rows[at]})
        self.codes[got.status_code] += 1
        if got.status_code == 503:
            assert got.json()["status"] == 503
            assert got.headers["retry-after"] == "1"
            return False
        document = got.json()
        digest = document["model"]["digest"]
        self.digests[digest] += 1
        if lasting(document["answer"]) != self.expected[digest][at]:
            self.wrong.append(document)
        return True

    def go_on(self):
        """Wait for some more answers."""
        before = self.codes[200]
        until(lambda: self.codes[200] > before + ENOUGH * CLIENTS)


def serving(cluster):
    """Process ids of replicas by the node's number."""
    for number, node in enumerate(cluster.list_all_nodes()):
        raylet = node.all_processes["raylet"][0].process.pid
        asked = ["pgrep", "-f", "ray::ServeReplica", "--parent", str(raylet)]
        for pid in subprocess.run(asked, capture_output=True, text=True).stdout.split():
            yield number, int(pid)


def workers_of(pid):
    asked = ["pgrep", "--parent", str(pid), "-f", "portfolio.service.worker_process"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.split()


@pytest.mark.large
def test_replica_node_and_model_are_replaced_under_load(cluster, folder, explainer, credit):
    from ray import serve

    from portfolio.service.on_ray import RayService, build
    from portfolio.workers.ray.connection import connect

    place, other = folder
    port = free_port()
    connect(cluster.address)
    serve.start("HeadOnly", {"host": "127.0.0.1", "port": port})
    serve.run(build(RayService(models=place, host="127.0.0.1", replicas=2)), name="counterfolio")
    rows = [dict(row) for _, row in credit[1].head(20).iterrows()]
    expected = {
        each.digest: [
            json.loads(json.dumps(lasting(each.explain(row, threads=1).to_dict()))) for row in rows
        ]
        for each in (explainer, other)
    }
    clients = Clients(f"http://127.0.0.1:{port}", rows, expected)
    with ThreadPoolExecutor(CLIENTS) as threads:
        asking = [threads.submit(clients.ask_on, number) for number in range(CLIENTS)]
        try:
            blows(cluster, clients, place, other)
        finally:
            clients.over.set()
    for each in asking:
        each.result()
    serve.delete("counterfolio")
    print(clients.codes, clients.digests)
    assert not clients.wrong
    assert clients.codes.keys() <= {200, 503}


def blows(cluster, clients, place, other):
    """Kill a replica, remove a node and replace the model."""
    clients.go_on()
    until(lambda: {number for number, _ in serving(cluster)} == {0, 1})
    victim = dict(serving(cluster))[0]
    orphans = workers_of(victim)
    assert orphans
    os.kill(victim, signal.SIGKILL)
    clients.go_on()
    until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in orphans))
    until(lambda: {number for number, _ in serving(cluster)} == {0, 1})
    cluster.remove_node(cluster.list_all_nodes()[1], allow_graceful=False)
    clients.go_on()
    shutil.move(place / "coming.skops", place / "forest.skops")
    until(lambda: clients.digests[other.digest])
    clients.go_on()


@pytest.mark.large
def test_a_batch_outlives_its_replica_and_a_node(cluster, folder, explainer, credit, postgresql):
    from ray import serve

    from portfolio.service.on_ray import RayService, build
    from portfolio.workers.ray.connection import connect

    place, _ = folder
    port = free_port()
    cluster.add_node(num_cpus=2)
    connect(cluster.address)
    serve.start("HeadOnly", {"host": "127.0.0.1", "port": port})
    given = RayService(models=place, host="127.0.0.1", jobs=place / "jobs",
                       jobs_database=postgresql.new_database(), job_workers=2)  # fmt: skip
    serve.run(build(given), name="counterfolio")
    rows = many(credit[1])
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=90.0) as client:
        number = client.post(BATCH, json={"rows": rows.to_dict("records")}).json()["id"]
        before = answered(client, number, 30)
        os.kill(replica_of_jobs(), signal.SIGKILL)
        again = answered(client, number, before + 30)
        assert again < len(rows)
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
        assert answered(client, number, len(rows)) == len(rows)
        until(lambda: client.get(f"/v1/jobs/{number}").json()["state"] == "done")
        pages = [f"/v1/jobs/{number}/results?offset={at}&limit=1000" for at in range(0, 3000, 1000)]
        found = pd.DataFrame([row for page in pages for row in client.get(page).json()["rows"]])
    serve.delete("counterfolio")
    lines = (place / "jobs" / number / "answers" / "answers.jsonl").read_text().splitlines()
    assert len(lines) == len(rows)
    own = explainer.explain_batch(rows, time_limit_s=10.0)
    assert found["status"].tolist() == own["status"].tolist()
    assert found["distance"].tolist() == pytest.approx(own["distance"].tolist(), nan_ok=True)


def many(X):
    rows = pd.concat([X] * 10, ignore_index=True)
    rows["income"] += rows.index * 1e-3  # all different
    return rows.round(3).head(3000)


def replica_of_jobs():
    asked = ["pgrep", "-f", "ray::ServeReplica:counterfolio:counterfolio-jobs"]
    (pid,) = subprocess.run(asked, capture_output=True, text=True).stdout.split()
    return int(pid)


def answered(client, number, least):
    """Return the number of answered rows once there are enough."""
    late_at = time.monotonic() + BATCH_S
    while True:
        told = client.get(f"/v1/jobs/{number}")
        if told.status_code == 200:
            if told.json()["answered"] >= least:
                return told.json()["answered"]
            assert told.json()["state"] in ("queued", "running"), told.text
        assert time.monotonic() < late_at
        time.sleep(0.1)


def test_who_gets_no_answer_from_a_proxy_gets_503():
    async def silent(scope, receive, send):
        pass

    told = Unserved(Unanswered(silent)).get("/")
    assert (told.status_code, told.headers["retry-after"]) == (503, "1")
    assert told.json()["detail"] == "the replica that handled the request was lost. Retry later."


def test_answers_go_through_as_they_are():
    told = Unserved(Unanswered(PlainTextResponse("ready"))).get("/")
    assert (told.status_code, told.text) == (200, "ready")


def test_the_example_for_serve_deploy_is_an_application():
    from ray.serve.schema import ServeDeploySchema

    from portfolio.service.on_ray import NAME, RayService, build

    text = (Path(__file__).parents[3] / "examples" / "serve.yaml").read_text()
    schema = ServeDeploySchema.model_validate(yaml.safe_load(text))
    (application,) = schema.applications
    assert application.import_path == "portfolio.service.on_ray:build"
    given = RayService.model_validate(application.args)
    assert given.host == schema.http_options.host
    assert build(given)._bound_deployment.name == NAME


@pytest.mark.parametrize(("surge", "percent"), [(True, 1), (False, 0)])
def test_a_replica_begins_before_the_one_that_it_replaces_ends(surge, percent):
    from portfolio.service.on_ray import RayService, build

    made = build(RayService(demo=True, host="127.0.0.1", surge=surge))
    assert made._bound_deployment._deployment_config.max_surge_percent == percent


def test_who_is_to_end_goes_with_the_cluster_and_not_before(monkeypatch):
    from portfolio.service import on_ray

    gone, over = threading.Event(), threading.Event()
    monkeypatch.setattr(on_ray.os, "_exit", lambda code: gone.set())
    listening = socket.create_server(("127.0.0.1", 0))
    place = "{}:{}".format(*listening.getsockname())
    context = SimpleNamespace(gcs_address=place)
    ray = SimpleNamespace(get_runtime_context=lambda: context)
    with on_ray._ended_with_its_cluster(ray, over):
        over.set()
        assert not gone.wait(3 * on_ray.LOOK_S)
        listening.close()
        assert gone.wait(10)


@pytest.mark.large
def test_a_signal_to_all_processes_ends_them_in_seconds(tmp_path):
    port, log = free_port(), tmp_path / "log"
    command = [
        sys.executable,
        "-m",
        "counterfolio",
        "serve",
        "--demo",
        "--ray",
        "--port",
        str(port),
    ]
    with log.open("w") as told:
        server = subprocess.Popen(command, stderr=told, start_new_session=True)
    until(lambda: "running on" in log.read_text())
    os.killpg(server.pid, signal.SIGTERM)
    assert server.wait(10) == 0
    until(lambda: not in_session(server.pid))


def in_session(number):
    asked = ["pgrep", "--session", str(number)]
    return subprocess.run(asked, capture_output=True, text=True).stdout.split()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.parametrize(
    ("options", "shown"), [([], None), (["--hide-rows"], False), (["--show-rows"], True)]
)
def test_rows_are_hidden_on_ray_too(monkeypatch, options, shown):
    from portfolio.service import on_ray

    services = []
    monkeypatch.setattr(on_ray, "run", lambda service, *_: services.append(service))
    assert CliRunner().invoke(app, ["serve", "--demo", "--ray", *options]).exit_code == 0
    settings = services[0].settings()
    assert settings.show_rows is shown and settings.shows_rows is (shown is not False)


def test_answers_of_jobs_are_in_the_same_store_on_ray(monkeypatch, tmp_path):
    from portfolio.service import on_ray

    services, url = [], "s3://bucket/jobs"
    monkeypatch.setattr(on_ray, "run", lambda service, *_: services.append(service))
    options = ["--demo", "--ray", "--jobs", str(tmp_path), "--job-answers", url]
    assert CliRunner().invoke(app, ["serve", *options]).exit_code == 0
    assert services[0].settings().job_answers == url


def test_strangers_need_keys_on_ray_too():
    from portfolio.service.on_ray import RayService

    with pytest.raises(InputError, match="API keys are needed"):
        RayService(demo=True).settings()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--replicas", "2"], "need --ray"),
        (["--ray", "--logs", "x"], "--ray does not support --logs. Omit"),
        (["--ray", "--queries-per-day", "9"], "--ray does not support --queries-per-day. Omit"),
        (["--ray", "--connections", "9"], "--ray does not support --connections. Omit"),
        (["--ray", "--oidc-claim", "email"], "--ray does not support --oidc-claim. Omit"),
        (
            ["--ray", "--tls-certificate", "a", "--tls-key", "b"],
            "--ray does not support --tls-certificate and --tls-key. Omit",
        ),
        (["--ray", "--port", "0"], "--ray needs a port"),
    ],
)
def test_options_that_do_not_go_together(given, words):
    told = CliRunner().invoke(app, ["serve", "--demo", *given])
    assert words in str(told.exception)
