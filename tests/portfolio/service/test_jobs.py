"""Batches: rows in, answers in pages, an end before the time, and a restart."""

import json
from contextlib import contextmanager
from dataclasses import replace
from threading import Event

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier

from portfolio import Explainer, Fixed, InputError
from portfolio.data.plain_tables import PlainTable
from portfolio.results.codec import encode
from portfolio.service.app import create_app
from portfolio.service.catalogue import Model
from portfolio.service.examples import typical_row
from portfolio.service.job_rows import RowsFile
from portfolio.service.reading import ReadingProcess
from portfolio.service.settings import Settings
from selector import logs
from tests.support.job_rows import interrupt, value_of
from tests.support.served import Unserved, until

pytestmark = pytest.mark.usefixtures("forked_children")

BATCH = "/v1/models/credit/batch"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def settings(source, folder, tmp_path_factory):
    logs = tmp_path_factory.mktemp("logs")
    return Settings(lambda: [source], workers=1, reload_s=0, jobs=folder, logs=logs, explore=1.0)


@pytest.fixture(scope="module")
def rows(credit):
    return credit[1].iloc[:6]


@contextmanager
def started(settings, app=None):
    """The jobs of a service, without the workers that other questions have."""
    app = app or create_app(settings)
    app.state.service.jobs.start()
    try:
        yield Unserved(app)
    finally:
        app.state.service.jobs.close()


def read(path, model):
    return RowsFile.of(path, model, 1000).read()


def ended(client, number):
    told = client.get(f"/v1/jobs/{number}").json()
    return told if told["state"] not in ("queued", "running") else None


def wait_for(client, number):
    until(lambda: ended(client, number))
    return ended(client, number)


@pytest.mark.slow
def test_a_job_answers_as_explain_batch_does_and_goes_on_after_a_restart(
    settings, folder, explainer, rows
):
    fixed = {"constraints": [{"Fixed": "age"}]}
    own = explainer.explain_batch(rows, constraints=[Fixed("age")], time_limit_s=10.0)
    with started(settings) as client:
        asked = {"rows": rows.to_dict("records"), "settings": fixed}
        sent = client.post(BATCH, json=asked)
        assert sent.status_code == 202, sent.text
        number = sent.json()["id"]
        assert sent.headers["location"] == f"/v1/jobs/{number}"
        told = wait_for(client, number)
        assert (told["state"], told["answered"], told["rows"]) == ("done", 6, 6)
        pages = [client.get(f"/v1/jobs/{number}/results?offset={at}&limit=4") for at in (0, 4)]
        found = [row for page in pages for row in page.json()["rows"]]
        assert [row["distance"] for row in found] == own["distance"].tolist()
        assert [row["cf_income"] for row in found] == own["cf_income"].tolist()
        check_learning(client.app.state.service.learning, settings.logs, own)
        check_refusals(client, rows, number)
    lines = (folder / number / "answers" / "answers.jsonl").read_text().splitlines()
    torn = "\n".join(lines[:2]) + "\n" + lines[2][:20]
    (folder / number / "answers" / "answers.jsonl").write_text(torn)
    interrupt(folder, number, 2)
    app = create_app(settings)
    cut = cancelled(Unserved(app), rows)
    with started(settings, app) as client:
        assert wait_for(client, number)["state"] == "done"
        again = client.get(f"/v1/jobs/{number}/results").json()["rows"]
        assert [row["distance"] for row in again] == own["distance"].tolist()
        kept = (folder / number / "answers" / "answers.jsonl").read_text().splitlines()
        assert kept[:2] == lines[:2]
        assert client.get(f"/v1/jobs/{cut}").json()["state"] == "cancelled"


def cancelled(client, rows):
    told = client.post(
        BATCH,
        params={"question": "diverse", "settings": json.dumps({"k": 2})},
        content=rows.to_csv(index=False).encode(),
        headers={"content-type": "text/csv"},
    )
    number = told.json()["id"]
    assert client.get(f"/v1/jobs/{number}/results").status_code == 409
    assert client.delete(f"/v1/jobs/{number}").json()["state"] == "cancelled"
    return number


