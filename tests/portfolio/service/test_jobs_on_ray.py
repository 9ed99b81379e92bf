"""Batches of the service on Ray, without a cluster; test_on_ray.py has one."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from encoders.core.errors import InputError
from portfolio.service import on_ray
from portfolio.service.app import create_app
from portfolio.service.on_ray import JobsReplica, OnCluster
from portfolio.service.settings import Settings
from portfolio.workers.work import NoRoomError
from tests.support.served import Unserved, until

BATCH = "/v1/models/credit/batch"


@pytest.fixture
def settings(source, tmp_path):
    return Settings(lambda: [source], workers=1, reload_s=0, jobs=tmp_path)


class Here:
    """Workers of a batch that have no room at first, and then are this process."""

    def __init__(self):
        self.calls = 0

    def __call__(self, job, tasks):
        self.calls += 1
        if self.calls == 1:
            raise NoRoomError("the Ray cluster had no room")
        yield from (job.answer(task) for task in tasks)


@pytest.fixture
def nodes(monkeypatch):
    """Nodes of a cluster, which a test may change."""
    nodes = [{"Alive": True}, {"Alive": False}]
    monkeypatch.setattr(on_ray, "connect", lambda _: SimpleNamespace(nodes=lambda: nodes))
    return nodes


@pytest.mark.slow
def test_a_batch_is_kept_by_a_replica_and_answered_by_that_of_the_jobs(
    settings, explainer, credit, nodes
):
    rows = credit[1].iloc[:4]
    executor = Here()
    client = Unserved(create_app(replace(settings, job_workers=0)))
    client.app.state.service.jobs.start()
    replica = JobsReplica(lambda: settings, executor)
    told = client.post(BATCH, json={"rows": rows.to_dict("records")})
    assert told.status_code == 202, told.text
    where = told.headers["location"]
    until(lambda: client.get(where).json()["state"] == "done")
    assert executor.calls == 2
    found = client.get(f"{where}/results?limit=3").json()["rows"]
    own = [explainer.explain(row).distance for _, row in rows.iterrows()]
    assert [row["distance"] for row in found] == own[:3]
    assert [job["id"] for job in client.get("/v1/jobs").json()["jobs"]] == [told.json()["id"]]
    assert client.delete(where).json()["state"] == "done"
    assert client.get(f"{where}/result").status_code == 404
    assert client.get("/v1/jobs/none").status_code == 404
    replica._jobs.close()
    client.app.state.service.jobs.close()


def test_nodes_do_not_share_a_file_of_sqlite(settings, nodes):
    nodes.append({"Alive": True})
    words = "the cluster has 2 nodes, which cannot share a file of SQLite. Give jobs_database"
    with pytest.raises(InputError, match=words):
        JobsReplica(lambda: settings, Here())
    with pytest.raises(InputError, match="is not reachable"):  # so it was tried
        url = "postgresql://nobody@127.0.0.1:1/none"
        JobsReplica(lambda: replace(settings, jobs_database=url), Here())


@pytest.mark.parametrize(("free", "count"), [(0.0, 0), (1.5, 0), (5.0, 2), (99.0, 3)])
def test_workers_are_as_many_as_find_room(monkeypatch, free, count):
    ray = SimpleNamespace(available_resources=lambda: {"CPU": free})
    monkeypatch.setattr(on_ray, "connect", lambda address: ray)
    monkeypatch.setattr(on_ray, "RayExecutor", lambda *own: lambda *_: iter(own))
    monkeypatch.setattr(on_ray, "LocalExecutor", lambda workers: lambda *_: iter(["here"]))
    expected = ["auto", count, 2] if count else ["here"]
    assert list(OnCluster(3, 2)(None, None)) == expected
