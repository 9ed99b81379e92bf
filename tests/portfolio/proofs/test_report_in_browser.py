"""The page of a record in a real browser: without network, in light and dark, small, on paper."""

import copy
import json

import pytest

from counterfolio import Explainer, Fixed, MaxChanges
from portfolio.proofs.report import report
from tests.support.browser import contrast, contrasts, opened, wider_than_its_window

LEAST = 4.5  # contrast of text, by WCAG 2 at level AA
HOSTILE = "<script>alert(1)</script><img src=http://127.0.0.1:9/x>"
LONG = "a_name_that_nobody_can_break_" * 6


@pytest.fixture(scope="module")
def records(credit, refused):
    """Contents of records by status, the longest page first."""
    model, X = credit
    explainer = Explainer(model, X, features={"age": {"action": "increase"}})
    rules = [Fixed("employed"), MaxChanges(2)]
    result = explainer.explain(refused, "granted", constraints=rules)
    told = result.record(reasons=explainer.reason_codes(refused, n=2)).to_dict()
    names = [feature["name"] for feature in told["features"]]
    none = explainer.explain(refused, "granted", constraints=[Fixed(name) for name in names])
    assert (result.status, none.status) == ("optimal", "infeasible")
    cut = told | {"status": "feasible", "proof": None, "why_no_proof": "time ran out"}
    return {
        "optimal": told,
        "infeasible": none.record().to_dict(),
        "feasible": cut,
        "unknown": cut | {"status": "unknown", "answer": None, "message": "Out of memory."},
        "hostile": spoilt(told),
    }


def spoilt(told):
    """Names that are code, or too long for any line."""
    told = copy.deepcopy(told)
    for feature, name in zip(told["features"], (HOSTILE, LONG), strict=False):
        feature["name"] = name
    told["query_class"] = told["message"] = LONG
    told["reasons"] = told["question"]["constraints"] = [HOSTILE, f"1. {LONG}"]
    return told


@pytest.fixture(scope="module")
def pages(records, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, content in records.items():
        (folder / f"{name}.html").write_text(report(json.loads(json.dumps(content))))
    return folder


NAMES = ["optimal", "infeasible", "feasible", "unknown", "hostile"]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_in_light_and_dark_and_asks_for_nothing(browser, pages, name, scheme):
    path = pages / f"{name}.html"
    with opened(browser, path, scheme=scheme) as page:
        assert page.asked == [path.as_uri()]
        weakest = min(contrasts(page))
        assert weakest[0] >= LEAST, weakest
        ground = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
        assert (contrast(ground, "rgb(0, 0, 0)") > LEAST) == (scheme == "light")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [320, 390])
def test_on_a_telephone_nobody_scrolls_sideways(browser, pages, name, width):
    with opened(browser, pages / f"{name}.html", width=width) as page:
        assert not wider_than_its_window(page)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_all_of_it_is_dark_on_white(browser, pages, scheme):
    with opened(browser, pages / "optimal.html", scheme=scheme, media="print") as page:
        weakest = min(contrasts(page, ground="rgb(255, 255, 255)"))
        assert weakest[0] >= LEAST, weakest
        printed = {text for _, text in contrasts(page, ground="rgb(255, 255, 255)")}
        assert page.pdf(format="A4").startswith(b"%PDF")
    with opened(browser, pages / "optimal.html") as page:
        assert printed == {text for _, text in contrasts(page)}


def test_a_screen_reader_finds_its_way(browser, pages):
    with opened(browser, pages / "optimal.html") as page:
        tree = page.locator("body").aria_snapshot()
        assert page.locator("html").get_attribute("lang") == "en"
        assert page.title().endswith(": granted")
    outline = [line.strip(" -:") for line in tree.splitlines()]
    assert outline[0] == "main"
    assert [line for line in outline if line.startswith("heading")] == [
        'heading "A decision, and what would have changed it" [level=1]',
        'heading "What would have been enough" [level=2]',
        'heading "Reasons" [level=2]',
        'heading "Allowed changes" [level=2]',
        'heading "How this report was made" [level=2]',
    ]
    tables = [line for line in outline if line.startswith("table")]
    assert tables == [
        'table "All of these changes together"',
        'table "The row as the model reads it, and the values that each feature could take"',
    ]
    for line in ('columnheader "Actual value"', 'rowheader "income"', "term: The model's decision"):
        assert outline.count(line), (line, tree)
    assert "definition: refused" in outline and "strong: Proved." in outline


def test_it_tells_what_the_record_says(browser, pages, records):
    answer = records["optimal"]["answer"]
    with opened(browser, pages / "optimal.html") as page:
        rows = page.locator("table.changes tbody tr").all_inner_texts()
        text = page.inner_text("main")
    told = records["optimal"]
    pairs = zip(told["columns"], told["query"], answer["row"], strict=True)
    moved = {name: after for name, before, after in pairs if before != after}
    assert len(rows) == len(moved) == 2
    for row in rows:
        name, _, after = row.split("\t")
        assert float(after.removeprefix("at least ")) == moved[name]
    for words in ("at most 2 features may change", "employed must stay at 0", "counterfolio-check"):
        assert words in text


def test_names_are_text_and_nothing_else(browser, pages):
    with opened(browser, pages / "hostile.html") as page:
        assert page.locator("script, img").count() == 0
        assert HOSTILE in page.inner_text("main")


def test_the_measure_sees_pale_text_and_wide_lines(browser, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text('<body style="background:#fff"><p style="color:#aaa;width:900px">pale</p>')
    with opened(browser, path, width=390) as page:
        assert contrasts(page) == [(pytest.approx(2.32, abs=0.01), "pale")]
        assert wider_than_its_window(page)
