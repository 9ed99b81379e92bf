"""Many rows on the page: files of several forms, jobs, groups, audits, segments and downloads."""

import contextlib
import io
import json
from urllib.parse import urlencode

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer
from portfolio.checker import check
from portfolio.service.examples import typical_row
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.portfolio.service.test_page import visited
from tests.support.browser import contrasts, wider_than_its_window
from tests.support.forked import forked_children
from tests.support.served import served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_children")]

KEYS = ("the first key of two", "the second key of two")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture(scope="module")
def two(explainer, credit, folder):
    """A client of a service with two models and jobs."""
    X, y = credit[1], credit[0].predict(credit[1])
    other = Explainer(RandomForestClassifier(9, max_depth=3, random_state=5).fit(X, y), X)
    example = typical_row(explainer.features, X)
    sources = [AtHand("first", explainer, example, X), AtHand("second", other, example)]
    settings = Settings(lambda: sources, workers=1, reload_s=0, jobs=folder)
    with forked_children(), served(settings) as (_, client):
        yield client


@pytest.fixture(scope="module")
def rows(credit):
    X = credit[1].iloc[:12].astype({"income": float})
    income = X["income"] + 0.5  # so that decimal separators matter
    return X.assign(income=income, region=["Süd", 'two\nlines "quoted"', "Nord"] * 4)


@contextlib.contextmanager
def opened(browser, client, *look):
    with visited(browser, client, *look) as page:
        page.wait_for_selector("#features tbody tr")
        page.wait_for_selector("#many:visible")
        page.select_option("#target", '"granted"')
        yield page


def start(page, path, question="batch"):
    """Start a job and wait until the page says that it is done."""
    page.set_input_files("#many-file", path)
    page.select_option("#many-question", question)
    page.locator("#many-form button", has_text="Start").click()
    page.locator("#notice", has_text="done.").wait_for()


def show(page):
    page.locator("#jobs tbody tr").first.get_by_role("button", name="Show answers").click()
    page.wait_for_selector("#job-answers svg.plot")


def table(page, caption):
    """Return the texts of a table as a frame."""
    html = page.locator("#job-answers table", has_text=caption).first
    heads, *lines = html.evaluate(  # at once, as the page may draw it again
        "of => [...of.rows].map(row => [...row.cells].map(cell => cell.innerText))"
    )
    return pd.DataFrame(lines, columns=heads)


def newest(client, at=0):
    return client.get("/v1/jobs?limit=1000").json()["jobs"][-1 - at]


@pytest.mark.parametrize(
    ("written", "encoding", "seen"),
    [
        ({"sep": ";", "decimal": ","}, "cp1252", "separator semicolon, decimal comma, WINDOWS"),
        ({"sep": "\t", "decimal": ","}, "utf-16", "separator tab, decimal comma, UTF-16LE"),
        ({"sep": ",", "decimal": ","}, "utf-8-sig", "separator comma, decimal comma, UTF-8"),
        ({"sep": ";", "decimal": "."}, "utf-8", "separator semicolon, decimal point, UTF-8"),
    ],
)
def test_files_of_spreadsheets_are_read_as_they_are_meant(
    browser, two, explainer, rows, tmp_path, written, encoding, seen
):
    path = tmp_path / "rows.csv"
    text = rows.to_csv(index=False, lineterminator="\r\n", **written)
    path.write_bytes(text.encode(encoding))
    own = explainer.explain_batch(rows.drop(columns="region"), target="granted")
    with opened(browser, two) as page:
        start(page, path)
        page.locator("#file-read", has_text=seen).wait_for()
        assert "12 rows" in page.inner_text("#file-read")
        number = newest(two)["id"]
        found = two.get(f"/v1/jobs/{number}/results").json()["rows"]
        assert [row["distance"] for row in found] == own["distance"].tolist()
        segments = two.get(f"/v1/jobs/{number}/segments?by=region").json()["segments"]
        names = {each["name"].replace("\r\n", "\n") for each in segments}
        assert names == set(rows["region"])


