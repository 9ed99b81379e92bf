"""Races and batches on a real Ray cluster of two nodes, one of which is lost on the way."""

import subprocess
import sys
import threading
import time

import pandas as pd
import pytest
import ray
from ray.cluster_utils import Cluster

from encoders.backends.attempt import ConfiguredBackend
from encoders.backends.interface import Request
from encoders.testing.enumeration import optimum
from encoders.testing.hard_problem import hard_problem
from encoders.testing.random_problems import random_problem
from portfolio.engine.race import race
from portfolio.workers.local_executor import LATE
from portfolio.workers.ray import racing_workers
from portfolio.workers.ray.executor import RayExecutor
from portfolio.workers.ray.racing_workers import RacingWorkers
from portfolio.workers.solver_workers import solve_in
from portfolio.workers.work import Task
from tests.support.answers import lines, same
from tests.support.checks import backend, check
from tests.support.gathered import Echo
from tests.support.served import until


@pytest.fixture(scope="module")
def cluster():
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False})
    yield made
    ray.shutdown()
    made.shutdown()


@pytest.fixture
def executor(cluster):
    made = RayExecutor(cluster.address)
    yield made
    made.close()  # its idle actors reserve cores


@pytest.mark.slow
@pytest.mark.parametrize("name", ["search", "milp"])  # in the actor, and in a separate process
def test_backends_answer_as_they_do_here(executor, name):
    for seed in range(5):
        problem, bounds = random_problem(seed), []
        request = Request(300.0, 1, on_bounds=lambda *b, kept=bounds: kept.append(b))
        outcome = executor.run(backend(name), problem, request)
        check(problem, outcome, optimum(problem)[0], backend(name).capability)


@pytest.mark.slow
def test_a_race_on_the_cluster(explainer, credit, executor):
    rows = [row for _, row in credit[1].iterrows() if explainer.predict(row) == "refused"][:5]
    for row in rows:
        alone = explainer.explain(row, target="granted")
        options = {"target": "granted", "strategy": ["search", "cp"], "threads": 2}
        raced = explainer.explain(row, executor=executor, **options)
        assert (raced.status, raced.verified) == ("optimal", True)
        assert raced.distance == pytest.approx(alone.distance, rel=1e-6)


@pytest.mark.slow
def test_a_race_begins_here_and_goes_on_where_cores_are_free(cluster, monkeypatch):
    workers, stop, there = RacingWorkers(cluster.address), threading.Event(), []
    monkeypatch.setattr(
        racing_workers, "solve_in", lambda *own: there.append(own) or solve_in(*own)
    )
    first = threading.Thread(
        target=workers.run, args=(backend("search"), hard_problem(), Request(300.0, 1, stop=stop))
    )
    first.start()
    problem = random_problem(3)
    best = optimum(problem)[0]

    def asked():
        outcome = workers.run(backend("cp"), problem, Request(60.0, 1))
        check(problem, outcome, best, backend("cp").capability)
        return there

    try:
        until(asked)
    finally:
        stop.set()
        first.join()
    until(lambda: workers.close() or not solvers(cluster))


@pytest.mark.large
def test_a_race_goes_on_here_when_its_node_is_lost(cluster, monkeypatch):
    """The second backend is on a second node, as it needs more cores than the first node has."""
    workers, stop, there, told = RacingWorkers(cluster.address), threading.Event(), [], []
    monkeypatch.setattr(
        racing_workers, "solve_in", lambda *own: there.append(solve_in(*own)) or there[-1]
    )
    node = cluster.add_node(num_cpus=3)
    cluster.wait_for_nodes()
    first = threading.Thread(
        target=workers.run, args=(backend("search"), hard_problem(), Request(300.0, 1, stop=stop))
    )
    first.start()

    def tell(upper, lower):
        told.append((upper, lower))
        if len(told) == 1:
            cluster.remove_node(node, allow_graceful=False)
        elif there:  # bounds of the other backend
            stop.set()

    try:
        until(lambda: workers.run(backend("cp"), random_problem(3), Request(60.0, 3)) and there)
        there.clear()
        request = Request(300.0, 3, stop=stop, on_bounds=tell)
        outcome = workers.run(backend("cp"), hard_problem(), request)
    finally:
        stop.set()
        first.join()
    assert [lost.stop_reason for lost in there] == ["error"]
    assert outcome.stop_reason == "interrupted" and 0 <= outcome.lower <= outcome.upper
    workers.close()


def test_explainers_race_by_the_workers_that_they_are_given(cluster, explainer, credit):
    workers = RacingWorkers(cluster.address)
    raced = explainer.run_by(workers)
    assert raced.digest == explainer.digest
    for _, row in credit[1].head(5).iterrows():
        alone = explainer.explain(row)
        found = raced.explain(row, strategy=["search", "cp"], threads=2)
        assert (found.status, found.verified) == (alone.status, alone.verified)
        assert found.distance == pytest.approx(alone.distance, rel=1e-6)
    workers.close()


