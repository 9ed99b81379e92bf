"""Rows and answers of jobs in an object store: servers share no folder, and none is needed."""

import json
import os
import random
import signal
import sqlite3
import sys
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from errno import ENOSPC
from functools import cache

import pytest

from encoders.core.errors import InputError
from portfolio import Explainer
from portfolio.data.demo import make_demo
from portfolio.service import job, job_folders, job_runner
from portfolio.service.answer_store import MARKER, AnswerStore, StoreProblem
from portfolio.service.app import create_app
from portfolio.service.job import Batch, Job
from portfolio.service.job_folders import FolderUpload, JobFolders
from portfolio.service.settings import Settings
from tests.portfolio.service.test_chaos import process
from tests.support.object_store import BUCKET, object_server
from tests.support.served import Unserved, until

pytestmark = pytest.mark.usefixtures("forked_children")

POST = "/v1/models/credit/batch"
BATCH = Batch("m", "x", "explain", {"a": 1}, "rows.csv", "ann")
# A server that saves often and whose lease ends soon.
PROGRAM = (
    "import sys; from portfolio.service import job_runner, job_store\n"
    "job_store.LEASE_S, job_runner.CHECKPOINT_S = 3.0, 0.3\n"
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
    """All objects of a store in a folder, with their content.

    Unlike S3, the server of the tests removes an object for a moment while it is replaced.
    """
    store = AnswerStore(url)
    for _ in range(20):
        with suppress(StoreProblem):
            return {name: store.read(name) for name in store.names(folder)}
        time.sleep(0.05)
    return {name: store.read(name) for name in store.names(folder)}


def lines_of(url, number, attempt):
    """The answers of an attempt in a store, as lines."""
    parts = objects(url, f"{number}/{attempt}/answers").items()
    return b"".join(content for name, content in parts if ".jsonl." in name).splitlines(True)


def column_of(folder, column, number):
    with closing(sqlite3.connect(folder / "shared.sqlite")) as connection:
        words = f"SELECT {column} FROM counterfolio_jobs WHERE id = ?"
        return connection.execute(words, [number]).fetchone()[0]


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


@cache
def rows_and_answers():
    """Return rows of the demo, and the answers for the first of them."""
    made = make_demo(1, 0)
    rows = made.X.head(250).copy()
    rows["mean texture"] += rows.index * 1e-3  # all different
    return rows, Explainer(made.model, made.X).explain_batch(rows.head(20))


def one_per_row(lines, count):
    keys = [json.loads(line)["key"] for line in lines]
    return len(keys) == len(set(keys)) == count


@pytest.mark.slow
def test_jobs_outlive_servers_that_are_killed_and_those_that_come_back(s3, tmp_path):
    """Stop one server until its lease is lost, kill the next one, and continue the first.

    In between it must not change the objects of the other one.
    """
    rows, expected = rows_and_answers()
    answers, database = f"s3://{BUCKET}/{tmp_path.name}", database_url(tmp_path)
    options = ("--jobs-database", database, "--job-answers", answers)
    with ExitStack() as stack:
        first, second = (
            stack.enter_context(process(tmp_path / name, *options, program=("-c", PROGRAM)))
            for name in "ab"
        )
        content = rows.to_csv(index=False).encode()
        headers = {"content-type": "text/csv"}
        sent = first[1].post("/v1/models/demo/batch", content=content, headers=headers).json()
        number = sent["id"]

        def has_stored(attempt):
            stored = column_of(tmp_path, "stored", number) == attempt
            return stored and len(lines_of(answers, number, attempt)) > 10

        until(lambda: has_stored(1))
        folder = tmp_path / "a" / f"{number}.1.running"
        if not folder.exists():  # the second server was faster to claim the job
            first, second, folder = second, first, tmp_path / "b" / folder.name
        first[0].send_signal(signal.SIGSTOP)
        until(lambda: has_stored(2))
        second[0].send_signal(signal.SIGKILL)
        second[0].wait()
        of_killed = objects(answers, f"{number}/2")
        of_stopped = lines_of(answers, number, 1)
        assert lines_of(answers, number, 2)[:10] == of_stopped[:10]
        assert len(lines_of(answers, number, 2)) < len(rows)
        first[0].send_signal(signal.SIGCONT)
        until(lambda: not folder.exists())  # the first server has seen that its lease is lost
        until(lambda: state_of(first[1], number)["state"] == "done")
        assert objects(answers, f"{number}/2") == of_killed
        lines = lines_of(answers, number, 3)
        assert lines[:10] == of_stopped[:10] and one_per_row(lines, len(rows))
        assert column_of(tmp_path, "stored", number) == 3
        found = first[1].get(f"/v1/jobs/{number}/results?limit=1000").json()["rows"]
        assert [row["distance"] for row in found[:20]] == expected["distance"].tolist()
        assert [row["status"] for row in found] == ["optimal"] * len(rows)
        assert first[1].delete(f"/v1/jobs/{number}").status_code == 200
        assert set(objects(answers)) == {MARKER}


def test_a_regular_stop_saves_the_answers_so_far(app_of, s3, credit, tmp_path, monkeypatch):
    monkeypatch.setattr(job_runner, "CHECKPOINT_S", 1000.0)
    answers = f"s3://{BUCKET}/{tmp_path.name}"
    one, two = app_of("a", answers), app_of("b", answers)
    number = post(one, credit, 200)
    log = tmp_path / "a" / f"{number}.1.running" / "answers" / "answers.jsonl"
    with started(one):
        until(lambda: log.exists() and log.read_bytes().count(b"\n") > 10)
        before = log.read_bytes().splitlines(True)[:10]
        assert not lines_of(answers, number, 1)
    stored = lines_of(answers, number, 1)
    assert stored[:10] == before and len(stored) < 200
    assert column_of(tmp_path, "stored", number) == 1
    assert column_of(tmp_path, "server", number) is None
    with started(two):
        until(lambda: state_of(two, number)["state"] == "done")
    lines = lines_of(answers, number, 2)
    assert lines[: len(stored)] == stored and one_per_row(lines, 200)


def test_answers_of_a_job_that_is_cancelled_are_stored(app_of, s3, credit, tmp_path, monkeypatch):
    monkeypatch.setattr(job_runner, "CHECKPOINT_S", 1000.0)
    answers = f"s3://{BUCKET}/{tmp_path.name}"
    one, two = app_of("a", answers), app_of("b", answers, job_workers=0)
    number = post(one, credit, 200)
    with started(one):
        until(lambda: state_of(one, number)["answered"] > 10)
        assert two.delete(f"/v1/jobs/{number}").json()["state"] == "cancelled"
        until(lambda: two.get(f"/v1/jobs/{number}/results").status_code == 200)
    page = two.get(f"/v1/jobs/{number}/results?limit=1000").json()["rows"]
    statuses = [row["status"] for row in page]
    assert len(page) == 200 and 10 < statuses.count("optimal") < 200
    assert two.delete(f"/v1/jobs/{number}").status_code == 200
    assert set(objects(answers)) == {MARKER}


def test_a_job_waits_for_a_store_that_is_not_reachable(app_of, s3, credit, tmp_path, monkeypatch):
    monkeypatch.setattr(job_runner, "RETRY_S", 0.1)
    client = app_of("a", f"s3://{BUCKET}/{tmp_path.name}")
    number = post(client, credit)
    s3.stop()
    try:
        refused = client.post(POST, json={"rows": credit[1].head(1).to_dict("records")})
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
        assert refused.json()["detail"] == "the store of answers is not reachable. Retry later."
        assert client.get("/v1/jobs").json()["total"] == 1
        with started(client):
            until(lambda: "it is not reachable" in state_of(client, number)["message"])
            assert state_of(client, number)["state"] == "queued"
            until(lambda: column_of(tmp_path, "server", number) is None)  # others may reach it
            s3.start()
            until(lambda: state_of(client, number)["state"] == "done")
            assert state_of(client, number)["message"] == ""
            s3.stop()
            refused = client.delete(f"/v1/jobs/{number}")
            assert refused.status_code == 503
            assert state_of(client, number)["state"] == "done"
    finally:
        s3.start()
    assert client.delete(f"/v1/jobs/{number}").status_code == 200
    assert client.get("/v1/jobs").json()["total"] == 0


def test_a_job_does_not_end_before_its_answers_are_stored(app_of, credit, tmp_path, monkeypatch):
    """The folder of the store is not mounted when the answers are complete."""
    monkeypatch.setattr(job_runner, "RETRY_S", 0.1)
    store, away = tmp_path / "store", tmp_path / "away"
    store.mkdir()
    client = app_of("a", f"file://{store}")
    number = post(client, credit)
    local = tmp_path / "a" / f"{number}.1.running"
    with started(client):
        until((local / "rows.json").exists)
        store.rename(away)
        store.mkdir()
        until((local / "answers" / "answers.parquet").exists)
        until(lambda: "it is not reachable" in state_of(client, number)["message"])
        assert state_of(client, number)["state"] == "running"
        assert client.get(f"/v1/jobs/{number}/results").status_code == 409
        assert not list(store.iterdir())
        store.rmdir()
        away.rename(store)
        until(lambda: state_of(client, number)["state"] == "done")
    assert one_per_row(lines_of(f"file://{store}", number, 1), 2)


def test_old_jobs_and_their_objects_are_removed(app_of, answers, credit, tmp_path):
    client = app_of("a", answers, keep_jobs_days=1e-7)
    number = post(client, credit)
    with started(client):
        until(lambda: state_of(client, number)["state"] == "done")
    time.sleep(0.1)
    client.app.state.service.jobs.remove_old()
    assert client.get(f"/v1/jobs/{number}").status_code == 404
    assert set(objects(answers)) == {MARKER}
    assert not [entry for entry in (tmp_path / "a").iterdir() if entry.is_dir()]


def test_rows_of_a_refused_job_are_removed_once_the_store_is_there(app_of, answers, credit):
    """The store has the rows, but its response was lost, and it is not reachable for a while."""
    client = app_of("a", answers, keep_jobs_days=0.0)
    body = {"json": {"rows": credit[1].head(1).to_dict("records")}}
    write = AnswerStore.write

    def failed(*_):
        raise StoreProblem("the response is lost")

    def lost(*arguments):
        write(*arguments)
        failed()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnswerStore, "write", lost)
        assert client.post(POST, **body).status_code == 503
        assert set(objects(answers)) == {MARKER}
        patch.setattr(AnswerStore, "remove", failed)
        assert client.post(POST, **body).status_code == 503
        assert client.get("/v1/jobs").json() == {"jobs": [], "offset": 0, "total": 0}
        assert len(objects(answers)) == 2
    client.app.state.service.jobs.remove_old()
    assert set(objects(answers)) == {MARKER}


