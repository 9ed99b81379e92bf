"""Batches of the service on Ray, without a cluster; test_on_ray.py has one."""

import asyncio
import fcntl
from types import SimpleNamespace

import pytest
from ray.exceptions import ActorDiedError, RayTaskError

from portfolio.service import on_ray
from portfolio.service.app import create_app
from portfolio.service.jobs import Jobs
from portfolio.service.on_ray import OWNER, JobsElsewhere, JobsReplica, OnCluster
from portfolio.service.settings import Settings
from portfolio.workers.work import NoRoomError
from tests.support.served import Unserved, until

BATCH = "/v1/models/credit/batch"


@pytest.fixture
def settings(source):
    return Settings(lambda: [source], workers=1, reload_s=0)


class Here:
    """Workers of a batch that have no room at first, and then are this process."""

    def __init__(self):
        self.calls = 0

    def __call__(self, job, tasks):
        self.calls += 1
        if self.calls == 1:
            raise NoRoomError("the Ray cluster had no room")
        yield from (job.answer(task) for task in tasks)


def way_to(ask):
    """As of a handle of Ray Serve."""
    return JobsElsewhere(SimpleNamespace(ask=SimpleNamespace(remote=ask)))


@pytest.mark.slow
def test_a_batch_is_kept_and_answered_by_the_replica_of_the_jobs(
    settings, explainer, credit, tmp_path
):
    rows = credit[1].iloc[:4]
    executor = Here()
    replica = JobsReplica(lambda: settings, tmp_path, executor)
    client = Unserved(create_app(settings, way_to(replica.ask)))
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


def test_jobs_begin_once_they_are_nobody_elses(settings, tmp_path):
    async def asked(seconds):
        return await asyncio.wait_for(replica.ask(Jobs.every, None, 0, 100), seconds)

    with (tmp_path / OWNER).open("ab") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        replica = JobsReplica(lambda: settings, tmp_path, Here())
        with pytest.raises(TimeoutError):
            asyncio.run(asked(0.2))
    assert asyncio.run(asked(10.0)) == {"jobs": [], "offset": 0, "total": 0}
    replica.check_health()


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ActorDiedError(), 503, "was lost. Check GET /v1/jobs"),
        (RayTaskError("ask", "", OSError(28, "No space left on device")), 507, "No space left"),
    ],
)
def test_what_fails_at_the_replica_is_told(settings, credit, error, status, words):
    async def ask(*asked):
        raise error

    client = Unserved(create_app(settings, way_to(ask)))
    told = client.post(BATCH, json={"rows": credit[1].iloc[:1].to_dict("records")})
    assert told.status_code == status
    assert words in told.json()["detail"]


@pytest.mark.parametrize(("free", "count"), [(0.0, 0), (1.5, 0), (5.0, 2), (99.0, 3)])
def test_workers_are_as_many_as_find_room(monkeypatch, free, count):
    ray = SimpleNamespace(available_resources=lambda: {"CPU": free})
    monkeypatch.setattr(on_ray, "connect", lambda address: ray)
    monkeypatch.setattr(on_ray, "RayExecutor", lambda *own: lambda *_: iter(own))
    monkeypatch.setattr(on_ray, "LocalExecutor", lambda workers: lambda *_: iter(["here"]))
    expected = ["auto", count, 2] if count else ["here"]
    assert list(OnCluster(3, 2)(None, None)) == expected
