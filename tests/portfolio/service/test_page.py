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

from portfolio import Explainer, Fixed
from portfolio.proofs.report import report
from portfolio.service.examples import typical_row
from portfolio.service.settings import Settings
from portfolio.service.sources import AtHand
from tests.support.browser import contrasts, wider_than_its_window
from tests.support.forked import forked_children
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
        page.click("#how summary")
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
        page.click("#advanced summary")
        page.select_option("#backend", "race")
        ask(page)
        for button, seen in (
            ("Other answers", "#comparison table"),
            ("Cost by number of changes", "#more figure svg"),
            ("Which values also work?", "#more table.intervals svg"),
            ("Which features determine the prediction?", "#more [aria-live] p"),
            ("Which features must change?", "#more [aria-live] p"),
        ):
            page.get_by_role("button", name=button).click()
            page.wait_for_selector(seen)
            # An answer that arrives later moves the next button while it is clicked.
            page.locator("#more button[disabled]").wait_for(state="detached")
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
        page.wrong.clear()  # the browser reports the refusal


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
            assert "is not a value of" in page.inner_text("#notice")
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
        page.click("#ask")
        assert page.locator("#target-part select:invalid").count() == 1  # no output has a target
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
        page.wrong.clear()  # the browser reports the refusal


@pytest.fixture(scope="module")
def shown(explainer, credit):
    """A client of a service that shows its training rows."""
    X = credit[1]
    source = AtHand("credit", explainer, typical_row(explainer.features, X), X)
    settings = Settings(lambda: [source], workers=1, reload_s=0)
    with forked_children(), served(settings) as (_, client):
        yield client


def choose(page, predicted):
    page.click("#choosing-part summary")
    page.select_option("#predicted", predicted)
    page.select_option("#order", "boundary")
    page.click("#choosing button")
    page.locator("#rows-found li button").first.click()


def predicted(page):
    return page.locator("#decision .prediction strong").inner_text()


@pytest.mark.slow
def test_a_row_is_chosen_and_its_prediction_follows_each_edit(browser, shown):
    rows = {"predicted": "refused", "order": "boundary"}
    first = shown.get("/v1/models/credit/rows", params=rows).json()["rows"][0]
    with visited(browser, shown) as page:
        page.wait_for_selector("#features tbody tr")
        assert page.locator("#features svg.spread").count() == len(explainer_features(shown))
        choose(page, "refused")
        assert page.inner_text("#notice") == f"The values of row {first['index']} were filled in."
        page.locator("#decision strong", has_text="refused").wait_for()
        assert ask(page).startswith("Proved")
        page.get_by_role("button", name="Use this as the row").click()
        page.locator("#decision strong", has_text="granted").wait_for()
        assert "before the last edit: refused" in page.inner_text("#decision")
        with page.expect_response("**/predict") as told:
            page.fill("#features input[type=number] >> nth=0", "31")
        assert predicted(page) == str(told.value.json()["prediction"])
        page.fill("#features input[type=number] >> nth=0", "")
        page.locator("#decision", has_text="Fill in all values").wait_for()


def explainer_features(client):
    return client.get("/v1/models/credit").json()["features"]


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1200, "dark"), (375, "light")])
def test_answers_are_compared_side_by_side(browser, shown, row, width, scheme):
    several = shown.post("/v1/models/credit/several", json={"x": row, "k": 3}).json()["answer"]
    front = shown.post("/v1/models/credit/front", json={"x": row, "by": "changes"}).json()["answer"]
    failed = sum(point["distance"] is None for point in front["points"])
    with visited(browser, shown, width, scheme) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        ask(page)
        page.get_by_role("button", name="Other answers").click()
        page.wait_for_selector("#comparison table")
        heads = page.locator("#comparison thead th").all_inner_texts()
        assert len(heads) == 2 + len(several["answers"])
        marked = page.locator("#comparison td.different").count()
        assert marked == sum(len(answer["changes"]) for answer in several["answers"])
        page.get_by_role("button", name="Cost by number of changes").click()
        page.wait_for_selector("#more figure svg")
        assert page.locator("#more li", has_text="not enough (proved)").count() == failed
        page.locator("#comparison button", has_text="Remove").first.click()
        assert len(page.locator("#comparison thead th").all()) == len(heads) - 1
        assert not wider_than_its_window(page)
        assert min(contrasts(page))[0] >= 4.5


