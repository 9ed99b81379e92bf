"""The form of the page: sliders, units, plausibility, languages, directions, and speed."""

import gzip
import re

import numpy as np
import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from portfolio import Explainer, Plausibility
from portfolio.service.examples import plain_row
from portfolio.service.page_routes import FILES
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.portfolio.service.test_page import ask, visited
from tests.support.browser import contrasts, wider_than_its_window
from tests.support.forked import forked_children
from tests.support.served import served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("forked_children")]

CITY = "עיר"  # a name that is written from right to left
BUDGET = 200_000  # bytes of all files of the page, compressed
PAINT_MS, PREDICTION_MS, VISITS = 500, 100, 20


@pytest.fixture(scope="module")
def loans():
    """A client of a service of two models: one with units, and one with isolation forests too."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 80, 300),
            "income": np.round(random.lognormal(3.4, 0.5, 300), 2),
            CITY: random.choice(["תל אביב", "Oslo", "القاهرة (x)"], 300),
        }
    )
    y = np.where(X["income"] - 0.2 * X["age"] + 10 * (X[CITY] == "Oslo") > 25, "granted", "refused")
    steps = make_column_transformer((OneHotEncoder(), [CITY]), remainder="passthrough")
    model = make_pipeline(steps, RandomForestClassifier(9, max_depth=5, random_state=0)).fit(X, y)
    units = {"age": {"unit": "years"}, "income": {"unit": "thousand euros"}}
    row = plain_row(X[model.predict(X) == "refused"].iloc[0])
    sources = [
        AtHand("loans", Explainer(model, X, features=units), row, X),
        AtHand(
            "plausible",
            Explainer(model, X, plausibility=Plausibility.fit(X, y, n_estimators=10)),
            row,
            X,
        ),
    ]
    settings = Settings(lambda: sources, workers=1, reload_s=0)
    with forked_children(), served(settings) as (_, client):
        yield client


def opened(page):
    page.wait_for_selector("#features tbody tr")
    return page.locator("#features tbody tr", has=page.locator("th", has_text="income"))


def with_range(page, way="range"):
    """The row of a feature whose limits are set, its sliders, and its typed limits."""
    line = opened(page)
    line.locator("td select").first.select_option(way)
    return line, line.locator("input[type=range]"), line.locator(".range input[type=number]")


def test_a_range_is_set_by_keyboard_and_by_typing(browser, loans):
    with visited(browser, loans) as page:
        _, sliders, typed = with_range(page)
        least, most = (float(sliders.nth(0).get_attribute(name)) for name in ("min", "max"))
        step = float(sliders.nth(0).get_attribute("step"))
        sliders.nth(0).focus()
        for _ in range(3):
            page.keyboard.press("ArrowRight")
        assert float(typed.nth(0).input_value()) == pytest.approx(least + 3 * step)
        said = sliders.nth(0).get_attribute("aria-valuetext")
        assert said == f"{typed.nth(0).input_value()}\u00a0thousand euros"
        typed.nth(1).fill("90.5")
        assert float(sliders.nth(1).input_value()) == pytest.approx(90.5, abs=step)
        with page.expect_request("**/explain") as asked:
            ask(page)
        (limit,) = asked.value.post_data_json["constraints"]
        assert limit["Range"] == {
            "feature": "income", "lower": float(typed.nth(0).input_value()), "upper": 90.5
        }  # fmt: skip
        sliders.nth(0).focus()
        page.keyboard.press("End")  # it does not pass the other
        assert float(sliders.nth(0).input_value()) == float(sliders.nth(1).input_value())
        page.keyboard.press("Home")
        sliders.nth(1).focus()
        page.keyboard.press("End")
        assert [typed.nth(k).input_value() for k in (0, 1)] == ["", ""]
        assert sliders.nth(1).get_attribute("aria-valuetext") == "no limit"
        assert float(sliders.nth(1).input_value()) == most
        with page.expect_request("**/explain") as asked:
            page.click("#ask")
        assert asked.value.post_data_json["constraints"] == []
        page.wait_for_selector("#stop", state="hidden")


def test_sliders_have_the_scale_of_the_distribution(browser, loans):
    described = loans.get("/v1/models/loans").json()["features"]
    quartiles = next(f for f in described if f["name"] == "income")["distribution"]["quartiles"]
    with visited(browser, loans) as page:
        line, sliders, _ = with_range(page)
        least, most = (float(sliders.nth(0).get_attribute(name)) for name in ("min", "max"))
        picture = line.locator(".slider svg").bounding_box()
        bars = [each.bounding_box() for each in line.locator(".slider .share").all()]
        for number, x in (
            (quartiles[0], bars[0]["x"]),
            (quartiles[4], bars[-1]["x"] + bars[-1]["width"]),
        ):
            share = (number - least) / (most - least)
            assert x == pytest.approx(picture["x"] + share * picture["width"], abs=1)
        track = sliders.nth(0).bounding_box()
        thumb = float(page.evaluate(
            "() => getComputedStyle(document.documentElement).getPropertyValue('--thumb')"
        ).removesuffix("rem")) * 16  # fmt: skip
        assert picture["x"] == pytest.approx(track["x"] + thumb / 2, abs=1)
        assert picture["width"] == pytest.approx(track["width"] - thumb, abs=1)


def test_the_other_slider_can_still_be_dragged_where_both_meet(browser, loans):
    with visited(browser, loans) as page:
        _, sliders, typed = with_range(page)
        box = sliders.nth(0).bounding_box()
        y, right = box["y"] + box["height"] / 2, box["x"] + box["width"] - 9
        for start, end in ((box["x"] + 9, right), (right, right - 40)):
            page.mouse.move(start, y)
            page.mouse.down()
            page.mouse.move(end, y, steps=5)
            page.mouse.up()
        assert float(typed.nth(0).input_value()) < float(sliders.nth(1).get_attribute("max"))
        assert typed.nth(1).input_value() == ""


def test_limits_that_leave_no_value_are_refused_where_they_are_set(browser, loans):
    with visited(browser, loans) as page:
        line, _, typed = with_range(page)
        typed.nth(0).fill("50")
        typed.nth(1).fill("40")
        page.click("#ask")
        assert line.locator("input:invalid").count() == 1
        typed.nth(1).fill("60")
        assert line.locator("input:invalid").count() == 0
        city = page.locator("#features tbody tr", has=page.locator("th", has_text=CITY))
        city.locator("td").nth(1).locator("select").first.select_option("allowed")
        for box in city.locator("input[type=checkbox]").all():
            box.uncheck()
        page.click("#ask")
        assert city.locator("input:invalid").count() == 1
        assert page.inner_text("#status") == "No explanation yet."


def test_units_stand_beside_values_and_answers(browser, loans):
    with visited(browser, loans) as page:
        line = opened(page)
        assert line.locator(".unit").inner_text() == "thousand euros"
        assert "thousand euros" in line.locator("svg").first.get_attribute("aria-label")
        ask(page)
        cells = page.locator("table.changes tbody tr", has_text="income").first.locator("td")
        assert [cells.nth(k).inner_text().endswith("\u00a0thousand euros") for k in (0, 1)] == [
            True, True
        ]  # fmt: skip
        assert cells.nth(0).evaluate("e => getComputedStyle(e).textAlign") == "right"
        page.get_by_role("button", name="Which features determine").click()
        page.locator("#more li", has_text="income = ").wait_for()
        assert "thousand euros" in page.locator("#more li", has_text="income = ").inner_text()


def test_a_range_of_numbers_is_a_target(browser, credit):
    X = credit[1]
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, 3 * X["income"])
    explainer = Explainer(forest, X)
    source = AtHand("prices", explainer, plain_row(X.iloc[0]), X)
    low, high = (float(each) for each in np.quantile(forest.predict(X), [0.7, 0.8]))
    settings = Settings(lambda: [source], workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        opened(page)
        page.select_option("#target", label="from … to")
        page.fill("#goal", str(high))
        page.fill("#goal-end", str(low))
        page.click("#ask")
        assert page.locator("#goal-end:invalid").count() == 1
        page.fill("#goal", str(low))
        page.fill("#goal-end", str(high))
        with page.expect_response("**/explain") as answered:
            assert ask(page).startswith("Proved: no smaller change")
        assert answered.value.request.post_data_json["target"] == {
            "Score": {"low": low, "high": high}
        }
        assert "Prediction of the model" in page.inner_text("#found")
        after = page.locator("#found table:not(.changes) td.number").last.get_attribute("title")
        assert low <= float(after) <= high


def test_plausibility_is_offered_where_it_is_configured(browser, loans):
    with visited(browser, loans) as page:
        opened(page)
        ask(page)
        offer = page.get_by_role("button", name="Cost by plausibility")
        assert page.is_hidden("#plausible") and offer.count() == 0
        page.select_option("#model", "plausible")
        page.wait_for_selector("#plausible:visible")
        ask(page)
        with page.expect_response("**/front") as told:
            offer.click()
        points = told.value.json()["answer"]["points"]
        page.wait_for_selector("#more figure svg")
        found = [point for point in points if point["distance"] is not None]
        assert page.locator("#more figure .bar, #more figure .bar-ground").count() == len(found)
        assert page.locator("#more figure + p button").count() == len(found) > 1


def in_german(page):
    page.select_option("#language", "de")
    page.locator("#ask", has_text="Erklären").wait_for()
    opened(page)


def test_problems_of_the_server_are_worded_in_german(browser, loans):
    with visited(browser, loans) as page:
        in_german(page)
        _, _, typed = with_range(page)
        typed.nth(0).fill("100000")
        page.click("#ask")
        page.locator("#status.failed").wait_for()
        assert "Die erlaubten Änderungen von income widersprechen sich" in page.inner_text(
            "#status"
        )
        page.click("#release")
        page.fill("#features input[type=number] >> nth=0", "30.5")
        page.locator("#decision [role=alert]").wait_for()
        assert "kein Wert von age" in page.inner_text("#decision")
        page.wrong.clear()  # the browser reports the refusals


def test_an_impossible_question_is_explained_in_german(browser, loans):
    with visited(browser, loans) as page:
        in_german(page)
        _, _, typed = with_range(page)
        typed.nth(1).fill("25")
        for name in ("age", CITY):
            page.select_option(
                f"[aria-label^='erlaubte Änderungen von'][aria-label*='{name}']", "fixed"
            )
        assert ask(page).startswith("Bewiesen: Keine erlaubte Änderung")
        page.get_by_role("button", name="Warum gibt es keine Antwort?").click()
        page.locator("#more ul li").first.wait_for()
        words = page.inner_text("#more")
        assert "schließ" in words and "muss bei" in words
        assert not re.search(r"\b(must|demand|proved|distance)\b", words)


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_the_layout_is_mirrored_and_accessible(browser, loans, width, scheme, direction):
    with visited(browser, loans, width, scheme) as page:
        page.evaluate("way => { document.dir = way; }", direction)
        page.select_option("#model", "plausible")  # names are written for this direction
        page.wait_for_selector("#plausible:visible")
        _, sliders, _ = with_range(page)
        ask(page)
        page.get_by_role("button", name="Other answers").click()
        page.wait_for_selector("#comparison table")
        assert not wider_than_its_window(page)
        assert min(contrasts(page))[0] >= 4.5
        report = Axe().run(page)
        assert report.violations_count == 0, report.generate_report()
        starts = {
            name: page.locator(name).first.bounding_box()["x"]
            for name in ("table.changes thead th:first-child", "table.changes thead th:last-child")
        }
        first, last = starts.values()
        assert (first < last) is (direction == "ltr")
        edges = page.locator("#status").evaluate(
            "e => [getComputedStyle(e).borderLeftWidth, getComputedStyle(e).borderRightWidth]"
        )
        assert (edges[0] > edges[1]) is (direction == "ltr")
        low, high = (each.bounding_box()["x"] for each in sliders.all())
        assert low == high  # the scale of the pictures has one direction


def test_names_of_either_direction_are_isolated_and_overrides_are_shown(browser, loans):
    with visited(browser, loans) as page:
        opened(page)
        assert page.locator("#features th bdi", has_text=CITY).count() == 1
        isolated = page.evaluate(
            "async ([name]) => { const words = await import('/page/words.js');"
            " const dom = await import('/page/dom.js');"
            " return [name, 'plain', '\\u202eevil\\u2069', '\\ufdd1' + name].map(each =>"
            "   dom.visible(words.say('locked', {names: each}))); }",
            [CITY],
        )
        assert isolated[0] == f"Locked: \u2068{CITY}\u2069."
        assert isolated[1] == "Locked: plain."
        assert isolated[2] == "Locked: \\u202eevil\\u2069."
        for text in isolated:  # nothing opens or closes an isolation that it has not
            assert text.count("\u2068") == text.count("\u2069")
            assert not set(text) & set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\ufdd0\ufdd1")


def test_the_page_is_small_and_fast(browser, loans):
    total = sum(len(gzip.compress(path.read_bytes())) for path in FILES.iterdir() if path.is_file())
    assert total < BUDGET
    paints, predictions = [], []
    row = loans.get("/v1/models/loans").json()["example"]
    for _ in range(VISITS):
        with visited(browser, loans) as page:
            opened(page)
            paints.append(page.evaluate(
                "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
            ))  # fmt: skip
            predictions += page.evaluate(
                "async x => { const api = new (await import('/page/api.js')).Api(), took = [];"
                " for (let k = 0; k < 5; k++) { const began = performance.now();"
                "   await api.post('v1/models/loans/predict', { x });"
                "   took.push(performance.now() - began); }"
                " return took; }",
                row,
            )
        # The least of several, as other programs run at the same time.
        if min(paints) < PAINT_MS and min(predictions) < PREDICTION_MS:
            break
    assert min(paints) < PAINT_MS and min(predictions) < PREDICTION_MS, (paints, predictions)