def test_numbers_with_two_meanings_are_asked_about(browser, two, rows, tmp_path):
    path = tmp_path / "rows.csv"
    numbers = dict.fromkeys(rows.columns[:-1], "int64")
    whole = rows.astype(numbers).assign(income=[f"{1 + at},250" for at in range(len(rows))])
    whole.to_csv(path, sep=";", index=False)
    with opened(browser, two) as page:
        page.set_input_files("#many-file", path)
        page.locator("#file-read [role=alert]", has_text="1,250 has two meanings").wait_for()
        page.locator("#many-form button", has_text="Start").click()
        page.locator("#notice", has_text="two meanings").wait_for()
        for decimal, income in ((",", "1.250"), (".", "1250")):
            page.select_option("#file-decimal", decimal)
            cells = page.locator("#file-read tbody tr").first.locator("td").all_inner_texts()
            assert cells[list(rows.columns).index("income")] == income
        page.select_option("#file-separator", ",")
        page.locator("#file-read .failed", has_text="line 2 has 2 values").wait_for()
        page.select_option("#file-separator", "|")
        page.locator("#file-read .failed", has_text="lacks columns").wait_for()
        page.select_option("#file-separator", ";")
        path = tmp_path / "words.csv"
        whole.assign(income=["12x", *whole["income"].iloc[1:]]).to_csv(path, sep=";", index=False)
        page.set_input_files("#many-file", path)
        page.locator("#file-read [role=alert]", has_text="2,250 has two meanings").wait_for()
        page.select_option("#file-decimal", ",")
        page.locator("#file-read [role=alert]", has_text="Row 1: “12x” in income").wait_for()
        path = tmp_path / "uneven.csv"
        path.write_text("age;income\n1;2\n3\n")
        page.set_input_files("#many-file", path)
        page.locator("#file-read .failed", has_text="line 3 has 1 values").wait_for()


@pytest.mark.parametrize("look", [(1200, "light"), (375, "dark")])
def test_groups_and_audits_are_shown_as_charts_and_tables(browser, two, rows, tmp_path, look):
    from axe_playwright_python.sync_playwright import Axe  # where there is playwright

    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    with opened(browser, two, *look) as page:
        start(page, path, "explain_group")
        show(page)
        group = two.get(f"/v1/jobs/{newest(two)['id']}/result").json()["answer"]
        shown = table(page, "Actions.")
        assert shown["Rows served"].tolist() == [str(len(a["rows"])) for a in group["actions"]]
        steps = [step["feature"] for step in group["actions"][0]["steps"]]
        assert all(step in shown["Steps"][0] for step in steps)
        words = page.locator("#job-answers svg.plot").get_attribute("aria-label")
        assert f"1. {', '.join(steps)}: {shown['Rows served'][0]}" in words
        states = pd.Series([member["state"] for member in group["members"]])
        outcomes = table(page, "Outcomes").set_index("Outcome")["Rows"]
        assert outcomes["served by an action"] == str(states.eq("served").sum())
        check_looks(page, Axe)
        page.select_option("#many-question", "audit")
        page.select_option("#by", "region")
        page.evaluate("document.querySelector('#notice').textContent = ''")
        start(page, path, "audit")
        show(page)
        audit = two.get(f"/v1/jobs/{newest(two)['id']}/result").json()["answer"]
        shown = table(page, "Groups by region")
        assert shown["Need a change"].tolist() == [str(g["adverse"]) for g in audit["groups"]]
        words = page.locator("#job-answers svg.plot").first.get_attribute("aria-label")
        for at, found in enumerate(audit["groups"]):
            mean = shown["Mean cost of a change"][at]
            if found["mean"] is not None:
                assert float(mean.split()[0]) == pytest.approx(found["mean"]["low"], rel=0.01)
                assert mean in words
        check_looks(page, Axe)
        page.emulate_media(media="print")
        assert page.locator("#job-answers svg.plot").first.is_visible()
        assert page.locator("#many-form").is_hidden()