@pytest.mark.slow
def test_a_stop_ends_a_race_on_the_cluster(executor):
    stop = threading.Event()
    entrants = [ConfiguredBackend(backend(name), run=executor.run) for name in ("search", "milp")]

    def soon(upper, lower):
        if lower > 0:
            threading.Timer(1.0, stop.set).start()

    report = race(entrants, hard_problem(), Request(300.0, 2, stop=stop, on_bounds=soon))
    outcome = report.outcome
    assert outcome.stop_reason == "interrupted", [
        attempt.raw for attempt in report.provenance.attempts
    ]
    assert 0 < outcome.lower <= outcome.upper  # bounds came while they ran
    until = time.monotonic() + 20
    while any(t.name.startswith("counterfolio-race") for t in threading.enumerate()):
        assert time.monotonic() < until
        time.sleep(0.05)


def solvers(cluster):
    """Process ids of this cluster's actors; another test process may have a cluster, too."""
    raylets = [str(p.process.pid) for p in cluster.head_node.all_processes["raylet"]]
    asked = ["pgrep", "-f", "ray::ProgramActor", "--parent", ",".join(raylets)]
    return subprocess.run(asked, capture_output=True, text=True).stdout.split()


@pytest.mark.slow
def test_a_lost_actor_is_an_error_not_a_hang(cluster, executor):
    def kill(upper, lower):
        subprocess.run(["kill", "-9", *solvers(cluster)])

    outcome = executor.run(backend("cp"), hard_problem(), Request(300.0, 1, on_bounds=kill))
    assert (outcome.stop_reason, outcome.raw) == ("error", "the worker on the cluster died")
    problem = random_problem(3)
    again = executor.run(backend("cp"), problem, Request(60.0, 1))
    check(problem, again, optimum(problem)[0], backend("cp").capability)


@pytest.mark.slow
def test_a_batch_survives_the_loss_of_a_node(explainer, credit, cluster, tmp_path, capfd):
    rows = pd.concat([credit[1]] * 3, ignore_index=True)
    rows["income"] += rows.index * 1e-3  # all different
    rows = rows.round(3)
    expected = explainer.explain_batch(rows)
    node = cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    lost = []

    def lose(answered, n):
        if answered >= 60 and not lost:
            lost.append(answered)
            cluster.remove_node(node, allow_graceful=False)

    frame = explainer.explain_batch(
        rows, executor=RayExecutor(cluster.address, workers=4), out=tmp_path, on_answer=lose
    )
    assert lost
    told = capfd.readouterr()
    assert "state-dump" not in told.out + told.err
    same(frame, expected)
    assert len(lines(tmp_path)) == len({record["key"] for record in lines(tmp_path)}) == len(rows)


@pytest.mark.slow
def test_workers_on_the_cluster_receive_several_rows(cluster):
    payloads = ["fine"] * 100
    payloads[30], payloads[45], payloads[60] = "dies", "refused", "sleeps"
    tasks = (Task(str(at), payload, 1.0) for at, payload in enumerate(payloads))
    records = list(RayExecutor(cluster.address, workers=2)(Echo(), tasks))
    assert sorted(int(record["key"]) for record in records) == list(range(100))
    by_key = {int(record["key"]): record for record in records}
    messages = {at: record["message"] for at, record in by_key.items() if record["message"]}
    assert messages == {30: "the worker on the cluster died", 60: LATE}
    assert (
        by_key[45]["count"] == 1
        and max(record["count"] for record in records if "count" in record) > 5
    )


@pytest.mark.slow
def test_other_questions_on_the_cluster_after_a_solve_that_reserved_all_cores(
    explainer, credit, executor
):
    executor.run(backend("cp"), random_problem(3), Request(300.0, 2))
    rows = credit[1].head(4)
    table = explainer.ask_batch("reasons", rows, executor=executor)
    alone = [", ".join(explainer.reasons(row).features) for _, row in rows.iterrows()]
    assert list(table["features"]) == alone


def test_no_cluster_is_told_in_a_sentence():
    script = """
from portfolio.workers.ray.executor import connect
from encoders.core.errors import InputError
try:
    connect("127.0.0.1:1")
except InputError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "can't connect to a Ray cluster at 127.0.0.1:1" in done.stdout
    assert "RAY_AUTH_MODE=token" in done.stdout


@pytest.mark.slow
def test_ray_is_not_imported_unless_asked_for():
    script = """
import sys
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from portfolio import Explainer
from encoders.testing.hard_problem import hard_problem
from encoders.testing.enumeration import optimum
from encoders.testing.random_problems import random_problem
X, y = load_iris(return_X_y=True)
model = RandomForestClassifier(10, max_depth=3, random_state=0).fit(X, y)
if __name__ == "__main__":
    explainer = Explainer(model, X)
    assert explainer.explain(X[0]).status == "optimal"
    explainer.explain_batch(X[:3])
    print("ray" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == "False", done.stderr