def check_learning(learning, folder, answers):
    logged = logs.read(folder)
    assert logged["query"].nunique() == len(answers)
    assert sorted(logged["status"]) == sorted(answers["status"])
    solved = (answers["backend"] != "reduce").sum()
    until(lambda: learning.state()["waiting"] + learning.state()["dropped"] >= solved)


def test_categories_that_are_numbers_are_the_same_from_every_kind_of_file(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.choice([10, 20, 30, 40], 300)
    X = pd.DataFrame({"amount": rng.normal(size=300), "code": pd.Categorical(codes)})
    X.loc[::7, "code"] = None  # which makes the numbers of a file ones with fractions
    y = ((X["amount"] > 0) ^ np.isin(codes, [10, 30])).astype(int)
    explainer = Explainer(LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y), X)
    model, rows = Model("m", explainer, b"", typical_row(explainer.features, X), None), X.head(8)
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "rows.json").write_text(json.dumps(encode(rows.to_dict("records"))))
    own = [explainer.explain(rows.iloc[[at]], threads=1) for at in range(len(rows))]
    for kind in ("parquet", "csv", "json"):
        found, _ = read(tmp_path / f"rows.{kind}", model)
        for at, expected in enumerate(own):
            told = explainer.explain(found.iloc[[at]], threads=1)
            assert (told.status, told.distance) == ("optimal", expected.distance)


def test_a_category_called_na_is_one_in_every_kind_of_file(tmp_path):
    rng = np.random.default_rng(0)
    codes = rng.choice(["NA", "None", "b"], 300)
    X = pd.DataFrame({"amount": rng.normal(size=300), "code": pd.Categorical(codes)})
    y = ((X["amount"] > 0) ^ (codes == "NA")).astype(int)
    X.loc[::7, "code"], X.loc[::5, "amount"] = None, None
    explainer = Explainer(LGBMClassifier(n_estimators=5, verbose=-1).fit(X, y), X)
    model, rows = Model("m", explainer, b"", typical_row(explainer.features, X), None), X.head(40)
    assert {"NA", "None"} <= set(rows["code"])
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    rows.to_csv(tmp_path / "rows.csv.gz", index=False)
    lines = rows.assign(amount=rows["amount"].map(str).replace("nan", "NA"))
    lines.to_csv(tmp_path / "words.csv", index=False)
    (tmp_path / "rows.json").write_text(json.dumps(encode(rows.to_dict("records"))))
    for name in ("rows.parquet", "rows.csv", "words.csv", "rows.json"):
        found, _ = read(tmp_path / name, model)
        assert found["code"].astype(object).where(found["code"].notna(), None).tolist() == (
            rows["code"].astype(object).where(rows["code"].notna(), None).tolist()
        )
        assert found["amount"].tolist() == pytest.approx(rows["amount"].tolist(), nan_ok=True)
    table = PlainTable("rows", X, None)
    pd.testing.assert_frame_equal(
        table.rows(tmp_path / "rows.csv.gz"),
        rows.assign(code=rows["code"].astype(str).where(rows["code"].notna())),
        check_dtype=False,
    )


def test_rows_are_the_same_from_every_kind_of_file(rows, explainer, tmp_path):
    model = Model("credit", explainer, b"", typical_row(explainer.features, rows), None)
    rows.to_parquet(tmp_path / "rows.parquet")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "rows.json").write_text(json.dumps(rows.to_dict("records")))
    for kind in ("parquet", "csv", "json"):
        found, _ = read(tmp_path / f"rows.{kind}", model)
        pd.testing.assert_frame_equal(found.reset_index(drop=True), rows.reset_index(drop=True))


