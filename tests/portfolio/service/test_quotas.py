"""Limits on the requests and queries of each API key: 429 with the seconds until the next one."""

import asyncio

import pytest

from encoders.core.errors import InputError
from portfolio.service import quotas
from portfolio.service.app import create_app
from portfolio.service.database import open_database
from portfolio.service.problems import Problem
from portfolio.service.quotas import DAY_S, MINUTE_S, CountsHere, Quota
from portfolio.service.settings import Settings
from portfolio.service.shared_counts import SharedCounts
from tests.support.job_rows import database_of
from tests.support.served import Unserved, served

pytestmark = pytest.mark.usefixtures("forked_children")

KEYS = frozenset({"a-key-of-twenty-signs", "another-key-of-many-signs"})
NOON = 20_000 * DAY_S + DAY_S / 2
FIRST, SECOND = ({"authorization": f"Bearer {key}"} for key in sorted(KEYS))


class Clock:
    """The time, which a test sets."""

    def __init__(self, now_s):
        self.now_s = now_s

    def time(self):
        return self.now_s


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def counts(request, tmp_path):
    """Counts of one process, or of all that share a database."""
    if request.param == "memory":
        return CountsHere()
    is_file = request.param == "sqlite"
    url = None if is_file else request.getfixturevalue("postgresql").new_database()
    return SharedCounts(open_database(url, tmp_path, durable=False))


@pytest.fixture
def clock(monkeypatch):
    clock = Clock(NOON)
    monkeypatch.setattr(quotas, "time", clock)
    return clock


def take(quota, owner):
    return asyncio.run(quota.take(owner))


def refusal(quota, owner):
    with pytest.raises(Problem) as problem:
        take(quota, owner)
    assert problem.value.status_code == 429
    return problem.value


def test_a_window_ends_and_keys_are_counted_apart(clock, counts):
    quota = Quota(2, MINUTE_S, "requests per minute")
    quota.counts = counts
    for _ in range(2):
        take(quota, "a")
    clock.now_s += 20.5
    problem = refusal(quota, "a")
    assert problem.headers == {"Retry-After": "40"}
    assert problem.detail == ("the limit of 2 requests per minute is used up. Retry in 40 seconds.")
    take(quota, "b")
    clock.now_s = NOON + MINUTE_S
    take(quota, "a")


def test_a_request_that_fails_is_not_counted(clock, counts):
    quota = Quota(1, DAY_S, "queries per day")
    quota.counts = counts

    async def fail(status):
        async with quota.one("a"):
            raise Problem(status, "it failed.")

    for status in (429, 422, 503, 408):  # the last client has disconnected, which counts
        with pytest.raises(Problem, match="it failed"):
            asyncio.run(fail(status))
    refusal(quota, "a")


def test_servers_of_a_database_share_their_counts(clock, tmp_path):
    first, second = (Quota(3, DAY_S, "queries per day") for _ in range(2))
    for quota in (first, second):
        quota.counts = SharedCounts(database_of(tmp_path))
    for quota in (first, second, first):
        take(quota, "a")
    refusal(second, "a")
    take(second, "b")


def test_a_day_ends_at_midnight_in_utc(clock):
    quota = Quota(1, DAY_S, "queries per day")
    take(quota, None)
    assert refusal(quota, None).headers == {"Retry-After": str(DAY_S // 2)}
    clock.now_s = NOON + DAY_S / 2
    take(quota, None)


def test_zero_is_no_limit():
    quota = Quota(0, DAY_S, "queries per day")
    for _ in range(10):
        take(quota, "a")


def test_requests_of_a_minute_are_limited_but_not_health_checks(source, clock):
    settings = Settings(lambda: [source], workers=1, reload_s=0, keys=KEYS, requests_per_minute=2)
    client = Unserved(create_app(settings))
    codes = [client.get("/v1/models", headers=FIRST).status_code for _ in range(3)]
    assert codes == [200, 200, 429]
    answer = client.get("/metrics", headers=FIRST)
    assert answer.status_code == 429 and answer.headers["retry-after"] == "60"
    assert answer.headers["content-type"] == "application/problem+json"
    assert client.get("/v1/models", headers=SECOND).status_code == 200
    assert client.get("/v1/models").status_code == 401
    assert client.get("/health", headers=FIRST).status_code == 200


def test_servers_with_jobs_share_their_limits(source, clock, tmp_path):
    settings = Settings(
        lambda: [source], workers=1, reload_s=0, keys=KEYS, requests_per_minute=3, jobs=tmp_path
    )
    servers = [Unserved(create_app(settings)) for _ in range(2)]
    codes = [servers[at % 2].get("/v1/models", headers=FIRST).status_code for at in range(5)]
    assert codes == [200, 200, 200, 429, 429]
    assert servers[1].get("/v1/models", headers=SECOND).status_code == 200


@pytest.mark.slow
def test_queries_of_a_day_are_limited(source, row, clock, tmp_path):
    settings = Settings(
        lambda: [source], workers=1, reload_s=0, keys=KEYS, queries_per_day=3, jobs=tmp_path
    )
    path = "/v1/models/credit/explain"
    with served(settings) as (_, client):
        for wrong in ({"no": 1}, {"target": "no class"}):  # the worker refuses the second one
            body = {"x": row, **wrong}
            assert client.post(path, json=body, headers=FIRST).status_code == 422
            streamed = client.post(f"{path}/stream", json=body, headers=FIRST)
            assert streamed.status_code == 422 or "event: problem" in streamed.text
        assert client.post(path, json={"x": row}, headers=FIRST).status_code == 200
        streamed = client.post(f"{path}/stream", json={"x": row}, headers=FIRST)
        assert "event: answer" in streamed.text
        batch = "/v1/models/credit/batch"
        assert client.post(batch, json={"rows": [row]}, headers=FIRST).status_code == 202
        for answer in (
            client.post(path, json={"x": row}, headers=FIRST),
            client.post(f"{path}/stream", json={"x": row}, headers=FIRST),
            client.post(batch, json={"rows": [row]}, headers=FIRST),
        ):
            assert answer.status_code == 429
            assert answer.headers["retry-after"] == str(DAY_S // 2)
        assert client.get("/v1/models", headers=FIRST).status_code == 200
        assert client.post(path, json={"x": row}, headers=SECOND).status_code == 200


@pytest.mark.parametrize("name", ["requests_per_minute", "queries_per_day"])
def test_a_limit_below_zero_is_refused(source, name):
    with pytest.raises(InputError, match="must be at least 0, got -1"):
        Settings(lambda: [source], **{name: -1})
