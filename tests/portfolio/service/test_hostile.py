"""What strangers send: it is refused soon, and meanwhile and afterwards others are answered."""

import json
import os
import signal
import socket
import threading
import time
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest

from encoders.core.errors import InputError
from portfolio import AllowedPairs
from portfolio.batch.answer_log import TABLE
from portfolio.service import job_rows
from portfolio.service import server as servers
from portfolio.service.app import create_app
from portfolio.service.bodies import RowsContent
from portfolio.service.catalogue import Model
from portfolio.service.examples import typical_row
from portfolio.service.job import ANSWERS, Batch, JobFiles
from portfolio.service.job_rows import RowsFile
from portfolio.service.problems import Problem
from portfolio.service.questions import MOST_CONSTRAINTS
from portfolio.service.settings import Settings
from tests.support.job_rows import change_job, folders, jobs_of
from tests.support.served import Unserved, check_described, served, until

pytestmark = pytest.mark.usefixtures("forked_children")

JSON = {"content-type": "application/json"}
PATH = "/v1/models/credit/explain"
KEYS = ("a-key-of-twenty-signs", "another-key-of-signs")


def many(count, inside="[]"):
    return "[" + ",".join([inside] * count) + "]"


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ('{"x": ' + many(20_000) + "}", 422, "x has an invalid value"),
        (
            '{"x": {' + ",".join(f'"{at}": {{}}' for at in range(9000)) + "}}",
            422,
            "x has an invalid value",
        ),
        ('{"x": [1], "weights": ' + many(20_000, '""') + "}", 422, "weights has an invalid value"),
        ('{"x": [1], "target": ' + many(20_000, '""') + "}", 422, "target has an invalid value"),
        ('{"x": [1], "strategy": ' + many(20_000, "1") + "}", 422, "strategy has an invalid value"),
        (
            '{"x": [1], "constraints": ' + many(20_000, "1") + "}",
            422,
            "constraints has an invalid value",
        ),
        ("{" + ",".join(f'"{at}": 1' for at in range(9000)) + "}", 422, "unknown member '0'"),
        ('{"x": [1], "x": [2]}', 400, "the member 'x' appears twice"),
        ('{"x": {"\\ud800": 1}}', 422, "half of a surrogate pair"),
        ('{"x": [1], "target": "\\uDFFF"}', 422, "half of a surrogate pair"),
        (b'{"x": {"\xed\xa0\x80": 1}}', 400, "not valid UTF-8"),
    ],
)
def test_hostile_bodies_are_refused_in_one_sentence(client, body, status, words):
    told = client.post(PATH, content=body, headers=JSON)
    assert told.status_code == status
    assert words in told.json()["detail"] and len(told.text) < 1000


def test_pairs_of_surrogates_are_text(client, row):
    told = client.post(PATH, content=json.dumps({"x": row, "target": "\U0001f600"}), headers=JSON)
    assert "half" not in told.json()["detail"]


def test_a_question_has_a_limit_of_constraints(client, row):
    told = client.post(PATH, json={"x": row, "constraints": [{"Fixed": "age"}] * 1001})
    assert told.status_code == 422 and str(MOST_CONSTRAINTS) in told.json()["detail"]


@pytest.mark.slow
def test_others_are_answered_while_a_large_body_is_read_and_after_its_reader_died(
    service, client, row
):
    reader, large = service[0].state.service.reader, '{"x": ' + many(100_000) + "}"
    assert client.post(PATH, content=large, headers=JSON).status_code == 422
    told = []

    def send():
        told.append(client.post(PATH, content=large, headers=JSON).status_code)

    os.kill(reader.pid, signal.SIGSTOP)
    sending = threading.Thread(target=send)
    sending.start()
    assert client.get("/health").status_code == 200
    assert client.post(PATH, json={"x": row}).status_code == 200
    assert not told
    os.kill(reader.pid, signal.SIGKILL)
    sending.join(60)
    assert told == [413]
    send()
    assert told == [413, 422]


def test_rows_are_counted_before_they_are_parsed():
    body = ("{" + f'"rows": {many(150_000)}' + "}").encode()
    with pytest.raises(Problem, match="more than 10 rows"):
        RowsContent(body, (), 10).read()
    with pytest.raises(Problem, match="the body has 11 rows"):
        RowsContent(json.dumps({"rows": [{"a": 1}] * 11}).encode(), ("a",), 10).read()
    with pytest.raises(Problem, match=r"row 1 is invalid\. Send an object"):
        RowsContent(json.dumps({"rows": [{"a": 1}, {"a": []}]}).encode(), ("a",), 10).read()