def check_looks(page, axe):
    report = axe().run(page)
    assert report.violations_count == 0, report.generate_report()
    assert not wider_than_its_window(page)
    assert min(contrasts(page))[0] >= 4.5


@pytest.mark.parametrize("look", [(1200, "dark"), (375, "light")])
def test_two_models_are_compared_by_segment(browser, two, rows, tmp_path, look):
    from axe_playwright_python.sync_playwright import Axe  # where there is playwright

    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    with opened(browser, two, *look) as page:
        page.select_option("#second", "second")
        start(page, path)
        page.locator("#jobs tbody tr").nth(1).get_by_role("button", name="Delete").wait_for()
        jobs = [newest(two, at) for at in (0, 1)]
        assert {job["model"]["name"] for job in jobs} == {"first", "second"}
        page.locator("#jobs tbody tr").first.get_by_role("button", name="Show answers").click()
        page.select_option("#segment-by", "age")
        page.locator("#job-answers th", has_text="Model").wait_for()
        page.locator("#job-answers tbody th", has_text=" to ").first.wait_for()
        shown = table(page, "Rows that need a change, by segment")
        for job in jobs:
            segments = two.get(f"/v1/jobs/{job['id']}/segments?by=age").json()["segments"]
            mine = shown[shown["Model"] == job["model"]["name"]].reset_index(drop=True)
            assert mine["age"].tolist() == [each["name"] for each in segments]
            assert mine["Need a change"].tolist() == [str(each["adverse"]) for each in segments]
            for at, each in enumerate(segments):
                if each["median"] is not None:
                    median = float(mine["Median cost"][at])
                    assert median == pytest.approx(each["median"], rel=0.01)
        check_looks(page, Axe)
        page.select_option("#segment-beside", "")
        page.locator("#job-answers th", has_text="Model").wait_for(state="detached")


def test_answers_are_shown_although_the_segments_fail(browser, two, rows, tmp_path):
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    with opened(browser, two) as page:
        start(page, path)
        page.route("**/segments*", lambda route: route.abort())
        page.locator("#jobs tbody tr").first.get_by_role("button", name="Show answers").click()
        page.locator("#job-answers [role=alert]").wait_for()
        assert len(table(page, "Answers, 12 of 12")) == 12
        page.wrong.clear()  # the browser reports the request


def test_a_job_that_failed_without_answers_shows_none(browser, two, rows, tmp_path):
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    with opened(browser, two) as page:
        settings = json.dumps({"target": "no class"})
        page.set_input_files("#many-file", path)
        sent = f"?{urlencode({'settings': settings})}"
        page.route("**/batch?*", lambda route: route.continue_(
            url=route.request.url.split("?")[0] + sent))  # fmt: skip
        page.locator("#many-form button", has_text="Start").click()
        first = page.locator("#jobs tbody tr").first
        first.locator("td", has_text="failed").wait_for()
        assert first.get_by_role("button").all_inner_texts() == ["Delete"]


def test_answers_are_saved_as_files(browser, two, explainer, credit, rows, tmp_path):
    path = tmp_path / "rows.parquet"
    rows.head(3).to_parquet(path)
    own = explainer.explain_batch(rows.head(3).drop(columns="region"), target="granted")
    with opened(browser, two) as page:
        rows.drop(columns="age").to_parquet(tmp_path / "lacking.parquet")
        page.set_input_files("#many-file", tmp_path / "lacking.parquet")
        page.locator("#file-read .failed", has_text="lacks columns of the model: age.").wait_for()
        page.locator("#many-form button", has_text="Start").click()
        page.locator("#notice", has_text="lacks columns").wait_for()
        page.check("#many-records")
        start(page, path)
        assert "region" in page.locator("#by option").all_inner_texts()
        show(page)
        saved = {}
        for name in ("Save as CSV", "Save as Parquet", "Save records with proofs"):
            with page.expect_download() as download:
                page.get_by_role("button", name=name).click()
            saved[name] = download.value.path().read_bytes()
        for read, name in ((pd.read_csv, "Save as CSV"), (pd.read_parquet, "Save as Parquet")):
            frame = read(io.BytesIO(saved[name]))
            np.testing.assert_allclose(frame["distance"], own["distance"])
        for line in saved["Save records with proofs"].splitlines():
            assert check(json.loads(line), credit[0]).startswith("verified")