def test_servers_without_the_store_leave_its_jobs_to_others(app_of, answers, credit):
    one, two = app_of("a", answers), app_of("b", None)
    number = post(one, credit)
    own = post(two, credit)
    with started(two):
        until(lambda: state_of(two, own)["state"] == "done")  # although it came later
    assert state_of(two, number)["state"] == "queued"
    one.delete(f"/v1/jobs/{number}")
    refused = two.delete(f"/v1/jobs/{number}")
    assert refused.status_code == 503
    assert refused.json()["detail"].endswith("Start this server with --job-answers.")
    with started(one):
        page = one.get(f"/v1/jobs/{own}/results")
    assert page.json()["rows"] == []  # in the folder of the other server


def test_a_file_that_grows_is_uploaded_in_parts_of_complete_lines(answers, tmp_path, monkeypatch):
    monkeypatch.setattr(job_folders, "PART", 100)
    store = AnswerStore(answers)
    store.check(is_new=True)
    folders = JobFolders(tmp_path / "copies", store)
    (tmp_path / "work").mkdir()
    log = tmp_path / "work" / "answers.jsonl"
    job = Job(tmp_path / "copies" / "7.2.running", BATCH, stored=1)
    job.folder.parent.mkdir()
    upload = FolderUpload(store, tmp_path / "work", "7/1", "rows.csv")
    chance, content = random.Random(0), b""
    for _ in range(8):
        content += b"".join(b"x" * chance.randrange(60) + b"\n" for _ in range(9))
        log.write_bytes(content + b"incomplete")
        upload()
        folders.fetch(job)
        assert (job.folder / "answers.jsonl").read_bytes() == content
    written = []
    monkeypatch.setattr(store, "write", lambda name, _: written.append(name))
    upload()
    assert not written  # nothing has changed
    log.write_bytes(content + b"last\n")
    upload()
    assert len(written) == 1


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("s3://user:secret@bucket/x", "contains '@', '?' or '::'"),
        ("s3://bucket/x?secret=1", "contains '@', '?' or '::'"),
        ("simplecache::s3://bucket", "contains '@', '?' or '::'"),
        ("memory://bucket", "'memory://bucket' is not the URL of a store of answers"),
        ("s3:///x", "is not the URL of a store"),
        ("file://host/x", "is not the URL of a store"),
        ("/mnt/x", "is not the URL of a store"),
    ],
)
def test_a_wrong_url_is_refused_without_secrets(source, tmp_path, url, words):
    with pytest.raises(InputError) as error:
        Settings(lambda: [source], jobs=tmp_path, job_answers=url)
    assert words in str(error.value) and "secret" not in str(error.value)


