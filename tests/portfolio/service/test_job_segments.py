"""Burden of recourse by segment of a job, and its answers and records as files."""

import io
import json

import numpy as np
import pandas as pd
import pytest

from portfolio import Fixed, InputError
from portfolio.checker import check
from portfolio.results.segments import burden_of, segments_of
from portfolio.service.app import create_app
from portfolio.service.settings import Settings
from tests.portfolio.service.test_jobs import started, wait_for
from tests.support.served import Unserved, check_described

pytestmark = pytest.mark.usefixtures("forked_children")

BATCH = "/v1/models/credit/batch"
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"


@pytest.fixture
def settings(source, tmp_path):
    return Settings(lambda: [source], workers=1, reload_s=0, jobs=tmp_path / "jobs")


def post(client, rows, **settings):
    params = {"settings": json.dumps(settings)}
    content = rows.to_csv(index=False).encode()
    sent = client.post(BATCH, params=params, content=content, headers={"content-type": CSV})
    assert sent.status_code == 202, sent.text
    return sent.json()["id"]


def check_numbers(segment, frame, mine):
    """Compare the numbers of a segment with those that pandas computes."""
    own = frame[mine]
    adverse = own[own["changed"] != ""]
    costs = adverse["distance"]
    assert (segment["rows"], segment["adverse"]) == (len(own), len(adverse))
    assert segment["answered"] == int(np.isfinite(costs).sum())
    assert segment["proved"] == int(adverse["status"].eq("optimal").sum())
    if len(costs):
        assert segment["median"] == pytest.approx(costs.median())
        assert segment["p90"] == pytest.approx(costs.quantile(0.9))
    if len(own):
        assert segment["mean"] == pytest.approx(own["distance"].mean())
    changed = adverse["changed"].str.split(", ").explode().value_counts()
    assert {each["feature"]: each["answers"] for each in segment["changes"]} == changed.to_dict()


@pytest.mark.slow
def test_segments_are_those_of_the_answers(settings, explainer, credit):
    X = credit[1].iloc[:24].assign(region=["north", "south", None] * 8)
    own = explainer.explain_batch(X[credit[1].columns], target="granted")
    with started(settings) as client:
        number = post(client, X, target="granted")
        path = f"/v1/jobs/{number}/segments"
        assert wait_for(client, number)["state"] == "done"
        whole = client.get(path)
        names = [feature.name for feature in explainer.features.features]
        check_described(client, "/v1/jobs/{number}/segments", whole)
        assert whole.json()["columns"] == [*names, "region"]
        assert whole.json()["settings"]["target"] == "granted"
        (only,) = whole.json()["segments"]
        check_numbers(only, own, np.ones(len(X), dtype=bool))
        by_region = client.get(f"{path}?by=region").json()["segments"]
        assert [each["name"] for each in by_region] == ["missing", "north", "south"]
        for each in by_region:
            mine = X["region"].fillna("missing").eq(each["name"]).to_numpy()
            check_numbers(each, own, mine)
        by_age = client.get(f"{path}?by=age").json()["segments"]
        assert len(by_age) == 4 and sum(each["rows"] for each in by_age) == len(X)
        home = client.get(f"{path}?by=home").json()["segments"]
        assert {each["name"] for each in home} <= {"own", "rent", "free"}
        assert sum(each["rows"] for each in home) == len(X)
        for each in by_age:
            check_numbers(each, own, X["age"].between(each["least"], each["largest"]).to_numpy())
        lacking = client.get(f"{path}?by=nothing")
        assert lacking.status_code == 422 and "no column 'nothing'" in lacking.json()["detail"]


@pytest.mark.slow
def test_answers_and_records_are_files(settings, explainer, credit):
    X = credit[1].iloc[:4]
    own = explainer.explain_batch(X, constraints=[Fixed("age")])
    with started(settings) as client:
        number = post(client, X, constraints=[{"Fixed": "age"}], record=True)
        plain = post(client, X)
        assert wait_for(client, number)["state"] == "done"
        assert wait_for(client, plain)["state"] == "done"
        path = f"/v1/jobs/{number}"
        for kind, read in ((CSV, pd.read_csv), (PARQUET, pd.read_parquet)):
            sent = client.get(f"{path}/results", headers={"accept": kind})
            assert sent.headers["content-type"].startswith(kind)
            table = read(io.BytesIO(sent.content))
            assert table["distance"].tolist() == pytest.approx(own["distance"].tolist())
            assert table["why_no_proof"].isin(["", np.nan]).all()
        lines = client.get(f"{path}/records").text.splitlines()
        assert len(lines) == len(X)
        for line in lines:
            assert check(json.loads(line), credit[0]).startswith("verified")
        refused = client.get(f"/v1/jobs/{plain}/records")
        assert refused.status_code == 404 and '"record": true' in refused.json()["detail"]
        assert client.get(f"{path}/segments").status_code == 200


