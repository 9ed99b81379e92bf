"""The page of the service, in a real browser that reaches nothing but the service."""

import json
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from portfolio import Explainer
from portfolio.proofs.report import report
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.support.browser import contrasts, wider_than_its_window
from tests.support.served import served

pytestmark = pytest.mark.usefixtures("forked_children")

KEY = "a key of the tests"


@contextmanager
def visited(browser, client, width=1200, scheme="light"):
    """The page, with what went wrong in it; the proof was found once ``ask`` returns."""
    context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
    page, home = context.new_page(), str(client.base_url)
    page.wrong = []
    page.on("pageerror", lambda error: page.wrong.append(str(error)))
    page.on("console", lambda said: said.type == "error" and page.wrong.append(said.text))
    page.on("request", lambda r: r.url.startswith((home, "blob:")) or page.wrong.append(r.url))
    page.goto(f"{home}/")
    yield page
    assert page.wrong == []
    context.close()


def ask(page):
    page.click("#ask")
    page.wait_for_selector("#status[class]:not([class=''])")
    return page.inner_text("#status")


def fill(page, row):
    page.click("#pasting summary")
    page.fill("#pasted", json.dumps(row))
    page.click("#take")


@pytest.mark.slow
def test_a_row_is_asked_about_and_the_answer_is_that_of_the_interface(browser, client, row):
    told = client.post("/v1/models/credit/explain", json={"x": row}).json()["answer"]
    with visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        assert ask(page).startswith("Proved: no smaller change reaches the desired prediction.")
        shown = page.locator("table.changes").first.locator("tbody tr")
        names = [line.locator("th").inner_text() for line in shown.all()]
        assert names == [change["feature"] for change in told["changes"]]
        titles = [line.locator("td").nth(1).get_attribute("title") for line in shown.all()]
        assert titles == [str(change["to"]).removesuffix(".0") for change in told["changes"]]
        words = page.locator("#bounds svg").get_attribute("aria-label")
        assert "best answer" in words and "lower bound" in words
        assert page.locator("img.diagram").evaluate("picture => picture.decode()") is None


@pytest.mark.slow
def test_constraints_are_clicked(browser, client, row):
    with visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        for name in ("age", "employed", "home"):
            page.select_option(f"[aria-label='allowed changes of {name}']", "fixed")
        page.select_option("[aria-label='allowed changes of income']", "range")
        page.fill("[aria-label='income: at most']", str(row["income"]))
        assert ask(page).startswith("Proved: no allowed change reaches the desired prediction.")
        page.get_by_role("button", name="Why is there no answer?").click()
        page.wait_for_selector("#more ul li")
        assert "employed" in page.inner_text("#more")


@pytest.mark.slow
def test_further_questions_and_documents(browser, client, row):
    with visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        page.select_option("#backend", "race")
        ask(page)
        for button, seen in (
            ("Other answers", "#more table.changes"),
            ("Cost by number of changes", "#more figure svg"),
            ("Which values also work?", "#more table.intervals svg"),
            ("Which features determine the prediction?", "#more [aria-live] p"),
        ):
            page.get_by_role("button", name=button).click()
            page.wait_for_selector(seen)
            assert page.locator("[role=alert]").count() == 0
        with page.expect_download() as record:
            page.get_by_role("button", name="Record with proof").click()
        written = json.loads(record.value.path().read_text())
        assert written["proof"] and written["format"] == "counterfolio-record"
        with page.expect_download() as document:
            page.get_by_role("button", name="Report to print").click()
        html = document.value.path().read_text()
        assert html.startswith("<!doctype html>") and len(html) > len(report(written)) / 2


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (375, "dark")])
def test_it_is_read_at_any_width_and_by_any_light(browser, client, row, width, scheme):
    with visited(browser, client, width, scheme) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        ask(page)
        assert not wider_than_its_window(page)
        assert min(contrasts(page))[0] >= 4.5
        unnamed = page.locator("input, select, textarea, button").evaluate_all(
            "all => all.filter(e => !(e.labels?.length || e.textContent.trim()"
            " || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')))"
            ".map(e => e.outerHTML)"
        )
        assert unnamed == []