def test_jobs_of_the_key_are_listed_after_a_reload(browser, explainer, rows, tmp_path):
    source = AtHand("credit", explainer, {})
    settings = Settings(lambda: [source], workers=1, reload_s=0, keys=frozenset(KEYS),
                        jobs=tmp_path / "jobs")  # fmt: skip
    content = rows.drop(columns="region").to_csv(index=False)
    with served(settings) as (_, client):
        for key in (KEYS[0], KEYS[0], KEYS[1]):
            headers = {"authorization": f"Bearer {key}", "content-type": "text/csv"}
            sent = client.post("/v1/models/credit/batch", content=content, headers=headers)
            assert sent.status_code == 202
        with visited(browser, client) as page:
            for _ in range(2):
                for key, count in zip(KEYS, (2, 1), strict=True):
                    page.wait_for_selector("#key:visible")
                    page.fill("#key", key)
                    page.click("#unlock")
                    page.locator("#jobs tbody tr").nth(count - 1).wait_for()
                    assert page.locator("#jobs tbody tr").count() == count
                    page.reload()
            page.fill("#key", KEYS[1])
            page.click("#unlock")
            remove = page.locator("#jobs").get_by_role("button", name="Delete")
            stop = page.locator("#jobs").get_by_role("button", name="Cancel")
            remove.or_(stop).first.wait_for()
            if stop.count():
                stop.first.click()
            for _ in range(10):  # the service asks to retry while the cancelled job ends
                if not page.locator("#jobs table").count():
                    break
                remove.first.click()
                page.wait_for_timeout(1000)
            page.locator("#jobs table").wait_for(state="detached")
            page.wrong.clear()  # the browser reports that a key is needed
        headers = {"authorization": f"Bearer {KEYS[1]}"}
        assert client.get("/v1/jobs", headers=headers).json()["total"] == 0


def test_training_rows_are_used_without_a_file(browser, two, credit):
    with opened(browser, two) as page:
        page.locator("#to-many a").click()
        page.select_option("#target", "")
        page.get_by_role("button", name="Use training rows").click()
        page.locator("#file-read", has_text="200 rows of 200 training rows").wait_for()
        page.locator("#many-form button", has_text="Start").click()
        page.locator("#notice", has_text="No desired prediction is chosen").wait_for()
        page.locator("#jobs tbody tr").first.get_by_role("button", name="Cancel").click()
        page.locator("#jobs tbody tr").first.get_by_role("button", name="Delete").wait_for()
        page.select_option("#model", "second")
        page.locator("#many-sample").wait_for(state="hidden")
        page.locator("#many-form button", has_text="Start").click()
        page.locator("#notice.failed", has_text="No file is chosen").wait_for()


def test_what_an_audit_needs_is_said_before_it_starts(browser, two, rows, tmp_path):
    path = tmp_path / "rows.csv"
    rows.to_csv(path, index=False)
    with opened(browser, two) as page:
        before = two.get("/v1/jobs?limit=1").json()["total"]
        page.select_option("#target", "")
        page.set_input_files("#many-file", path)
        page.select_option("#many-question", "audit")
        page.locator("#many-form button", has_text="Start").click()
        page.locator("#notice.failed", has_text="needs a desired prediction").wait_for()
        assert two.get("/v1/jobs?limit=1").json()["total"] == before