@pytest.mark.slow
def test_a_value_that_is_no_number_leaves_bands_as_they_are(settings, credit):
    X = credit[1].iloc[:8].astype({"age": object})
    X.iloc[0, X.columns.get_loc("age")] = "old"
    with started(settings) as client:
        number = post(client, X)
        assert wait_for(client, number)["state"] == "done"
        segments = client.get(f"/v1/jobs/{number}/segments?by=age&bands=2").json()["segments"]
    assert [each["name"] for each in segments][-1] == "missing"
    assert [(each["rows"], each["adverse"]) for each in segments][-1] == (1, 0)
    assert len(segments) == 3 and segments[0]["largest"] < segments[1]["least"]


@pytest.mark.slow
def test_only_completed_batches_have_segments(settings, credit):
    rows = credit[1].iloc[:4].to_dict("records")
    client = Unserved(create_app(settings))
    waiting = client.post(BATCH, json={"rows": rows}).json()["id"]
    assert client.get(f"/v1/jobs/{waiting}/segments").status_code == 409
    client.delete(f"/v1/jobs/{waiting}")
    assert client.get(f"/v1/jobs/{waiting}/segments").status_code == 404
    assert client.get("/v1/jobs/nothing/segments").status_code == 404


def test_numbers_are_put_into_bands_of_equal_shares():
    values = [*range(1, 101), None, np.inf]
    segments = segments_of(values, 4)
    assert segments.names == ("1 to 25", "26 to 50", "51 to 75", "76 to 100", "missing")
    assert np.bincount(segments.of_row).tolist() == [25, 25, 25, 25, 2]
    assert segments_of([1, 2, 2, 3], 4).names == (2, 1, 3)
    assert segments_of([True, False, True]).names == (True, False)
    assert segments_of(["b", "a", "a"], 4).names == ("a", "b")
    assert segments_of([0] * 9 + [1, 2, 3, 4], 4).names == ("0", "1", "2 to 4")
    near = segments_of([1.00001, 1.00002, 1.00003, 1.00004], 2)
    assert near.names == ("1.00001 to 1.00002", "1.00003 to 1.00004")


def test_rows_at_the_target_are_not_adverse_and_free_changes_are():
    answers = pd.DataFrame(
        {
            "status": ["optimal", "optimal", "infeasible", "unknown", "feasible", "unknown"],
            "stop_reason": ["proved", "proved", "proved", "time_limit", "time_limit", "error"],
            "distance": [0.0, 0.0, np.inf, np.inf, 2.0, np.inf],
            "changed": ["", "a", "", "", "a, b", ""],
        }
    )
    (only,) = burden_of(answers, segments_of(["all"] * 6), ["a", "b"])
    assert (only.rows, only.adverse, only.answered, only.proved, only.infeasible) == (6, 4, 2, 2, 1)
    assert only.mean == pytest.approx(2 / 3)  # the first two rows, and the last with an answer
    assert (only.median, only.changes) == (1.0, (("a", 2), ("b", 1)))


def test_names_of_features_may_contain_the_separator():
    answers = pd.DataFrame(
        {
            "status": ["optimal"] * 3,
            "stop_reason": ["proved"] * 3,
            "distance": [1.0] * 3,
            "changed": ["income, net, age", "income, net", "age"],
        }
    )
    segments = segments_of(["all"] * 3)
    (only,) = burden_of(answers, segments, ["income, net", "net, age", "age"])
    assert only.changes == (("income, net", 2), ("age", 2))
    with pytest.raises(InputError, match="'income, net, age' are ambiguous"):
        burden_of(answers, segments, ["income, net", "income", "net", "age"])


@pytest.mark.slow
def test_an_audit_puts_numbers_into_bands(explainer, credit):
    X = credit[1].iloc[:40]
    audit = explainer.audit(X, by="income", target="granted", bands=2, resamples=200)
    assert [group.rows for group in audit.groups] == [20, 20]
    cut = X["income"].le(X["income"].median()).to_numpy()
    named = np.where(cut, audit.groups[0].name, audit.groups[1].name)
    own = explainer.audit(X, by=named, target="granted", resamples=200)
    by_name = {group.name: group for group in own.groups}
    assert all(by_name[group.name] == group for group in audit.groups)
    for bands in (1, True, 2.5):
        with pytest.raises(InputError, match="bands must be"):
            explainer.audit(X, by="income", target="granted", bands=bands)
