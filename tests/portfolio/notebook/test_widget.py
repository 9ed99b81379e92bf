"""The widget in a real kernel and a real browser, which reach nothing but each other."""

import json
import sys

import pytest

from tests.docs.pages import ROOT
from tests.portfolio.notebook.kernel_page import KernelPage

pytestmark = pytest.mark.slow

START = """
import numpy as np, pandas as pd
from sklearn.ensemble import RandomForestClassifier
from counterfolio import Explainer
from counterfolio.notebook import widget
rng = np.random.default_rng(0)
X = pd.DataFrame({"age": rng.integers(18, 80, 300), "income": rng.normal(40, 15, 300).round(1)})
y = np.where(X.income + 0.1 * X.age > 40, "granted", "refused")
explainer = Explainer(RandomForestClassifier(20, random_state=0).fit(X, y), X)
row = X[y == "refused"].iloc[0]
"""
HARD = """
many = pd.DataFrame(rng.normal(size=(2000, 25))).rename(columns="x{}".format)
forest = RandomForestClassifier(300, random_state=0).fit(many, np.sin(5 * many).sum(axis=1) > 0)
hard = widget(Explainer(forest, many), many.iloc[0])
hard
"""


@pytest.fixture(scope="module")
def client():
    """A client of a kernel of this interpreter."""
    for name in ("anywidget", "ipykernel"):
        pytest.importorskip(name, reason=f"{name} is not installed (extra 'test')")
    manager = pytest.importorskip("jupyter_client").KernelManager()
    manager.kernel_spec.argv[0] = sys.executable
    manager.start_kernel(cwd=str(ROOT))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=300)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def started(browser, client):
    page = KernelPage(browser, client)
    page.run(START)
    page.close()


@pytest.fixture
def notebook(browser, client, started):
    page = KernelPage(browser, client)
    yield page
    page.close()
    assert page.wrong == []


def status_of(frame):
    return frame.locator("#status").inner_text()


def ask(notebook, frame):
    """Ask the question of the form; return the status of its answer."""
    notebook.until(lambda: frame.locator("#features tbody tr").count())
    frame.locator("#ask").click()
    notebook.until(lambda: frame.locator("#status").get_attribute("class"))
    return status_of(frame)


def test_a_row_is_asked_about_and_its_program_gives_the_same_answer(notebook):
    frame = notebook.run("widget(explainer, row, X)")
    assert ask(notebook, frame).startswith("Proved: no smaller change")
    values = frame.locator("#features tbody input[type=number], #features tbody input:not([type])")
    assert float(values.first.input_value()) == float(notebook.run("float(row.age)"))
    assert frame.locator("#choosing-part").is_visible() and frame.locator("header").is_hidden()
    frame.locator("#python").click()
    program = frame.locator("#program").inner_text()
    assert program.endswith("print(result)\n")
    notebook.run(program)
    changes = json.loads(notebook.run(
        "__import__('json').dumps([c['feature'] for c in result.to_dict()['changes']])"
    ).strip("'"))  # fmt: skip
    shown = frame.locator("table.changes").first.locator("tbody tr th")
    assert [each.inner_text() for each in shown.all()] == changes


def test_several_widgets_have_questions_of_their_own_and_follow_the_theme(notebook):
    first, second = notebook.run("widget(explainer, row)"), notebook.run("widget(explainer)")
    notebook.until(lambda: first.locator("#features tbody tr").count())
    notebook.until(lambda: second.locator("#features tbody tr").count())
    first.locator("[aria-label='allowed changes of age']").select_option("fixed")
    first.locator("[aria-label='allowed changes of income']").select_option("fixed")
    assert ask(notebook, first).startswith("Proved: no allowed change")
    assert ask(notebook, second).startswith("Proved: no smaller change")
    ground = "() => getComputedStyle(document.body).backgroundColor"
    frame = notebook.page.frames[1]
    assert frame.evaluate(ground) == "rgb(255, 255, 255)"
    notebook.page.evaluate("document.body.dataset.jpThemeLight = 'false'")
    notebook.until(lambda: frame.evaluate(ground) != "rgb(255, 255, 255)")


def test_a_stopped_query_frees_the_worker_and_a_removed_widget_ends_it(notebook):
    frame = notebook.run(HARD)
    busy = "hard._service.app.state.service.pool.busy"
    notebook.until(lambda: frame.locator("#features tbody tr").count())
    frame.locator("#limit").fill("300")
    frame.locator("#ask").click()
    notebook.until(lambda: notebook.run(busy) == "1")
    frame.locator("#stop").click()
    notebook.until(lambda: notebook.run(busy) == "0")
    assert status_of(frame) == "Stopped."
    notebook.page.evaluate("Object.values(window.models).forEach((each) => each.remove())")
    notebook.until(lambda: notebook.run("repr(hard._service)") == "'None'")


def test_errors_are_sentences(notebook):
    notebook.run("class Local(RandomForestClassifier): pass")
    frame = notebook.run("widget(Explainer(Local(3, random_state=0).fit(X, y), X))")
    notebook.until(lambda: frame.locator("#status").get_attribute("class") == "failed")
    assert "cannot be sent to workers" in status_of(frame)
    notebook.run("try: widget(explainer, {'age': 1})\nexcept Exception as error: text = str(error)")
    said = notebook.run("text")
    assert "income" in said


def test_a_kernel_that_is_gone_is_reported(notebook):
    frame = notebook.run("widget(explainer, row)")
    notebook.until(lambda: frame.locator("#features tbody tr").count())
    notebook.page.evaluate(
        "Object.values(window.models).forEach((each) => {"
        " each.live = false; each.emit('comm_live_update'); })"
    )
    said = notebook.page.locator("p[role=status]").inner_text()
    assert said.endswith("Run the cell of the widget again.")
    frame.locator("#ask").click()
    notebook.until(lambda: frame.locator("#status").get_attribute("class") == "failed")
    assert status_of(frame) == said