def test_a_store_needs_a_folder(source):
    with pytest.raises(InputError, match=r"needs a folder for copies\. Give --jobs"):
        Settings(lambda: [source], job_answers="s3://bucket")


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    words = r"gs://bucket needs gcsfs, which is not installed. .*service,store\]' gcsfs"
    with pytest.raises(InputError, match=words):
        AnswerStore("gs://bucket")


def test_a_store_that_is_not_there_is_refused(s3, tmp_path):
    with pytest.raises(InputError, match=r"cannot use the store .* the folder does not exist\)"):
        AnswerStore(f"file://{tmp_path / 'none'}").check(is_new=True)
    with pytest.raises(InputError, match="the object counterfolio-answers is missing"):
        AnswerStore(f"file://{tmp_path}").check(is_new=False)
    with pytest.raises(InputError, match="cannot use the store of answers s3://none/x"):
        AnswerStore("s3://none/x").check(is_new=True)


def test_a_full_disk_of_a_store_is_reported(app_of, credit, tmp_path, monkeypatch):
    (tmp_path / "store").mkdir()
    client = app_of("a", f"file://{tmp_path / 'store'}")

    def full(*_, **__):
        raise OSError(ENOSPC, os.strerror(ENOSPC))

    monkeypatch.setattr(job, "write_all", full)
    refused = client.post(POST, json={"rows": credit[1].head(1).to_dict("records")})
    assert refused.status_code == 507
    assert "No space left on device" in refused.json()["detail"]
    assert client.get("/v1/jobs").json()["total"] == 0
