"""Jobs in SQLite and PostgreSQL: several servers share a queue, and none of them is needed."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

import pytest
from sqlalchemy import event

from encoders.core.errors import InputError
from portfolio import Explainer
from portfolio.data.demo import make_demo
from portfolio.service import database, job_store
from portfolio.service.app import create_app
from portfolio.service.database import FILE, DatabaseProblem, open_database
from portfolio.service.job import Batch, Job
from portfolio.service.job_store import JobStore
from portfolio.service.job_tables import ADDED, OLDER
from portfolio.service.jobs import Jobs, prepare_folder
from portfolio.service.settings import Settings
from tests.docs.pages import ROOT
from tests.portfolio.service.test_chaos import process
from tests.support.job_rows import folders, jobs_of
from tests.support.served import Unserved, until

pytestmark = pytest.mark.usefixtures("forked_children")

BATCH = Batch("m", "x", "explain", {"a": 1}, "rows.csv", "ann")
POST = "/v1/models/credit/batch"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """URL of a new database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'own.sqlite'}"
    return request.getfixturevalue("postgresql").new_database()


def stores(url, folder, count=2):
    return [JobStore(open_database(url, folder)) for _ in range(count)]


def held(record, folder, state="running"):
    return Job(folder / record.id, BATCH, state)


class Work:
    """Work of a server that waits until a test lets it go on, or until the job is stopped."""

    def __init__(self):
        self.jobs, self.go = [], threading.Event()

    def run(self, job):
        self.jobs.append(job)
        job.total = 3
        job.put("running")
        while not (self.go.is_set() or job.stop.wait(0.01)):
            pass
        if not job.stop.is_set():
            job.answered = 3
            job.put("done")


@contextmanager
def servers(url, folder, *works):
    """Servers that share a database and a folder."""
    every = [Jobs(folder, *stores(url, folder, 1), work) for work in works]
    for jobs in every:
        jobs.start()
    try:
        yield every
    finally:
        for jobs in every:
            jobs.close()


def state_of(jobs, number):
    return jobs.state(number, None)["state"]


def test_servers_that_start_together_create_the_tables_once(url, tmp_path):
    opened, failed = [], []

    def start():
        try:
            opened.append(open_database(url, tmp_path))
        except InputError as error:
            failed.append(error)

    threads = [threading.Thread(target=start) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 5 and not failed


def test_each_job_is_claimed_by_one_server_in_the_order_of_arrival(url, tmp_path):
    every, claimed = stores(url, tmp_path, 4), []
    added = [every[at % 4].add(f"{at:032d}", BATCH).id for at in range(40)]
    first, batch = every[3].claim()
    assert first.id == added[0] and batch == BATCH

    def claim(store):
        while (found := store.claim()) is not None:
            claimed.append(found[0].id)

    def claim_all(store):
        while len(claimed) < 39:
            claim(store)

    threads = [threading.Thread(target=claim_all, args=[store]) for store in every]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claimed) == added[1:]


def test_a_lease_that_is_not_renewed_goes_to_another_server(url, tmp_path, monkeypatch):
    monkeypatch.setattr(job_store, "LEASE_S", 0.3)
    (killed,) = stores(url, tmp_path, 1)
    monkeypatch.setattr(job_store, "LEASE_S", 60.0)
    (other,) = stores(url, tmp_path, 1)
    number = killed.add("a" * 32, BATCH).id
    record, _ = killed.claim()
    job = held(record, tmp_path)
    job.total, job.answered = 9, 4
    assert killed.renew(job) == "running" and other.claim() is None
    time.sleep(0.4)
    again, batch = other.claim()
    assert (again.id, again.state, again.answered, batch) == (number, "running", 4, BATCH)
    assert killed.claim() is None and killed.renew(job) is None
    job.state = "done"
    killed.finish(job)  # which changes nothing
    killed.release(number)
    assert other.record(number, None).state == "running" and other.renew(job) == "running"
    other.finish(job)
    assert other.record(number, None).state == "done"


def test_a_job_is_seen_cancelled_and_deleted_on_any_server(url, tmp_path):
    work = Work()
    with servers(url, tmp_path, work, None) as (running, other):
        number = other.add(BATCH, b"a")["id"]
        until(lambda: state_of(other, number) == "running")
        assert [job.id for job in work.jobs] == [number]
        assert other.state(number, "bob") is None and other.cancel(number, "bob") == (None, False)
        assert other.every("bob", 0, 9)["total"] == 0 < other.every("ann", 0, 9)["total"]
        summary, done = other.cancel(number, "ann")
        assert (summary["state"], done) == ("cancelled", True)
        until(work.jobs[0].stop.is_set)
        # Its server has let go of it.
        until(lambda: (page := running.page(number, 0, 9)) is not None and page.empty)
        assert state_of(running, number) == "cancelled"
        assert other.cancel(number, "ann")[1] and running.state(number, None) is None
        assert not folders(tmp_path) - {"own.sqlite"} - {"own.sqlite-wal", "own.sqlite-shm"}


