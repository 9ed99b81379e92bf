"""Tasks of the page from beginning to end, by what a person sees: visible texts and keys."""

import time

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier

from portfolio import Explainer
from portfolio.service.examples import typical_row
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.portfolio.service.test_page import visited
from tests.support.forked import forked_children
from tests.support.served import served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_children")]


class Person:
    """A user of the page, who finds controls by their visible names; each action is a step."""

    def __init__(self, page):
        self.page, self.steps, self.began_s = page, 0, time.monotonic()

    def step(self):
        self.steps += 1
        return self.page

    def press(self, name):
        self.step().get_by_role("button", name=name, exact=True).first.click()

    def open(self, text):
        self.step().locator("summary", has_text=text).click()

    def follow(self, name):
        self.step().get_by_role("link", name=name, exact=True).click()

    def choose(self, name, option):
        self.step().get_by_role("combobox", name=name, exact=True).first.select_option(option)

    def tick(self, name):
        self.step().get_by_role("checkbox", name=name).check()

    def write(self, name, text, key="Tab"):
        self.step().get_by_role("textbox", name=name, exact=True).fill(text)
        self.page.keyboard.press(key)

    def sees(self, text, part="body"):
        self.page.locator(part, has_text=text).first.wait_for()

    def done(self, most):
        """Print the steps and the time; fail if there are more steps than a person should need."""
        seconds = time.monotonic() - self.began_s
        print(f"{self.steps} steps, {seconds:.1f} s without the person's own time")
        assert self.steps <= most


def _forest(X, y):
    return RandomForestClassifier(9, max_depth=3, random_state=5).fit(X, y)


@pytest.fixture(scope="module")
def loans(credit, tmp_path_factory):
    """A client of a service of several models, with jobs and training rows."""
    model, X = credit
    y, wide = model.predict(X), X.assign(rent=X["income"] / 2)
    units = {"income": {"unit": "thousand euros"}}
    models = {
        "current": (model, X, units),
        "next": (_forest(X, y), X, units),
        "renamed": (_forest(X, np.where(y == "granted", "yes", "no")), X, {}),
        "wider": (_forest(wide, y), wide, {}),
    }
    sources = []
    for name, (forest, rows, features) in models.items():
        explainer = Explainer(forest, rows, features=features)
        sources.append(AtHand(name, explainer, typical_row(explainer.features, rows), rows))
    jobs = tmp_path_factory.mktemp("jobs")
    settings = Settings(lambda: sources, workers=1, reload_s=0, jobs=jobs)
    with forked_children(), served(settings) as (_, client):
        yield client


def with_refused_row(person):
    person.open("Choose a row of the training data")
    person.choose("Predicted as", "refused")
    person.choose("Order", "least sure first")
    person.press("Find rows")
    person.step().locator("#rows-found").get_by_role("button").first.click()
    person.sees("Prediction: refused", "#decision")


def test_an_answer_is_found_compared_and_bookmarked(browser, loans):
    with visited(browser, loans) as page:
        person = Person(page)
        with_refused_row(person)
        row = page.locator("#features input").evaluate_all("all => all.map(each => each.value)")
        person.press("Explain")
        person.sees("Proved: no smaller change", "#status")
        sentence = page.inner_text("#status")
        person.press("Compare")
        person.press("Other answers")
        person.sees("Other answer", "#comparison")
        heads = page.locator("#comparison thead th").all_inner_texts()
        assert heads[:3] == ["Feature", "The row", "Answer 1"] and len(heads) > 3
        person.tick("links and bookmarks contain the row")
        person.write("Name", "nearly granted", key="Enter")
        person.sees("The bookmark nearly granted was kept", "#notice")
        page.reload()
        person.follow("nearly granted")
        person.sees("The question was restored.", "#notice")
        page.locator("#status", has_text=sentence).wait_for()
        again = page.locator("#features input").evaluate_all("all => all.map(each => each.value)")
        assert again == row
        person.done(most=11)


def test_why_an_applicant_was_refused_and_the_least_to_do(browser, loans):
    with visited(browser, loans) as page:
        person = Person(page)
        with_refused_row(person)
        person.press("Lock what a person cannot change")
        person.sees("Locked: age.", "#notice")
        person.press("Explain")
        person.sees("Proved: no smaller change", "#status")
        changes = page.locator("table.changes").first.locator("tbody th").all_inner_texts()
        assert changes and "age" not in changes
        person.press("Which features determine the prediction?")
        person.sees("sufficient for refused (proved", "#more")
        reasons = page.locator("#more li").all_inner_texts()
        marked = page.locator("#features tr", has=page.locator(".mark:not(:empty)")).count()
        assert len(reasons) == marked > 0
        person.done(most=8)