@pytest.fixture(scope="module")
def model(explainer, credit):
    return Model("credit", explainer, b"", typical_row(explainer.features, credit[1]), None)


@pytest.mark.parametrize(
    ("column", "rows", "words"),
    [
        (pyarrow.array(np.zeros(300_000)), 1000, "has 300000 rows"),
        (pyarrow.array(["x" * 10_000] * 500), 1000, "MB uncompressed"),
        (pyarrow.array([[1.0]] * 5), 1000, "neither numbers nor text"),
    ],
)
def test_files_that_unpack_to_much_are_refused(model, tmp_path, monkeypatch, column, rows, words):
    monkeypatch.setattr(job_rows, "MOST_BYTES", 2**21)
    path, names = tmp_path / "rows.parquet", model.explainer.features.columns
    pyarrow.parquet.write_table(pyarrow.table(dict.fromkeys(names, column)), path)
    with pytest.raises(InputError, match=words):
        RowsFile.of(path, model, rows).read()


def here(job, tasks):
    """Answers a batch without workers."""
    for task in tasks:
        yield job.answer(task)


def test_a_cell_that_is_not_unicode_costs_its_row_alone(model, credit, tmp_path):
    rows = credit[1].head(3).to_dict("records")
    rows[1]["age"], rows[2]["\ud800"] = "\ud800", "\ud800"
    content = json.dumps({"rows": rows}).encode()
    more, kept = RowsContent(content, model.explainer.features.columns, 10).read()
    (tmp_path / "rows.json").write_bytes(kept)
    X, _ = RowsFile.of(tmp_path / "rows.json", model, 10).read()
    found = model.explainer.explain_batch(X, executor=here)
    assert found["status"].tolist() == ["optimal", "unknown", "optimal"] and not more
    assert "'\\ud800'" in found["message"].iloc[1]


@pytest.mark.parametrize("kind", ["rows", "answers", "folder"])
def test_a_folder_with_a_link_is_a_job_that_failed(tmp_path, kind):
    outside, folder = tmp_path / "outside", tmp_path / "jobs"
    outside.mkdir()
    (outside / "result.json").write_text("secret")
    jobs = jobs_of(folder, work=SimpleNamespace(run=lambda job: job.put("done")))
    number = jobs.add(Batch("m", "x", "explain", {}, "rows.csv"), b"a")["id"]
    own = folder / number
    if kind == "folder":
        own.rename(outside / "real")
        own.symlink_to(outside / "real")
    else:
        name = {"rows": "rows.csv", "answers": "result.json"}[kind]
        (own / name).unlink(missing_ok=True)
        (own / name).symlink_to(outside / "result.json")
    jobs.start()
    until(lambda: jobs.state(number, None)["state"] == "failed")
    jobs.close()
    message = jobs.state(number, None)["message"]
    assert message.startswith(f"the folder of job {number} is damaged") and "link" in message
    for read in (lambda: jobs.page(number, 0, 9), lambda: jobs.result(number)):
        with pytest.raises(InputError, match="symbolic link"):
            read()
    assert jobs.cancel(number, None)[1] and not folders(folder)
    assert (outside / "result.json").read_text() == "secret"


def test_what_a_killed_server_left_is_removed_after_an_hour(tmp_path):
    old, new, link = (tmp_path / f"{name}.partial" for name in "abc")
    old.mkdir()
    new.mkdir()
    link.symlink_to(tmp_path.parent)
    os.utime(old, (1.0, 1.0))
    os.utime(link, (1.0, 1.0), follow_symlinks=False)
    jobs_of(tmp_path)
    assert folders(tmp_path) == {new.name} and tmp_path.parent.exists()


def test_jobs_of_earlier_versions_are_refused(tmp_path):
    (tmp_path / "aaaa").mkdir()
    (tmp_path / "aaaa" / "job.json").write_text("{}")
    with pytest.raises(InputError, match="has jobs of an earlier version of counterfolio, such as"):
        jobs_of(tmp_path)


def test_jobs_are_seen_and_ended_by_the_key_that_began_them(source, credit, tmp_path):
    app = create_app(
        Settings(lambda: [source], workers=1, keys=frozenset(KEYS), jobs=tmp_path, reload_s=0)
    )
    client, rows = Unserved(app), credit[1].head(1).to_dict("records")

    def ask(key, method, path, **sent):
        return client.request(method, path, headers={"authorization": f"Bearer {key}"}, **sent)

    first, other = KEYS
    paths = [
        ask(first, "POST", "/v1/models/credit/batch", json={"rows": rows}).headers["location"]
        for _ in range(3)
    ]
    for ending in ("", "/results", "/result"):
        assert ask(other, "GET", paths[0] + ending).status_code == 404
    assert ask(other, "DELETE", paths[0]).status_code == 404
    assert ask(other, "POST", paths[0] + "/resume").status_code == 404
    assert ask(other, "GET", "/v1/jobs").json() == {"jobs": [], "offset": 0, "total": 0}
    page = ask(first, "GET", "/v1/jobs?offset=1&limit=1").json()
    assert page["total"] == 3 and page["jobs"][0]["id"] in paths[1]
    assert ask(first, "DELETE", paths[0]).json()["state"] == "cancelled"
    assert ask(first, "DELETE", paths[0]).status_code == 200
    assert ask(first, "GET", paths[0]).status_code == 404
    assert len(folders(tmp_path)) == 2