@pytest.mark.slow
def test_a_link_and_a_bookmark_restore_a_question(browser, shown, row):
    with visited(browser, shown) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        page.click("#advanced summary")
        page.select_option("[aria-label='allowed changes of income']", "range")
        page.fill("[aria-label='income: at most']", "64")
        page.select_option("[aria-label='difficulty of changing age']", "2")
        page.select_option("[aria-label='allowed changes of home']", "fixed")
        page.fill("#probability", "0.6")
        page.select_option("#target", '"granted"')
        page.select_option("#norm", "inf")
        ask(page)
        with page.expect_request("**/explain") as asked:
            ask_again(page)
        sent = asked.value.post_data_json
        assert {"Fixed": ["home"]} in sent["constraints"] and sent["weights"] == {"age": 2}
        assert sent["target"] == {"Probability": ["granted", 0.6]} and sent["norm"] == "inf"
        page.click("#link")
        without_row = page.url
        page.check("#with-row")
        page.fill("#bookmark-name", "<i>mine</i>")
        page.click("#bookmark button")
        bookmark = page.locator("#bookmarks a")
        assert bookmark.inner_text() == "<i>mine</i>"
        for address, same_row in ((without_row, False), (bookmark.get_attribute("href"), True)):
            page.goto("about:blank")
            page.goto(str(shown.base_url) + "/" + address[address.index("#") :])
            page.locator("#notice", has_text="restored").wait_for()
            with page.expect_request("**/explain") as asked:
                ask_again(page)
            again = asked.value.post_data_json
            page.wait_for_selector("#stop", state="hidden")
            assert (again["x"] == sent["x"]) is same_row
            assert again | {"x": None} == sent | {"x": None}
        page.goto(f"{shown.base_url}/#q=damaged")
        page.reload()
        page.locator("#notice", has_text="damaged").wait_for()


def ask_again(page):
    page.wait_for_selector("#stop", state="hidden")
    page.click("#ask")


@pytest.mark.slow
def test_the_program_that_is_shown_asks_the_same_question(browser, shown, row, capsys):
    with visited(browser, shown) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        page.select_option("[aria-label='allowed changes of age']", "fixed")
        page.fill("#most", "2")
        sentence = ask(page)
        page.click("#python")
        exec(compile(page.inner_text("#program"), "program", "exec"), {})
        printed = capsys.readouterr().out
        assert printed.startswith("Optimal") and sentence.startswith("Proved")
        shown_changes = page.locator("table.changes").first.locator("tbody th").all_inner_texts()
        assert all(name in printed for name in shown_changes)


@pytest.mark.slow
def test_rows_of_files_are_offered(browser, odd, tmp_path):
    first = {"truth": True, "__proto__": "a", "gap": None}
    path = tmp_path / "rows.csv"
    path.write_text('\ufeff"gap";truth;__proto__\r\n"-0.5";False;"b"\r\n;true;a\r\n')
    settings = Settings(lambda: [AtHand("odd", odd, first)], workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        assert page.locator("#choosing-part").is_hidden()
        page.click("#pasting summary")
        page.set_input_files("#file", path)
        page.wait_for_selector("#file-rows li")
        assert page.locator("#file-rows li").count() == 2
        page.locator("#file-rows li button").first.click()
        with page.expect_request("**/explain") as asked:
            page.click("#ask")
        assert asked.value.post_data_json["x"] == {"truth": False, "__proto__": "b", "gap": -0.5}
        page.wait_for_selector("#stop", state="hidden")
        path.write_text("gap,truth\n1\n")
        page.set_input_files("#file", path)
        page.locator("#notice", has_text="line 2").wait_for()


@pytest.mark.slow
def test_the_page_is_written_in_the_language_of_its_reader(browser, shown, row):
    with visited(browser, shown) as page:
        page.wait_for_selector("#features tbody tr")
        page.select_option("#language", "de")
        page.locator("#ask", has_text="Erklären").wait_for()
        page.wait_for_selector("#features tbody tr")
        assert page.evaluate("document.documentElement.lang") == "de"
        page.click("#pasting summary")
        page.fill("#pasted", json.dumps(row))
        page.click("#take")
        assert ask(page).startswith("Bewiesen: Keine kleinere Änderung")
        page.select_option("#language", "en")
        page.locator("#ask", has_text="Explain").wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1200, "light"), (375, "dark")])