def test_what_if_the_income_were_10_percent_higher(browser, loans):
    with visited(browser, loans) as page:
        person = Person(page)
        with_refused_row(person)
        line = page.locator("#features tr", has=page.locator("th", has_text="income"))
        before = float(line.locator("td input").first.input_value())
        person.open("What if a number were higher or lower?")
        person.choose("Feature", "income")
        with page.expect_request(  # the earlier request may still run
            lambda sent: (
                sent.url.endswith("/predict") and sent.post_data_json["x"]["income"] != before
            )
        ) as asked:
            person.press("Change the value")
        after = float(line.locator("td input").first.input_value())
        assert after == pytest.approx(1.1 * before)
        person.sees("thousand euros instead of", "#notice")
        x = asked.value.post_data_json["x"]
        assert x["income"] == after
        told = loans.post("/v1/models/current/predict", json={"x": x}).json()
        person.sees(f"Prediction: {told['prediction']}", "#decision")
        assert page.locator("#decision").bounding_box()["y"] < 800
        person.done(most=8)


def test_which_of_two_models_asks_more_of_the_young(browser, loans):
    with visited(browser, loans) as page:
        person = Person(page)
        person.choose("Compare with", "next")
        person.choose("Desired prediction", "granted")
        person.follow("Ask about many rows of a file")
        person.press("Use training rows")
        person.sees("200 rows of 200 training rows", "#file-read")
        person.press("Start")
        page.locator("#jobs td", has_text="done").nth(1).wait_for()
        assert page.locator("#jobs").bounding_box()["y"] < 800
        person.step().locator("#jobs button", has_text="Show answers").first.click()
        person.choose("Segments by", "age")
        youngest = page.locator("#job-answers li", has_text=" to ").first
        youngest.wait_for()
        means = {}
        for job in loans.get("/v1/jobs").json()["jobs"]:
            segments = loans.get(f"/v1/jobs/{job['id']}/segments?by=age").json()["segments"]
            means[job["model"]["name"]] = segments[0]["mean"]
        asks_more = max(means, key=means.get)
        assert f"{asks_more} asks more of a row on average" in youngest.inner_text()
        person.done(most=7)


@pytest.mark.parametrize(
    ("other", "words"),
    [("renamed", "renamed has other classes than current"), ("wider", "file lacks: rent")],
)
def test_a_model_that_answers_another_question_is_refused_before_jobs_start(
    browser, loans, other, words
):
    before = loans.get("/v1/jobs").json()["total"]
    with visited(browser, loans) as page:
        person = Person(page)
        person.choose("Compare with", other)
        person.press("Use training rows")
        person.sees("200 rows of 200 training rows", "#file-read")
        person.press("Start")
        person.sees(words, "#notice")
        page.wrong.clear()  # the browser reports the refused prediction
    assert loans.get("/v1/jobs").json()["total"] == before


def test_numbers_are_changed_to_values_that_the_feature_can_have(browser):
    random = np.random.default_rng(0)
    X = pd.DataFrame({"age": random.integers(18, 80, 80), "rate": random.random(80)})
    y = (X["rate"] > 0.5) ^ (X["age"] > 40)
    forest = RandomForestClassifier(4, max_depth=3, random_state=0).fit(X, y)
    explainer = Explainer(forest, X, features={"rate": {"step": 0.25}})
    sources = [AtHand("steps", explainer, {"age": 33, "rate": 0.5}, X)]
    settings = Settings(lambda: sources, workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        person = Person(page)
        person.open("What if a number were higher or lower?")
        for name, percent, value in (("age", "10", "36"), ("rate", "40", "0.75")):
            person.choose("Feature", name)
            page.get_by_role("spinbutton", name="Change in percent").fill(percent)
            person.press("Change the value")
            line = page.locator("#features tr", has=page.locator("th", has_text=name))
            assert line.locator("td input").first.input_value() == value
        page.locator("#features input[type=number]").first.fill("")
        person.choose("Feature", "age")
        person.press("Change the value")
        person.sees("age has no value", "#notice")
        assert not page.locator("#features input").first.input_value()