def test_jobs_that_have_ended_are_removed_after_some_days(tmp_path):
    jobs = jobs_of(tmp_path, keep_days=1.0)
    batch = Batch("m", "x", "explain", {}, "rows.csv")
    old, new, queued = (jobs.add(batch, b"a")["id"] for _ in "abc")
    now_s = time.time()
    change_job(tmp_path, old, state="failed", ended=now_s - 2 * 86_400.0)
    change_job(tmp_path, new, state="failed", ended=now_s)
    jobs.remove_old()
    assert {job["id"] for job in jobs.every(None, 0, 9)["jobs"]} == {new, queued}
    assert folders(tmp_path) == {new, queued}


def is_closed(connection):
    """Wait until the server closes a connection, with or without a reset."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.slow
def test_slow_connections_make_way_for_those_that_ask(source, monkeypatch):
    settings = replace(Settings(lambda: [source], workers=1, reload_s=0), most_connections=5)
    with served(settings) as (_, client):
        slow = [socket.create_connection((client.base_url.host, client.base_url.port), 60)
                for _ in range(20)]  # fmt: skip
        for each in slow:
            with suppress(ConnectionError):  # those in its way may be closed already
                each.sendall(b"GET /health HTTP/1.1\r\nX-A: ")
        assert client.get("/health").status_code == 200
        assert is_closed(slow[0])
        monkeypatch.setattr(servers, "HEADER_S", 0.1)
        with socket.create_connection((client.base_url.host, client.base_url.port), 60) as late:
            late.sendall(b"GET /health")
            assert is_closed(late)
        for each in slow:
            each.close()


def test_headers_say_how_answers_may_be_used(client):
    for path in ("/", "/health", "/nothing", "/openapi.json", "/page/dom.js", "/v1/models"):
        told = client.get(path).headers
        assert told.get_list("x-content-type-options") == ["nosniff"]
        assert len(told.get_list("content-security-policy")) == 1


def test_time_is_looked_at_while_relations_are_encoded(explainer, credit):
    pairs = [[float(own), float(own)] for own in range(40)]
    rules = [AllowedPairs("age", "income", pairs)] * 3000
    found = explainer.explain(credit[1].iloc[0], constraints=rules, time_limit_s=0.2)
    assert (found.status, found.stop_reason) == ("unknown", "time_limit")


def test_the_reader_is_warm_before_anybody_sends_much(service):
    until(lambda: service[0].state.service.reader.pid)


def test_the_description_has_the_key_and_the_answers(client, row):
    described = client.get("/openapi.json").json()
    assert described["components"]["securitySchemes"]["key"]["scheme"] == "bearer"
    check_described(client, "/health", client.get("/health"))
    check_described(client, "/ready", client.get("/ready"))
    check_described(client, "/v1/models", client.get("/v1/models"))
    check_described(client, "/v1/models/{name}", client.get("/v1/models/credit"))
    asked = client.post(PATH, json={"x": row})
    check_described(client, "/v1/models/{name}/explain", asked, "post")


def test_a_page_of_answers_that_are_damaged_or_empty(tmp_path):
    files, path = JobFiles(tmp_path), tmp_path / ANSWERS / TABLE
    path.parent.mkdir()
    pd.DataFrame(index=range(1)).iloc[:0].to_parquet(path)
    assert files.page(0, 7).empty
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match="answers of the job are damaged"):
        files.page(0, 7)


def test_a_parquet_file_with_an_absent_index_is_refused_in_a_sentence(tmp_path):
    path = tmp_path / "rows.parquet"
    table = pyarrow.table({"a": [1.0]})
    described = {"index_columns": ["nope"], "column_indexes": [], "columns": []}
    pyarrow.parquet.write_table(
        table.replace_schema_metadata({"pandas": json.dumps(described)}), path
    )
    with pytest.raises(InputError, match=r"cannot read rows\.parquet as Parquet"):
        RowsFile(path, ("a",), None, (), {}, 10).read()