def test_a_server_that_stops_leaves_its_job_to_others(url, tmp_path):
    first, second = Work(), Work()
    with servers(url, tmp_path, first) as (one,):
        number = one.add(BATCH, b"a")["id"]
        until(lambda: first.jobs)
        with servers(url, tmp_path, second) as (two,):
            one.close()
            until(lambda: second.jobs)  # at once, and not after the end of a lease
            second.go.set()
            until(lambda: state_of(two, number) == "done")
            assert two.state(number, None)["answered"] == 3
    assert len(first.jobs) == len(second.jobs) == 1


def test_a_failed_job_is_resumed_by_another_server_and_old_ones_are_removed(url, tmp_path):
    (store, other) = stores(url, tmp_path)
    jobs, more = (Jobs(tmp_path, own, None, keep_days=1e-6) for own in (store, other))
    number = jobs.add(BATCH, b"a")["id"]
    job = held(store.claim()[0], tmp_path)
    job.lacks_room("No space left on device")
    jobs._runner.job = job
    assert "No space left on device" in jobs.state(number, None)["message"]  # not stored yet
    jobs._runner.job = None
    store.finish(job)
    summary, resumed = more.resume(number, "ann")
    assert (summary["state"], resumed) == ("queued", True)
    assert more.resume(number, "ann")[1] is False
    job = held(other.claim()[0], tmp_path, "done")
    other.finish(job)
    time.sleep(0.2)
    jobs.remove_old()
    assert more.state(number, None) is None and not (tmp_path / number).exists()


def app_of(source, folder, url, **more):
    return create_app(
        Settings(lambda: [source], workers=1, reload_s=0, jobs=folder, jobs_database=url, **more)
    )


def test_servers_that_run_no_jobs_leave_them_to_others(source, credit, url, tmp_path):
    client = Unserved(app_of(source, tmp_path, url, job_workers=0))
    client.app.state.service.jobs.start()
    sent = client.post(POST, json={"rows": credit[1].head(1).to_dict("records")}).json()
    other = Unserved(app_of(source, tmp_path, url))
    assert client.get(f"/v1/jobs/{sent['id']}").json() == sent
    other.app.state.service.jobs.start()
    until(lambda: client.get(f"/v1/jobs/{sent['id']}").json()["state"] == "done")
    rows = client.get(f"/v1/jobs/{sent['id']}/results").json()["rows"]
    assert [row["status"] for row in rows] == ["optimal"]
    for each in (client, other):
        each.app.state.service.jobs.close()


def test_a_server_without_the_folder_says_so(source, credit, url, tmp_path):
    one, two = (Unserved(app_of(source, tmp_path / name, url)) for name in "ab")
    sent = one.post(POST, json={"rows": credit[1].head(1).to_dict("records")}).json()
    two.app.state.service.jobs.start()
    until(lambda: one.get(f"/v1/jobs/{sent['id']}").json()["state"] == "failed")
    message = one.get(f"/v1/jobs/{sent['id']}").json()["message"]
    assert message.endswith(
        "Give all servers of a jobs database the same folder or --job-answers, then send the rows "
        "again."
    )
    two.app.state.service.jobs.close()


@pytest.mark.slow
def test_a_killed_database_loses_nothing(source, explainer, credit, postgresql, tmp_path):
    rows = credit[1].iloc[:60].reset_index(drop=True)
    rows["income"] += rows.index * 1e-3  # all different
    client = Unserved(app_of(source, tmp_path, postgresql.new_database()))
    client.app.state.service.jobs.start()
    number = client.post(POST, json={"rows": rows.to_dict("records")}).json()["id"]
    lines = tmp_path / number / "answers" / "answers.jsonl"
    until(lambda: lines.exists() and lines.read_bytes().count(b"\n") > 2)
    postgresql.kill()
    for told in (
        client.get(f"/v1/jobs/{number}"),
        client.post(POST, json={"rows": rows.to_dict("records")}),
    ):
        assert (told.status_code, told.headers["retry-after"]) == (503, "1")
        assert told.json()["detail"] == "the jobs database is not reachable. Retry later."
    assert folders(tmp_path) == {number}
    until(lambda: lines.read_bytes().count(b"\n") == len(rows))  # the server does not wait
    postgresql.start()
    until(lambda: client.get(f"/v1/jobs/{number}").json()["state"] == "done")
    found = client.get(f"/v1/jobs/{number}/results?limit=100").json()["rows"]
    own = explainer.explain_batch(rows, time_limit_s=10.0)
    assert [row["distance"] for row in found] == own["distance"].tolist()
    assert lines.read_bytes().count(b"\n") == len(rows)
    client.app.state.service.jobs.close()