def test_rows_of_lists_are_refused(rows, explainer, tmp_path):
    model = Model("credit", explainer, b"", typical_row(explainer.features, rows), None)
    path = tmp_path / "rows.parquet"
    rows.assign(age=[[40.0]] * len(rows)).to_parquet(path)
    with pytest.raises(InputError, match="column 'age' has values that are neither"):
        read(path, model)


@pytest.mark.slow
def test_a_job_that_is_ended_while_its_rows_are_read_stays_so(
    settings, rows, tmp_path, monkeypatch
):
    own, reading, go = replace(settings, jobs=tmp_path, logs=None, explore=0.0), Event(), Event()
    read_apart = ReadingProcess.read

    def slowly(self, given, limit_s, stopped):
        reading.set()
        assert go.wait(60)
        return read_apart(self, given, limit_s)  # which looks at the end too late

    monkeypatch.setattr(ReadingProcess, "read", slowly)
    with started(own) as client:
        sent = client.post(BATCH, json={"rows": rows.to_dict("records")})
        number = sent.json()["id"]
        assert reading.wait(60)
        assert client.delete(f"/v1/jobs/{number}").json()["state"] == "cancelled"
        results = f"/v1/jobs/{number}/results"
        assert client.get(results).status_code == 409
        go.set()
        until(lambda: client.get(results).status_code == 200)
        for own in client.get(results).json()["rows"]:
            said = own["message"], own["stop_reason"]
            assert said == ("not reached: the job was cancelled", "interrupted")
        other = client.post(BATCH, json={"rows": rows.to_dict("records")}).json()["id"]
        assert wait_for(client, other)["state"] == "done"
    assert value_of(tmp_path, number, "state") == "cancelled"


def check_refusals(client, rows, number):
    lacking = rows.to_dict("records")
    del lacking[1]["age"]
    told = client.post(BATCH, json={"rows": lacking})
    assert told.status_code == 422 and "row 1 has no column 'age'" in told.json()["detail"]
    good = rows.to_dict("records")
    for body in (
        {}, [], {"rows": []}, {"rows": [[1]]}, {"rows": good, "question": "x"},
        {"rows": good, "settings": {"nothing": 1}}, {"rows": good, "settings": {"second": "cp"}},
    ):  # fmt: skip
        assert client.post(BATCH, json=body).status_code == 422
    assert client.post(BATCH, content="x", headers={"content-type": "a/b"}).status_code == 415
    for path in ("/v1/jobs/none", "/v1/jobs/none/results"):
        assert client.get(path).status_code == 404
    told = client.get(f"/v1/jobs/{number}/results?limit=0")
    assert (told.status_code, told.headers["content-type"]) == (422, "application/problem+json")
    for content, words in ((b"PAR1", "Parquet"), (b"", "")):
        sent = client.post(BATCH, content=content,
                           headers={"content-type": "application/vnd.apache.parquet"})  # fmt: skip
        told = wait_for(client, sent.json()["id"])
        assert told["state"] == "failed"
        assert words in told["message"]
    sent = client.post(BATCH, content="age\n1\n", headers={"content-type": "text/csv"})
    told = wait_for(client, sent.json()["id"])
    assert "the file has no column '" in told["message"] and told["code"] == "lacking-column"
    assert f"'{told['arguments']['name']}'" in told["message"]
    semicolons = rows.to_csv(sep=";", index=False)
    sent = client.post(BATCH, content=semicolons, headers={"content-type": "text/csv"})
    assert "Separate columns by commas." in wait_for(client, sent.json()["id"])["message"]
    deep = {"constraints": [{"Fixed": json.loads("[" * 600 + "]" * 600)}]}
    told = client.post(BATCH, json={"rows": good, "settings": deep})
    assert (told.status_code, told.headers["content-type"]) == (400, "application/problem+json")
    told = client.post(f"{BATCH}?settings={{", content="a", headers={"content-type": "text/csv"})
    assert told.json()["detail"].startswith("settings is not JSON: ")
