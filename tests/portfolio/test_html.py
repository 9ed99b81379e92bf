"""What notebooks show of answers and of what gives them, in light and dark, in a real browser."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from counterfolio import Explainer, Fixed
from encoders.core.as_html import lines
from portfolio.api.variants import asker_of
from selector.diagram import load_diagram
from selector.diagram_places import SHIPPED
from tests.support.browser import contrasts, opened, wider_than_its_window

HOSTILE = "<script>alert(1)</script><img src=http://127.0.0.1:9/x> & co"
BACK = {"light": "#ffffff", "dark": "#111111"}  # of JupyterLab's themes


@pytest.fixture(scope="module")
def hostile(credit):
    """An explainer of a frame with a hostile name, and a row that it refuses."""
    model, X = credit
    labels = model.predict(X)
    X = X.rename(columns={"income": HOSTILE})
    explainer = Explainer(type(model)(8, max_depth=4, random_state=0).fit(X, labels), X)
    return explainer, X[asker_of(explainer).model.native.model.predict(X) == "refused"].iloc[0]


@pytest.fixture(scope="module")
def shown(hostile):
    """HTML by what it is of."""
    explainer, row = hostile
    result = explainer.explain(row, "granted")
    names = [feature.name for feature in explainer.features.features]
    none = explainer.explain(row, "granted", constraints=[Fixed(name) for name in names])
    with explainer.session("granted", strategy="cp") as session:
        kept = session._repr_html_()
    made = {
        "result": result._repr_html_(),
        "infeasible": none._repr_html_(),
        "unknown": replace(result, status="unknown", row=None, changed=())._repr_html_(),
        "several": explainer.several(row, k=2, target="granted")._repr_html_(),
        "why not": explainer.why_not(row, "granted", constraints=[Fixed(names[1])])._repr_html_(),
        "explainer": explainer._repr_html_(),
        "features": explainer.features._repr_html_(),
        "session": kept,
        "diagram": load_diagram(SHIPPED)._repr_html_(),
    }
    assert result.changed and none.status == "infeasible"
    return made


def text_of(html):
    return " ".join("".join(ElementTree.fromstring(f"<div>{html}</div>").itertext()).split())


def test_lines_with_dashes_are_a_list():
    assert lines("One.\n- a\n- <b>\nTwo.").replace(' style="margin:.3em 0"', "") == (
        "<p>One.</p><ul><li>a</li><li>&lt;b&gt;</li></ul><p>Two.</p>"
    )


def test_a_result_is_its_headline_and_a_table(hostile, shown):
    explainer, row = hostile
    result = explainer.explain(row, "granted")
    told = text_of(shown["result"])
    assert told.startswith(result.headline)
    body = ElementTree.fromstring(f"<div>{shown['result']}</div>").find(".//tbody")
    cells = [["".join(cell.itertext()) for cell in line] for line in body]
    assert [(name, after) for name, _, after, _ in cells] == [
        (change.feature, change.reached) for change in result.told
    ]


def test_what_gives_answers_is_told(hostile, shown):
    told = text_of(shown["explainer"])
    assert "RandomForestClassifier" in told and "'granted', 'refused'" in told
    for feature in hostile[0].features.features:
        assert feature.name in told and feature.describe_values() in text_of(shown["features"])
    assert text_of(shown["session"]).startswith("Session with strategy cp and target 'granted': ")
    assert shown["diagram"].startswith("<svg")


def test_nobody_breaks_out_of_it(shown):
    for name, html in shown.items():
        if name != "diagram":
            assert "<script" not in html and "<img" not in html, name
    assert HOSTILE in text_of(shown["features"])


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_read_on_the_notebook_s_ground(browser, shown, tmp_path, scheme):
    ink = BACK["dark" if scheme == "light" else "light"]
    page_file = tmp_path / "cells.html"
    cells = "".join(f"<div>{html}</div>" for name, html in shown.items() if name != "diagram")
    style = f"background:{BACK[scheme]};color:{ink};overflow-wrap:anywhere"
    page_file.write_text(f'<meta charset="utf-8"><body style="{style}">{cells}')
    with opened(browser, page_file, width=700, scheme=scheme) as page:
        page.evaluate("() => document.querySelectorAll('details').forEach(d => d.open = true)")
        weakest = min(contrasts(page))
        assert weakest[0] >= 4.5, weakest
        assert page.asked == [page_file.as_uri()]
        assert not wider_than_its_window(page)
