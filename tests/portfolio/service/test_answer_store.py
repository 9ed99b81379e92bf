"""Rows and answers of jobs in an object store: servers share no folder, and none is needed."""

import io
import json
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing, contextmanager

import pytest

from encoders.core.errors import InputError
from portfolio.service import job_folders, job_runner
from portfolio.service.answer_store import MARKER, AnswerStore, StoreProblem
from portfolio.service.app import create_app
from portfolio.service.database import open_database
from portfolio.service.job import Batch, Job
from portfolio.service.job_folders import FolderUpload
from portfolio.service.job_store import JobStore
from portfolio.service.jobs import Jobs
from portfolio.service.settings import Settings
from tests.portfolio.service.test_chaos import process
from tests.portfolio.service.test_jobs_database import rows_and_answers
from tests.support.object_store import BUCKET, object_server
from tests.support.served import Unserved, until

pytestmark = pytest.mark.usefixtures("forked_children")

POST = "/v1/models/credit/batch"
BATCH = Batch("m", "x", "explain", {"a": 1}, "rows.csv", "ann")
# A server that saves often and whose lease ends soon.
PROGRAM = (
    "import sys; from portfolio.service import job_runner, job_store\n"
    "job_store.LEASE_S, job_runner.CHECKPOINT_S = 3.0, {}\n"
    "from counterfolio.__main__ import main; main()"
)


@pytest.fixture(scope="module")
def s3():
    with pytest.MonkeyPatch.context() as patch, object_server(patch) as running:
        yield running


@pytest.fixture(params=["file", "s3"])
def answers(request, tmp_path):
    """URL of a new store."""
    if request.param == "file":
        (tmp_path / "store").mkdir()
        return f"file://{tmp_path / 'store'}"
    request.getfixturevalue("s3")
    return f"s3://{BUCKET}/{tmp_path.name}"


@pytest.fixture
def app_of(source, tmp_path):
    """Function that returns a server with its own folder; all have the same database."""

    def made(name, answers, **more):
        settings = Settings(
            lambda: [source],
            workers=1,
            reload_s=0,
            jobs=tmp_path / name,
            jobs_database=database_url(tmp_path),
            job_answers=answers,
            **more,
        )
        return Unserved(create_app(settings))

    return made


@contextmanager
def started(*clients):
    """Servers that run jobs."""
    every = [client.app.state.service.jobs for client in clients]
    for jobs in every:
        jobs.start()
    try:
        yield
    finally:
        for jobs in every:
            jobs.close()


def database_url(folder):
    return f"sqlite:///{folder / 'shared.sqlite'}"


def state_of(client, number):
    return client.get(f"/v1/jobs/{number}").json()


def objects(url, folder=""):
    """All objects of a store in a folder, with their content."""
    store = AnswerStore(url)
    found = {}
    for name in store.names(folder):
        content = io.BytesIO()
        store.download(name, content)
        found[name] = content.getvalue()
    return found


def lines_of(url, number, attempt):
    """The answers of an attempt in a store, as lines."""
    parts = objects(url, f"{number}/{attempt}/answers").items()
    return b"".join(content for name, content in parts if ".jsonl." in name).splitlines(True)


def table_of(folder, column, number):
    with closing(sqlite3.connect(folder / "shared.sqlite")) as connection:
        words = f"SELECT {column} FROM counterfolio_jobs WHERE id = ?"
        return connection.execute(words, [number]).fetchone()


def post(client, credit, count=2):
    rows = credit[1].iloc[:count].reset_index(drop=True)
    rows["income"] += rows.index * 1e-3  # all different
    return client.post(POST, json={"rows": rows.to_dict("records")}).json()["id"]


def test_every_server_returns_answers_of_jobs_and_removes_them(
    app_of, answers, credit, explainer, tmp_path
):
    one, two = app_of("a", answers), app_of("b", answers, job_workers=0)
    number = post(two, credit, 3)  # which only the other one runs
    assert set(objects(answers)) == {MARKER, f"{number}/0/rows.json"}
    with started(one):
        until(lambda: state_of(two, number)["state"] == "done")
    expected = explainer.explain_batch(
        credit[1].iloc[:3].assign(income=lambda rows: rows["income"] + [0.0, 1e-3, 2e-3])
    )
    for client in (two, one):
        page = client.get(f"/v1/jobs/{number}/results").json()["rows"]
        assert [row["distance"] for row in page] == expected["distance"].tolist()
        segments = client.get(f"/v1/jobs/{number}/segments?by=age")
        assert segments.status_code == 200, segments.text
    for name in "ab":
        (folder,) = (entry for entry in (tmp_path / name).iterdir() if entry.is_dir())
        assert folder.name == f"{number}.1"
    assert two.delete(f"/v1/jobs/{number}").status_code == 200
    assert set(objects(answers)) == {MARKER}
    assert not [entry for entry in (tmp_path / "b").iterdir() if entry.is_dir()]
    one.app.state.service.jobs.remove_old()  # its copy of a job that is gone
    assert not [entry for entry in (tmp_path / "a").iterdir() if entry.is_dir()]
    assert one.get(f"/v1/jobs/{number}/results").status_code == 404