@pytest.mark.slow
def test_it_is_used_by_keyboard(browser, client):
    with visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.focus("#limit")
        page.keyboard.press("Enter")
        page.wait_for_selector("#status[class]:not([class=''])")


@pytest.mark.slow
def test_a_key_is_asked_for_and_names_of_strangers_stay_text(browser, explainer):
    source = AtHand("<img src=x onerror=alert(1)>", explainer, {})
    settings = Settings(lambda: [source], workers=1, reload_s=0, keys=frozenset([KEY]))
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#key:visible")
        assert "API key" in page.inner_text("#status")
        page.fill("#key", KEY)
        page.click("#unlock")
        page.wait_for_selector("#features tbody tr")
        assert page.locator("#model img").count() == 0
        assert page.inner_text("#model option") == source.name
        page.wrong.clear()  # the browser tells of the refusal


def test_the_page_is_for_nobody_elses_frame(client):
    told = client.get("/")
    policy = told.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy and "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert client.get("/page/../sources.py").status_code == 404
    assert client.get("/page/..%2fsources.py").status_code == 404


@pytest.fixture(scope="module")
def odd():
    """Truth, text that may be empty, a gap, and a name that every object of JavaScript has."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "truth": random.random(80) < 0.5,
            "__proto__": random.choice(["", "a", "b"], 80),
            "gap": np.where(random.random(80) < 0.2, np.nan, random.normal(size=80)),
        }
    )
    y = X["truth"] ^ (X["gap"].fillna(0) > 0) ^ (X["__proto__"] == "")
    steps = make_column_transformer((OneHotEncoder(), ["__proto__"]), remainder="passthrough")
    model = make_pipeline(steps, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X, y)
    return Explainer(model, X)


@pytest.mark.slow
def test_odd_values_are_sent_as_they_are(browser, odd):
    first = {"truth": True, "__proto__": "", "gap": None}
    settings = Settings(lambda: [AtHand("odd", odd, first)], workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        for text, sent in (
            (None, first),
            (
                '{"truth": "false", "__proto__": "b"}',
                {"truth": False, "__proto__": "b", "gap": None},
            ),
            ("1,,0.5", {"truth": True, "__proto__": "", "gap": 0.5}),
        ):
            if text is not None:
                page.click("#pasting summary")
                page.fill("#pasted", text)
                page.click("#take")
            with page.expect_request("**/explain") as asked:
                page.click("#ask")
            assert json.loads(asked.value.post_data)["x"] == sent
            page.wait_for_selector("#stop", state="hidden")
        for text in ('{"gap": "abc"}', '{"__proto__": "zzz"}', "maybe,a,1"):
            page.click("#pasting summary")
            page.fill("#pasted", text)
            page.click("#take")
            assert "is not a value of" in page.inner_text("#status")
            page.click("#pasting summary")


@pytest.mark.slow
def test_each_of_several_outputs_has_a_target(browser):
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 6, (80, 2)), columns=["a", "b"])
    labels = np.column_stack([X["a"] > 2, X["b"] > 2]).astype(int)
    forest = RandomForestClassifier(4, max_depth=2, random_state=0).fit(X, labels)
    source = AtHand("two", Explainer(forest, X, outputs=["fraud", "churn"]), {"a": 0, "b": 0})
    settings = Settings(lambda: [source], workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        for chosen in ({"fraud": 1}, {"fraud": 1, "churn": 1}):
            for name, label in chosen.items():
                page.select_option(f"[aria-label='Desired prediction of {name}']", str(label))
            with page.expect_request("**/explain") as sent:
                assert ask(page).startswith("Proved: no smaller change")
            assert sent.value.post_data_json["target"] == chosen
        assert "fraud: 1, churn: 1" in page.inner_text("#found")


@pytest.mark.slow
def test_without_a_key_asking_says_so(browser, explainer):
    source = AtHand("credit", explainer, {})
    settings = Settings(lambda: [source], workers=1, reload_s=0, keys=frozenset([KEY]))
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#key:visible")
        page.click("#ask")
        assert "API key" in page.inner_text("#status")
        page.wrong.clear()  # the browser tells of the refusal
