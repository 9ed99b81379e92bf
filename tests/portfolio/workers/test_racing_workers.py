"""Races that begin here and take cores of a cluster, without a cluster."""

import threading
from types import SimpleNamespace

import pytest

from encoders.backends.interface import Request
from encoders.core.errors import InputError
from portfolio.workers.ray import racing_workers
from portfolio.workers.ray.racing_workers import RacingWorkers
from tests.support.served import until

HERE, THERE = SimpleNamespace(stop_reason="here"), SimpleNamespace(stop_reason="there")


class Cluster:
    """As much of Ray as actors of races need; what they begin is there at once."""

    def __init__(self):
        self.free, self.begun, self.killed, self.outcome = 1.0, [], [], THERE

    def available_resources(self):
        return {"CPU": self.free}

    def actor(self, ray, module, threads):
        made = SimpleNamespace(ready=lambda: True, alive=True)
        made.kill = lambda: self.killed.append(made)
        self.begun.append(made)
        return made

    def solve_in(self, actor, backend, problem, request):
        return self.outcome


@pytest.fixture
def cluster(monkeypatch):
    made = Cluster()
    monkeypatch.setattr(racing_workers, "connect", lambda address: made)
    monkeypatch.setattr(racing_workers, "ActorProgram", made.actor)
    monkeypatch.setattr(racing_workers, "solve_in", made.solve_in)
    return made


@pytest.fixture
def workers(cluster):
    made = RacingWorkers("nowhere")
    yield made
    made.close()  # while the cluster is there: actors that are idle would end a minute later


def run(workers, solve=lambda problem, request: HERE):
    backend = SimpleNamespace(
        name="any", capability=SimpleNamespace(isolated=False), load=lambda: solve
    )
    return workers.run(backend, None, Request(10.0, 1))


def second(workers):
    """Where a backend runs while another one is at work."""
    began, over = threading.Event(), threading.Event()

    def wait(problem, request):
        began.set()
        assert over.wait(10)
        return HERE

    first = threading.Thread(target=run, args=(workers, wait))
    first.start()
    assert began.wait(10)
    found = run(workers)
    over.set()
    first.join()
    return found


def begin(cluster, workers):
    assert second(workers) is HERE
    until(lambda: second(workers) is not HERE)


def test_who_is_alone_runs_here(cluster, workers):
    begin(cluster, workers)
    assert run(workers) is HERE


def test_others_run_there_once_an_actor_is_there(cluster, workers):
    begin(cluster, workers)
    assert second(workers) is THERE
    assert len(cluster.begun) == 1


def test_others_run_here_while_the_cluster_has_no_room(cluster, workers):
    cluster.free = 0.5
    for _ in range(3):
        assert second(workers) is HERE
    assert not cluster.begun


def test_what_fails_there_runs_here(cluster, workers):
    begin(cluster, workers)
    cluster.outcome = SimpleNamespace(stop_reason="error")
    assert second(workers) is HERE


def test_an_actor_that_nobody_needs_ends(cluster, workers, monkeypatch):
    monkeypatch.setattr(racing_workers, "IDLE_S", 0.05)
    assert second(workers) is HERE
    until(lambda: cluster.begun and cluster.killed == cluster.begun)


def test_a_cluster_that_is_gone_has_no_actors_to_end(cluster, workers, monkeypatch):
    begin(cluster, workers)

    def gone(address):
        raise InputError("there is no Ray cluster")

    monkeypatch.setattr(racing_workers, "connect", gone)
    workers._end_actors()
    assert second(workers) is HERE  # it is forgotten, and the next race begins anew
