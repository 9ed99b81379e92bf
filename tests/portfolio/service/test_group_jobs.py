"""Groups and audits over HTTP: jobs whose results are the same objects as in process."""

import asyncio
import json

import httpx
import pandas as pd
import pytest

from portfolio import Fixed
from portfolio.client.client import AsyncClient
from portfolio.client.jobs import Call, job_calls, run_calls
from portfolio.client.received import group_of
from portfolio.service.app import create_app
from portfolio.service.job_work import RESTARTED
from portfolio.service.settings import Settings
from tests.portfolio.service.test_jobs import started, wait_for
from tests.support.job_rows import folders, interrupt, value_of
from tests.support.served import Unserved, check_described

pytestmark = pytest.mark.usefixtures("forked_children")

GROUP = "/v1/models/credit/explain_group"


@pytest.fixture
def settings(source, tmp_path):
    return Settings(lambda: [source], workers=1, reload_s=0, jobs=tmp_path)


@pytest.fixture(scope="module")
def rows(credit):
    return credit[1].iloc[:10].set_axis([f"r{at}" for at in range(10)], axis=0)


def here(job, tasks):
    """Answers a batch without workers."""
    for task in tasks:
        yield job.answer(task)


def without_seconds(answer):
    told = answer.to_dict()
    del told["seconds"]
    return told


@pytest.mark.slow
def test_a_group_is_a_job_that_begins_anew_after_a_restart(settings, tmp_path, explainer, rows):
    more = {"actions": 2, "budget": 0.5, "target": "granted"}
    own = explainer.explain_group(rows, **more, constraints=[Fixed("age")], threads=1)
    asked = {"rows": rows.to_dict("records"), "constraints": [{"Fixed": "age"}], **more}
    client = Unserved(create_app(settings))
    accepted = client.post(GROUP, json=asked)
    check_described(client, "/v1/models/{name}/explain_group", accepted, "post")
    number = accepted.json()["id"]
    interrupt(tmp_path, number)
    with started(settings) as client:
        told = wait_for(client, number)
        assert (told["state"], told["message"]) == ("done", RESTARTED)
        assert told["bounds"]["lower"] == own.covered
        found = client.get(f"/v1/jobs/{number}/result").json()
        after = client.get(f"/v1/jobs/{number}/results").json()["rows"]
        for path in ("", "/result", "/results"):
            told = client.get(f"/v1/jobs/{number}{path}")
            check_described(client, "/v1/jobs/{number}" + path, told)
        check_described(client, "/v1/jobs", client.get("/v1/jobs"))
    received = group_of(found["answer"], after, list(rows.index), "granted")
    assert without_seconds(received) == without_seconds(own)
    assert str(received) == str(own)
    pd.testing.assert_frame_equal(received.table(), own.table())
    pd.testing.assert_frame_equal(received.counterfactuals, own.counterfactuals)


@pytest.mark.slow
def test_an_audit_is_the_same_over_http_and_goes_on_after_a_restart(
    settings, tmp_path, explainer, rows
):
    by = pd.Series(["a", "b"] * 5, name="group", index=rows.index)
    more = {"target": "granted", "resamples": 200}
    own = explainer.audit(rows, by, **more, executor=here)
    heard = []

    async def ask(app):
        transport = httpx.ASGITransport(app)
        async with AsyncClient("http://localhost", "credit", transport=transport) as client:
            return await client.audit(rows, by, **more, on_answer=lambda *told: heard.append(told))

    with started(settings) as client:
        found = asyncio.run(ask(client.app))
    assert without_seconds(found) == without_seconds(own)
    assert str(found) == str(own)
    pd.testing.assert_frame_equal(
        found.answers.drop(columns="seconds"), own.answers.drop(columns="seconds")
    )
    assert heard[-1][1] == len(rows)
    (name,) = folders(tmp_path)
    folder = tmp_path / name
    kept, told = folder / "answers" / "answers.jsonl", (folder / "result.json").read_text()
    before = kept.read_text()
    (folder / "result.json").unlink()
    interrupt(tmp_path, name)
    with started(settings) as client:
        assert wait_for(client, folder.name)["state"] == "done"
        again = client.get(f"/v1/jobs/{folder.name}/result").json()
    assert kept.read_text() == before
    assert again["text"] == json.loads(told)["text"]


@pytest.mark.parametrize(
    ("path", "more", "words"),
    [
        ("explain_group", {"actions": 0}, "greater than or equal to 1"),
        ("explain_group", {"nothing": 1}, "unknown member 'nothing'"),
        ("audit", {"target": "granted"}, "'by' is missing"),
        ("audit", {"target": "granted", "by": "age", "confidence": 2.0}, "less than 1"),
        ("audit", [], "must be an object"),
    ],
)
def test_what_can_not_be_asked_of_many_rows(settings, rows, path, more, words):
    body = {"rows": rows.to_dict("records"), **more} if more else more
    told = Unserved(create_app(settings)).post(f"/v1/models/credit/{path}", json=body)
    assert told.status_code == 422
    assert words in told.json()["detail"]


def test_limits_are_the_servers(settings, tmp_path, rows):
    client = Unserved(create_app(settings))
    asked = {"rows": rows.to_dict("records"), "threads": 64, "time_limit_s": 1e6}
    number = client.post(GROUP, json=asked).json()["id"]
    kept = json.loads(value_of(tmp_path, number, "arguments"))
    assert (kept["threads"], kept["time_limit_s"]) == (1, settings.longest_job_s)
    assert client.get(f"/v1/jobs/{number}/result").status_code == 409


def test_who_stops_to_wait_ends_the_job(rows):
    sent = []

    def send(call):
        sent.append((call.method, call.path))
        if call.method == "GET":
            raise KeyboardInterrupt
        return {"id": "n", "state": "queued"}

    calls = job_calls("/v1/models/credit", "explain_group", rows, {}, print)
    with pytest.raises(KeyboardInterrupt):
        run_calls(calls, send)
    assert sent[-1] == ("DELETE", "/v1/jobs/n")
    assert isinstance(next(job_calls("/m", "audit", rows.to_numpy(), {}, print)), Call)