def has_open(pid, path):
    """Return whether a process has opened a file."""
    return any(each.is_symlink() and each.resolve() == path
               for each in Path(f"/proc/{pid}/fd").iterdir())  # fmt: skip


@cache
def rows_and_answers():
    """Return rows of the demo and their answers, which both databases need."""
    made = make_demo(1, 0)
    rows = made.X.head(250).copy()
    rows["mean texture"] += rows.index * 1e-3  # all different
    return rows, Explainer(made.model, made.X).explain_batch(rows)


@pytest.mark.slow
def test_a_job_outlives_the_server_that_runs_it(url, tmp_path):
    rows, expected = rows_and_answers()
    options = ("--jobs-database", url)
    with process(tmp_path, *options) as one, process(tmp_path, *options) as two:
        sent = one[1].post("/v1/models/demo/batch", content=rows.to_csv(index=False).encode(),
                           headers={"content-type": "text/csv"}).json()  # fmt: skip
        log = tmp_path / sent["id"] / "answers" / "answers.jsonl"
        until(lambda: log.exists() and log.read_bytes().count(b"\n") > 10)
        runs = [each for each in (one, two) if has_open(each[0].pid, log)]
        assert len(runs) == 1
        for _, client in (one, two):
            assert client.get(f"/v1/jobs/{sent['id']}").json()["state"] == "running"
        ((killed, _),) = runs
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        before = log.read_bytes().splitlines()
        assert len(before) < len(rows)
        other = (two if runs == [one] else one)[1]
        until(lambda: other.get(f"/v1/jobs/{sent['id']}").json()["state"] == "done")
        found = other.get(f"/v1/jobs/{sent['id']}/results?limit=1000").json()["rows"]
    lines = log.read_bytes().splitlines()
    assert lines[: len(before) - 1] == before[:-1]
    keys = [json.loads(line)["key"] for line in lines]
    assert len(keys) == len(set(keys)) == len(rows)
    assert [row["distance"] for row in found] == expected["distance"].tolist()


def refusal(database_url, folder, jobs=None):
    """The sentence with which a job is refused, which leaves nothing in the folder."""
    jobs = jobs or Jobs(folder, *stores(database_url, folder, 1), None)
    with pytest.raises(DatabaseProblem) as problem:
        jobs.add(BATCH, b"a")
    assert not [entry for entry in folder.iterdir() if entry.is_dir()]
    return problem.value.status_code, problem.value.detail


def test_a_locked_file_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "LOCKED_S", 0.1)
    jobs = jobs_of(tmp_path)
    number = jobs.add(BATCH, b"a")["id"]
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseProblem, match="another process has locked the jobs database"):
            jobs.add(BATCH, b"a")
        assert state_of(jobs, number) == "queued"  # reading goes on
        other.execute("ROLLBACK")
    assert jobs.add(BATCH, b"a")["state"] == "queued"


def test_a_full_file_is_reported(tmp_path):
    database = open_database(None, tmp_path)
    pages = "PRAGMA max_page_count = 1"  # SQLite takes the current size instead
    event.listen(database.engine, "connect", lambda connection, _: connection.execute(pages))
    database.engine.dispose()
    jobs = Jobs(tmp_path, JobStore(database), None)
    large = Batch("m", "x", "explain", {"a": "b" * 100_000}, "rows.csv")
    with pytest.raises(DatabaseProblem) as problem:
        jobs.add(large, b"a")
    assert problem.value.status_code == 507
    assert problem.value.detail == (
        "the disk of the jobs database is full. Free disk space, then retry."
    )
    assert not folders(tmp_path)


READ_ONLY = (503, "the jobs database is read-only. Make it writable, then retry.")


def test_a_read_only_file_is_reported(tmp_path):
    jobs_of(tmp_path)
    assert refusal(f"sqlite:///file:{tmp_path / FILE}?mode=ro&uri=true", tmp_path) == READ_ONLY