def servers(folder, answers, checkpoint_s=0.3):
    """Two processes with their own folders."""
    options = ("--jobs-database", database_url(folder), "--job-answers", answers)
    program = ("-c", PROGRAM.format(checkpoint_s))
    return [process(folder / name, *options, program=program) for name in "ab"]


def begun(client, answers, folder, least):
    """Send rows, wait until some answers of them are in the store, return the number of the job."""
    content = rows_and_answers()[0].to_csv(index=False).encode()
    headers = {"content-type": "text/csv"}
    number = client.post("/v1/models/demo/batch", content=content, headers=headers).json()["id"]
    until(lambda: len(lines_of(answers, number, 1)) > least)
    until(lambda: table_of(folder, "stored", number) == (1,))
    return number


def check_answers(client, answers, number, attempt):
    """Check that every row has one answer, which is that of an explainer."""
    rows, expected = rows_and_answers()
    found = client.get(f"/v1/jobs/{number}/results?limit=1000").json()["rows"]
    assert [row["distance"] for row in found] == expected["distance"].tolist()
    keys = [json.loads(line)["key"] for line in lines_of(answers, number, attempt)]
    assert len(keys) == len(set(keys)) == len(rows)


@pytest.mark.slow
def test_another_server_ends_the_job_of_a_killed_one(answers, tmp_path):
    first, second = servers(tmp_path, answers)
    with first as (server, client):
        number = begun(client, answers, tmp_path, 10)
        server.send_signal(signal.SIGKILL)
        server.wait()
    before = lines_of(answers, number, 1)
    assert len(before) < len(rows_and_answers()[0])
    with second as (_, client):
        until(lambda: state_of(client, number)["state"] == "done")
        assert lines_of(answers, number, 2)[: len(before)] == before
        check_answers(client, answers, number, 2)


@pytest.mark.slow
def test_a_server_that_has_lost_its_lease_changes_nothing(s3, tmp_path):
    answers = f"s3://{BUCKET}/{tmp_path.name}"
    first, second = servers(tmp_path, answers)
    with first as one, second as two:
        number = begun(one[1], answers, tmp_path, 10)
        folder = tmp_path / "a" / f"{number}.1.running"
        if not folder.exists():  # the other one was faster to claim the job
            one, two, folder = two, one, tmp_path / "b" / folder.name
        (server, client), (_, other) = one, two
        server.send_signal(signal.SIGSTOP)
        until(lambda: state_of(other, number)["state"] == "done")
        before = objects(answers, f"{number}/2")
        server.send_signal(signal.SIGCONT)
        until(lambda: not folder.exists())
        time.sleep(1.0)  # in which it would upload three times
        assert objects(answers, f"{number}/2") == before
        assert table_of(tmp_path, "state, stored, attempt", number) == ("done", 2, 2)
        check_answers(client, answers, number, 2)
        assert other.delete(f"/v1/jobs/{number}").status_code == 200
        assert set(objects(answers)) == {MARKER}


@pytest.mark.slow
def test_a_regular_stop_saves_the_answers_so_far(s3, tmp_path):
    answers = f"s3://{BUCKET}/{tmp_path.name}"
    first, second = servers(tmp_path, answers, checkpoint_s=1000)
    with first as (server, client):
        content = rows_and_answers()[0].to_csv(index=False).encode()
        number = client.post("/v1/models/demo/batch", content=content,
                             headers={"content-type": "text/csv"}).json()["id"]  # fmt: skip
        log = tmp_path / "a" / f"{number}.1.running" / "answers" / "answers.jsonl"
        until(lambda: log.exists() and log.read_bytes().count(b"\n") > 10)
        before = log.read_bytes().splitlines(True)[:10]
        assert not lines_of(answers, number, 1)
        server.send_signal(signal.SIGTERM)
        assert server.wait() == 0
    stored = lines_of(answers, number, 1)
    assert stored[:10] == before and len(stored) < len(rows_and_answers()[0])
    assert table_of(tmp_path, "stored, server", number) == (1, None)
    with second as (_, client):
        until(lambda: state_of(client, number)["state"] == "done")
        assert lines_of(answers, number, 2)[: len(stored)] == stored
        check_answers(client, answers, number, 2)