def test_axe_finds_no_violation(browser, shown, row, width, scheme):
    from axe_playwright_python.sync_playwright import Axe  # where there is playwright

    with visited(browser, shown, width, scheme) as page:
        page.wait_for_selector("#features tbody tr")
        choose(page, "refused")
        page.click("#advanced summary")
        ask(page)
        page.click("#how summary")
        page.get_by_role("button", name="Other answers").click()
        page.wait_for_selector("#comparison table")
        for button, seen in (
            ("Cost by number of changes", "#more figure svg"),
            ("Which values also work?", "#more table.intervals svg"),
        ):
            page.get_by_role("button", name=button).click()
            page.wait_for_selector(seen)
            report_of_axe = Axe().run(page)
            assert report_of_axe.violations_count == 0, report_of_axe.generate_report()


@pytest.mark.slow
def test_one_row_is_asked_about_under_two_models(browser, explainer, credit, row):
    X, y = credit[1], credit[0].predict(credit[1])
    other = Explainer(RandomForestClassifier(9, max_depth=3, random_state=5).fit(X, y), X)
    sources = [AtHand("first", explainer, row), AtHand("second", other, row)]
    settings = Settings(lambda: sources, workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        told = client.post("/v1/models/second/explain", json={"x": row}).json()["answer"]
        page.wait_for_selector("#features tbody tr")
        page.select_option("#second", "second")
        page.locator("#decision", has_text="Under second").wait_for()
        ask(page)
        page.get_by_role("button", name="Compare", exact=True).click()
        page.get_by_role("button", name="Ask second the same").click()
        page.locator("#comparison th", has_text="second").wait_for()
        costs = page.locator("#comparison tbody tr").first.locator("td").all_inner_texts()
        assert float(costs[2]) == pytest.approx(told["distance"], rel=0.01)
        page.fill("#bookmark-name", "__proto__")
        page.click("#bookmark button")
        page.select_option("#language", "de")
        page.locator("#decision", has_text="Mit second").wait_for()
        assert page.input_value("#second") == "second"
        page.select_option("#second", "")
        page.locator("#bookmarks a", has_text="__proto__").click()
        page.locator("#decision", has_text="Mit second").wait_for()
        assert page.input_value("#second") == "second"


@pytest.mark.slow
def test_an_answer_below_a_long_form_comes_into_view(browser, client, row):
    with visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        page.locator("#ask").scroll_into_view_if_needed()
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        assert page.locator("#status").bounding_box()["y"] < 0
        page.locator("#ask").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#status[class]:not([class=''])")
        page.wait_for_selector("#stop", state="hidden")
        shown, notice = (page.locator(each).bounding_box() for each in ("#status", "#notice"))
        assert shown["y"] >= notice["y"] + notice["height"]
        assert shown["y"] + shown["height"] <= 800
        assert page.evaluate("document.activeElement.id") == "ask"


@pytest.mark.slow
def test_the_question_stays_when_the_page_moves_within_itself(browser, shown, row):
    with visited(browser, shown) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        page.select_option("[aria-label='allowed changes of age']", "fixed")
        page.click("#advanced summary")
        page.select_option("#norm", "0")
        sentence = ask(page)
        page.focus(".skip")
        page.keyboard.press("Enter")
        page.wait_for_timeout(500)  # a new start of the page would be seen
        assert page.inner_text("#status") == sentence
        page.check("#with-row")
        page.fill("#bookmark-name", "mine")
        page.click("#bookmark button")
        link = page.locator("#bookmarks a")
        for _ in range(2):  # the second time the address is already that of the bookmark
            page.select_option("[aria-label='allowed changes of age']", "free")
            link.click()
            page.locator("#notice", has_text="restored").wait_for()
            assert page.input_value("[aria-label='allowed changes of age']") == "fixed"
            page.click("#release")
        page.select_option("[aria-label='allowed changes of home']", "fixed")
        page.select_option("#language", "de")
        page.locator("#notice", has_text="wiederhergestellt").wait_for()
        assert page.input_value("#norm") == "0"
        with page.expect_request("**/explain") as asked:
            page.click("#ask")
        assert asked.value.post_data_json["x"] == row
        assert asked.value.post_data_json["constraints"] == [{"Fixed": ["home"]}]
        page.wait_for_selector("#stop", state="hidden")
        page.select_option("#language", "en")
        page.locator("#ask", has_text="Explain").wait_for()


def held(page, pattern):
    """Hold back the next response to a request; return a function that lets it pass."""
    routes = []
    page.route(pattern, lambda route: routes.append(route))
    return lambda: routes.pop().continue_()


@pytest.mark.slow
def test_late_responses_about_another_model_are_not_shown(browser, explainer, credit, row, odd):
    first = {"truth": True, "__proto__": "a", "gap": None}
    sources = [AtHand("credit", explainer, row, credit[1]), AtHand("odd", odd, first)]
    settings = Settings(lambda: sources, workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        ask(page)
        several = held(page, "**/credit/several")
        page.get_by_role("button", name="Other answers").click()
        rows = held(page, "**/credit/rows?*")
        page.click("#choosing-part summary")
        page.click("#choosing button")
        page.select_option("#model", "odd")
        page.locator("#features th", has_text="gap").wait_for()
        described = held(page, "**/v1/models/credit")
        page.select_option("#model", "credit")
        page.click("#ask")
        assert "No model is loaded" in page.inner_text("#status")
        page.select_option("#model", "odd")
        page.locator("#status", has_text="No explanation yet").wait_for()
        for release in (several, rows, described):
            release()
        page.wait_for_timeout(1000)
        assert page.locator("#features th", has_text="gap").count() == 1
        assert page.locator("#comparison table").count() == 0
        assert page.inner_text("#rows-found") == ""
        page.select_option("#second", "credit")  # which has other columns
        page.locator("#decision [role=alert]").wait_for()
        assert predicted(page) in ("true", "false")
        page.wrong.clear()  # the browser reports the refusal


@pytest.mark.slow
def test_an_answer_to_an_earlier_question_is_marked(browser, shown, row):
    with visited(browser, shown) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        ask(page)
        age = "[aria-label='allowed changes of age']"
        for change, undo in (
            (lambda: page.select_option(age, "fixed"), lambda: page.click("#release")),
            (lambda: page.click("#lock"), lambda: page.select_option(age, "free")),
            (lambda: page.fill("#most", "1"), lambda: page.fill("#most", "")),
            (
                lambda: page.get_by_role("button", name="Use this as the row").click(),
                lambda: fill(page, row),
            ),
        ):
            assert page.is_hidden("#stale")
            change()
            assert page.is_visible("#stale")
            undo()
        page.fill("#most", "1")
        ask(page)
        assert page.is_hidden("#stale")


@pytest.mark.slow
def test_equal_answers_of_two_models_are_both_compared(browser, explainer, row):
    sources = [AtHand(name, explainer, row) for name in ("first", "second")]
    settings = Settings(lambda: sources, workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        ask(page)
        keep = page.get_by_role("button", name="Compare", exact=True)
        keep.click()
        page.select_option("#second", "second")  # after the answer was found
        page.get_by_role("button", name="Ask second the same").click()
        page.locator("#comparison th", has_text="second").wait_for()
        keep.click()
        page.locator("#comparison [role=alert]", has_text="already compared").wait_for()
        assert page.locator("#comparison thead th").count() == 4


@pytest.mark.slow
def test_pasted_text_is_read_in_each_form(browser, odd, tmp_path):
    settings = Settings(
        lambda: [AtHand("odd", odd, {"truth": True, "gap": 1})], workers=1, reload_s=0
    )
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        page.click("#pasting summary")
        for text, gap in (
            ('"0","b",2', "2"),
            ("0;b;3", "3"),
            ('[false, "b", 4]', "4"),
            ('[{"gap": 5}]', "5"),
            ("gap\ttruth\n6\t0\n", "6"),
            ('{"gap": 7, "label": "granted"}', "7"),
        ):
            page.fill("#pasted", text)
            page.click("#take")
            assert page.inner_text("#notice").startswith("The values were filled in.")
            assert page.input_value("#features input[type=number]") == gap
            page.click("#pasting summary")
        assert page.inner_text("#notice").endswith("were ignored: label.")
        for text in ('{"other": 1}', "a,b,c\n1,2,3", "[]", '{"gap": 8, "__proto__": "zzz"}', ""):
            page.fill("#pasted", text)
            page.click("#take")
            assert page.inner_text("#notice").startswith("The row cannot be used")
            assert page.input_value("#features input[type=number]") == "7"
        path = tmp_path / "rows.json"
        for text in ("[1, 2]", "", "[]", "[null]"):
            path.write_text(text)
            page.evaluate("document.querySelector('#notice').textContent = ''")
            page.set_input_files("#file", path)
            page.locator("#notice", has_text="The row cannot be used").wait_for()
        path = tmp_path / "rows.csv"
        path.write_text("gap\n" + "1\n" * 300)
        page.set_input_files("#file", path)
        page.locator("#file-rows", has_text="300 rows in the file").wait_for()
        assert "The first 200 are shown." in page.inner_text("#file-rows")


@pytest.mark.slow
def test_a_model_limits_what_the_page_offers(browser, credit, row):
    names = {"age": {"action": "fixed"}, "income": {"action": "increase"}}
    limited = Explainer(credit[0], credit[1], features=names)
    settings = Settings(lambda: [AtHand("limited", limited, row)], workers=1, reload_s=0)
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#features tbody tr")
        for name, ways in (("age", ["fixed"]), ("income", ["increase", "fixed", "range"])):
            options = page.locator(f"[aria-label='allowed changes of {name}'] option")
            assert options.evaluate_all("all => all.map(each => each.value)") == ways
        page.fill("#probability", "0.9")
        page.click("#ask")
        assert page.locator("#target:invalid").count() == 1
        page.select_option("#target", '"granted"')
        with page.expect_request("**/explain") as asked:
            ask(page)
        sent = asked.value.post_data_json
        assert sent["target"] == {"Probability": ["granted", 0.9]} and sent["constraints"] == []
        page.click("#advanced summary")
        page.fill("#margin", "-1")
        page.click("#advanced summary")
        page.click("#ask")
        page.wait_for_selector("#margin:visible:invalid")


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 375])
def test_long_and_hostile_names_stay_within_the_page(browser, tmp_path, width):
    random = np.random.default_rng(0)
    wide, hostile = "w" * 300, "\u202e<img src=x onerror=alert(1)>"
    X = pd.DataFrame(
        {wide: random.normal(size=80), hostile: random.choice([wide, hostile, ""], 80)}
    )
    y = np.where((X[wide] > 0) ^ (X[hostile] == ""), "v" * 300, hostile)
    steps = make_column_transformer((OneHotEncoder(), [hostile]), remainder="passthrough")
    model = make_pipeline(steps, RandomForestClassifier(5, max_depth=4, random_state=0)).fit(X, y)
    source = AtHand("n" * 100, Explainer(model, X), {wide: 0.5, hostile: ""}, X)
    settings = Settings(lambda: [source], workers=1, reload_s=0, jobs=tmp_path / "jobs")
    with served(settings) as (_, client), visited(browser, client, width) as page:
        page.wait_for_selector("#features tbody tr")
        ask(page)
        offers = page.locator("#more > p button")
        for offer in offers.all():
            offer.click()
            page.wait_for_function("() => !document.querySelector('#more > p button:disabled')")
            assert not wider_than_its_window(page)
        page.click("#python")
        assert "\u202e" not in page.inner_text("#program")
        page.click("#choosing-part summary")
        page.click("#choosing button")
        page.wait_for_selector("#rows-found li")
        page.click("#lock")
        assert not wider_than_its_window(page)
        assert page.locator("option", has_text="(empty)").count() == 1
        assert page.locator("main img:not(.diagram)").count() == 0


@pytest.mark.slow
def test_a_file_of_rows_is_a_job_whose_answers_are_sorted_and_saved(
    browser, explainer, credit, tmp_path
):
    X = credit[1]
    path = tmp_path / "rows.csv"
    X.head(7).to_csv(path, index=False)
    source = AtHand("credit", explainer, typical_row(explainer.features, X), X)
    settings = Settings(lambda: [source], workers=1, reload_s=0, jobs=tmp_path / "jobs")
    expected = explainer.explain_batch(X.head(7), constraints=[Fixed("age")])
    with served(settings) as (_, client), visited(browser, client) as page:
        page.wait_for_selector("#many:visible")
        page.select_option("[aria-label='allowed changes of age']", "fixed")
        page.set_input_files("#many-file", path)
        page.locator("#many-form button", has_text="Start").click()
        page.locator("#jobs button").first.focus()
        page.locator("#jobs td", has_text="done").wait_for()
        assert page.evaluate("document.activeElement.closest('#jobs') !== null")
        page.get_by_role("button", name="Show answers").click()
        answers = page.locator("#job-answers table", has=page.locator("th button"))
        answers.wait_for()
        heads = answers.locator("th").all_inner_texts()
        answers.locator("th button", has_text="Cost").click()
        assert page.evaluate("document.activeElement.textContent") == "Cost ▲"
        lines = answers.locator("tbody tr").all()
        at = heads.index("Cost")
        costs = [float(line.locator("td").nth(at).inner_text()) for line in lines]
        assert costs == pytest.approx(sorted(expected["distance"]), rel=0.01)
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as CSV").click()
        table = pd.read_csv(saved.value.path())
        assert table["distance"].tolist() == expected["distance"].tolist()
        assert not wider_than_its_window(page)
        page.get_by_role("button", name="Delete").click()
        page.locator("#jobs table").wait_for(state="detached")


@pytest.mark.slow
def test_features_that_determine_the_prediction_are_marked_in_the_form(browser, shown, row):
    deciding = shown.post("/v1/models/credit/reasons", json={"x": row}).json()["answer"]["features"]
    needed = shown.post("/v1/models/credit/necessary", json={"x": row, "constraints": [
        {"Fixed": ["income"]}]}).json()["answer"]["features"]  # fmt: skip
    with visited(browser, shown) as page:
        page.wait_for_selector("#features tbody tr")
        fill(page, row)
        page.select_option("[aria-label='allowed changes of income']", "fixed")
        ask(page)
        for button, names in (
            ("Which features determine the prediction?", deciding),
            ("Which features must change?", needed),
        ):
            with page.expect_response("**/credit/*"):
                page.get_by_role("button", name=button).click()
            page.wait_for_selector("#more [aria-live] p:not(:text('Searching'))")
            rows = page.locator("#features tbody tr", has=page.locator(".mark:not(:empty)"))
            assert rows.locator("th").all_inner_texts() == [
                each["name"] for each in explainer_features(shown) if each["name"] in names
            ]
        page.fill("#features input[type=number] >> nth=0", "31")
        assert page.locator(".mark:not(:empty)").count() == 0