@contextmanager
def unprivileged():
    """Run a block as a user who may not write to the folders of others."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_folder_that_is_not_writable_is_refused_with_its_name():
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        words = rf"cannot write to the folder of jobs {folder} \(Permission denied\)"
        with unprivileged(), pytest.raises(InputError, match=words):
            prepare_folder(Path(folder))


def test_a_read_only_database_is_reported(postgresql, tmp_path):
    url = postgresql.new_database()
    open_database(url, tmp_path)
    name = url.partition("@/")[2].partition("?")[0]
    postgresql.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    assert refusal(url, tmp_path) == READ_ONLY


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / FILE).write_bytes(b"no database" * 1000)
    with pytest.raises(InputError, match="the jobs database is damaged"):
        open_database(None, tmp_path)


def test_tables_of_another_version_are_refused(url, tmp_path):
    opened = open_database(url, tmp_path)
    with opened.engine.connect() as connection:
        connection.exec_driver_sql("UPDATE counterfolio_versions SET version = 99")
    with pytest.raises(InputError, match="has tables of version 99, and this version of"):
        open_database(url, tmp_path)


@pytest.mark.parametrize("version", OLDER)
def test_jobs_of_older_tables_are_continued(url, tmp_path, version):
    opened = open_database(url, tmp_path)
    number = JobStore(opened).add("a" * 32, BATCH).id
    with opened.engine.connect() as connection:
        for column in list(ADDED)[0 if version == 1 else -1 :]:
            connection.exec_driver_sql(f"ALTER TABLE counterfolio_jobs DROP COLUMN {column}")
        connection.exec_driver_sql(f"UPDATE counterfolio_versions SET version = {version}")
    opened.close()
    threads = [threading.Thread(target=open_database, args=[url, tmp_path]) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (store,) = stores(url, tmp_path, 1)
    record, batch = store.claim()
    assert (record.id, record.attempt, record.stored, batch) == (number, 1, None, BATCH)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://me:secret@127.0.0.1:1/jobs", "127.0.0.1:1/jobs: the jobs database is not"),
        ("mysql://me:secret@host/jobs", "is neither PostgreSQL nor a file of SQLite"),
        ("postgresql+psycopg2://me:secret@host/jobs", "is neither PostgreSQL nor"),
        ("sqlite://", "is neither PostgreSQL nor a file of SQLite"),
        ("me:secret@host", "is neither PostgreSQL nor a file of SQLite"),
    ],
)
def test_a_wrong_url_is_refused_without_its_password(tmp_path, url, words):
    with pytest.raises(InputError) as error:
        open_database(url, tmp_path)
    assert words in str(error.value) and "secret" not in str(error.value)


def test_a_wrong_user_is_refused(postgresql, tmp_path):
    url = postgresql.new_database().replace("counterfolio@", "nobody@")
    with pytest.raises(InputError, match="does not exist"):
        open_database(url, tmp_path)


def test_a_database_needs_a_folder(source):
    with pytest.raises(InputError, match="needs a folder for rows and answers"):
        Settings(lambda: [source], jobs_database="postgresql://host/jobs")


def test_rows_that_another_process_still_writes_are_left_to_it(source, credit, tmp_path):
    """A lease has ended, but its server works on."""
    from portfolio.batch.answer_log import AnswerLog

    client = Unserved(app_of(source, tmp_path, None))
    sent = client.post(POST, json={"rows": credit[1].head(1).to_dict("records")}).json()
    log = AnswerLog(tmp_path / sent["id"] / "answers", False, frozenset())
    client.app.state.service.jobs.start()
    until(lambda: client.get(f"/v1/jobs/{sent['id']}").json()["state"] == "running")
    time.sleep(1.5)
    assert client.get(f"/v1/jobs/{sent['id']}").json()["state"] == "running"
    log.close()
    until(lambda: client.get(f"/v1/jobs/{sent['id']}").json()["state"] == "done")
    client.app.state.service.jobs.close()


def test_a_server_that_is_killed_while_rows_arrive_leaves_no_unknown_folder(url, tmp_path):
    """The job is listed, waits, and can be cancelled and deleted; its rows never came."""
    program = (
        "import os, signal, sys; from pathlib import Path\n"
        "from tests.portfolio.service.test_jobs_database import BATCH, Jobs, stores\n"
        "from portfolio.service import job_folders\n"
        "job_folders.make_folder = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "url, folder = sys.argv[1], Path(sys.argv[2])\n"
        "Jobs(folder, *stores(url, folder, 1), None).add(BATCH, b'a')"
    )
    ended = subprocess.run([sys.executable, "-c", program, url, str(tmp_path)], cwd=ROOT)
    assert ended.returncode == -signal.SIGKILL
    jobs = Jobs(tmp_path, *stores(url, tmp_path, 1), None)
    listed = jobs.every(None, 0, 10)
    assert listed["total"] == 1 and listed["jobs"][0]["state"] == "queued"
    assert not [entry for entry in tmp_path.iterdir() if entry.is_dir()]
    (store,) = stores(url, tmp_path, 1)
    assert store.claim() is None  # until the rows would have come
    number = listed["jobs"][0]["id"]
    assert jobs.cancel(number, None)[1] and jobs.cancel(number, None)[1]
    assert jobs.every(None, 0, 10)["total"] == 0


def test_rows_that_cannot_be_stored_leave_no_job(url, tmp_path):
    folder = tmp_path / "file"
    folder.write_bytes(b"")
    jobs = Jobs(folder, *stores(url, tmp_path, 1), None)
    with pytest.raises(OSError):
        jobs.add(BATCH, b"a")
    assert jobs.every(None, 0, 10)["total"] == 0
